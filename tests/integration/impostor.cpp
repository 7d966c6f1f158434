#include "tests/integration/impostor.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fstream>
#include <sstream>

#include "shared/base/check.h"
#include "shared/net/dialer.h"

namespace godwit::integration {
namespace {

namespace asio = boost::asio;

constexpr Duration kDeadline = seconds(10);
const Error kSilence{Errc::kInternal, "the server neither answers nor closes"};

std::string read_file(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

Result<void> send(net::MessageStream& stream, const net::Incoming& message) {
  return std::visit([&stream](const auto& one) { return stream.send(one); }, message);
}

asio::awaitable<void> converse(net::TaskGroup& group, net::TlsContext context, net::DialTarget target,
                               std::vector<net::Incoming> messages, Result<PushReply>& outcome) {
  const net::Identity& own = context.own_identity();
  const wire::Hello greeting{wire::kConversationVersion, own.cluster, std::string(net::name(own.role)), own.region,
                             own.name, Hash()};
  Bytes hello = wire::encode(greeting);
  net::ConnectionOptions options;
  Result<net::Dialed> dialed = co_await net::dial(group, context, std::move(target), std::move(hello), options,
                                                  net::now() + kDeadline);
  if (!dialed) {
    outcome = dialed.error();
    co_return;
  }
  net::MessageStream stream(std::move(dialed->connection));
  for (const net::Incoming& message : messages) {
    if (const Result<void> sent = send(stream, message); !sent) break;  // the end has come, receive() says why
  }
  for (;;) {
    Result<net::Incoming> incoming = co_await stream.receive();
    if (!incoming) {
      outcome = incoming.error();
      co_return;
    }
    if (const auto* message = std::get_if<Message>(&*incoming)) {
      if (const auto* reply = std::get_if<PushReply>(message)) {
        outcome = *reply;
        co_return;
      }
    }
  }
}

asio::awaitable<void> stop(net::TaskGroup& group) { co_await group.stop(); }

}  // namespace

net::CertifiedKey authority(const ClusterConfig& config) {
  return {read_file(config.authority_file()), read_file(config.key_file("ca"))};
}

net::CertifiedKey forge(const ClusterConfig& config, const net::Identity& identity) {
  Result<net::CertifiedKey> issued = net::issue_certificate(authority(config), identity, net::valid_for_days(1));
  GODWIT_REQUIRE(issued.has_value(), issued.error().to_string());
  return std::move(*issued);
}

Result<PushReply> say(const ClusterConfig& config, const ServerConfig& server, const net::CertifiedKey& own,
                      std::vector<net::Incoming> messages) {
  const net::TlsOptions tls{read_file(config.authority_file()), own};
  Result<net::TlsContext> context = net::TlsContext::create(net::TlsSide::kClient, tls);
  GODWIT_REQUIRE(context.has_value(), context.error().to_string());
  net::DialTarget target{server.data.host, server.data.port, {config.name, server.region, net::Role::kServer}};
  asio::io_context io;
  net::TaskGroup group(io.get_executor());
  Result<PushReply> outcome = kSilence;
  group.spawn(converse(group, *context, std::move(target), std::move(messages), outcome));
  const TimePoint deadline = net::now() + kDeadline;
  const auto over = [&outcome] { return outcome.has_value() || outcome.error().code != kSilence.code; };
  while (!over() && net::now() < deadline) io.run_one_for(milliseconds(100));
  asio::co_spawn(io, stop(group), [](const std::exception_ptr&) {});
  io.run();
  return outcome;
}

}  // namespace godwit::integration
