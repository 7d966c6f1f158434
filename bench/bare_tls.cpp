#include "bench/bare_tls.h"

#include <openssl/ssl.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <thread>

#include "shared/net/tls.h"

namespace godwit::bench {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using asio::ip::tcp;
using Stream = ssl::stream<tcp::socket>;

ssl::context context_of(const ClusterConfig& config, const std::string& holder) {
  ssl::context context(ssl::context::tlsv13);
  context.load_verify_file(config.authority_file().string());
  context.use_certificate_chain_file(config.certificate_file(holder).string());
  context.use_private_key_file(config.key_file(holder).string(), ssl::context::pem);
  context.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  SSL_CTX_set_ciphersuites(context.native_handle(), net::kDefaultCipherSuites);
  return context;
}

}  // namespace

struct BareTls::Impl {
  Impl(const LocalCluster& cluster, std::size_t chunk_bytes)
      : server_context(context_of(cluster.config(), cluster.first().name)),
        client_context(context_of(cluster.config(), worker_certificate(cluster.first().region, "worker-0"))),
        sent(chunk_bytes, std::byte{42}),
        received(chunk_bytes) {
    tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    client.lowest_layer().connect(acceptor.local_endpoint());
    acceptor.accept(server.lowest_layer());
    client.lowest_layer().set_option(tcp::no_delay(true));
    boost::system::error_code refused;
    std::jthread other([this, &refused] { server.handshake(Stream::server, refused); });
    client.handshake(Stream::client);
    other.join();
    if (refused) throw boost::system::system_error(refused);
  }

  asio::io_context io;
  ssl::context server_context;
  ssl::context client_context;
  Stream server{io, server_context};
  Stream client{io, client_context};
  Bytes sent;
  Bytes received;
};

BareTls::BareTls(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BareTls::~BareTls() = default;

Result<std::unique_ptr<BareTls>> BareTls::connect(const LocalCluster& cluster, std::size_t chunk_bytes) {
  try {
    return std::unique_ptr<BareTls>(new BareTls(std::make_unique<Impl>(cluster, chunk_bytes)));
  } catch (const boost::system::system_error& error) {
    return Error{Errc::kIo, std::string("bare TLS stream: ") + error.what()};
  }
}

Result<double> BareTls::measure(Duration duration) {
  const TimePoint start = net::now();
  std::uint64_t chunks = 0;
  boost::system::error_code write_error;
  boost::system::error_code read_error;
  // The first byte of a chunk says whether it is the last one.
  std::thread reader([this, &read_error] {
    do {
      asio::read(impl_->server, asio::buffer(impl_->received), read_error);
    } while (!read_error && impl_->received.front() != std::byte{0});
  });
  for (bool last = false; !last && !write_error; ++chunks) {
    last = net::now() >= start + duration;
    impl_->sent.front() = last ? std::byte{0} : std::byte{1};
    asio::write(impl_->client, asio::buffer(impl_->sent), write_error);
  }
  if (write_error) impl_->client.lowest_layer().close();  // lets the reader end
  reader.join();
  if (write_error || read_error) {
    return Error{Errc::kClosed, "bare TLS stream: " + (write_error ? write_error : read_error).message()};
  }
  const double seconds = std::chrono::duration<double>(net::now() - start).count();
  return static_cast<double>(chunks * impl_->sent.size()) / seconds;
}

}  // namespace godwit::bench
