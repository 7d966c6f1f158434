// The one translation unit with Asio's own TLS code, which bare_tls.cpp uses and Godwit does not.
#include <boost/asio/ssl/impl/src.hpp>
