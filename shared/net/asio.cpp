// The one translation unit with Asio's own code: see BOOST_ASIO_SEPARATE_COMPILATION in
// CMakeLists.txt.
#include <boost/asio/impl/src.hpp>
