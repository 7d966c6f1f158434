#include "tests/unit/net/loopback.h"

#include <boost/asio/co_spawn.hpp>

namespace godwit::net {
namespace {

const Identity kServer{"demo", "eu", Role::kServer, "eu-0"};
const Identity kWorker{"demo", "eu", Role::kWorker, "eu-w0"};

}  // namespace

Loopback::Loopback()
    : authority_(create_authority("demo", valid_for_days(1)).value()), group_(io_.get_executor()) {}

Loopback::~Loopback() {
  server_side_.reset();
  bool stopped = false;
  asio::co_spawn(io_, group_.stop(), [&stopped](const std::exception_ptr&) { stopped = true; });
  EXPECT_TRUE(run_until([&stopped] { return stopped; }));
}

void Loopback::run_a_little() {
  io_.restart();
  io_.run_one_for(std::chrono::milliseconds(20));
}

CertifiedKey Loopback::issue(const Identity& identity) const {
  return issue_certificate(authority_, identity, valid_for_days(1)).value();
}

TlsOptions Loopback::tls(CertifiedKey own) const {
  TlsOptions options;
  options.authority_pem = authority_.certificate_pem;
  options.own = std::move(own);
  return options;
}

TlsContext Loopback::context(TlsSide side, const Identity& identity) const {
  return TlsContext::create(side, tls(issue(identity))).value();
}

void Loopback::serve(ListenOptions options) {
  ListenHandlers handlers;
  handlers.admit = admit_;
  handlers.session = [this](std::shared_ptr<Connection> connection) {
    return session(std::move(connection));
  };
  handlers.on_refused = [this](const std::string&, const Error& why) { refused_.push_back(why); };
  auto listener = Listener::start(group_, io_.get_executor(), context(TlsSide::kServer, kServer),
                                  std::move(options), std::move(handlers));
  ASSERT_TRUE(listener) << listener.error().to_string();
  listener_ = std::move(*listener);
}

asio::awaitable<void> Loopback::session(std::shared_ptr<Connection> connection) {
  server_side_ = connection;
  while (true) {
    Result<Frame> frame = co_await connection->read(kNoDeadline);
    if (!frame) {
      session_ends_.push_back(frame.error());
      break;
    }
    if (frame->kind == MessageKind::kHello) frame->kind = MessageKind::kWelcome;
    ++echoed_;
    const Result<void> sent = co_await connection->send(std::move(*frame), kNoDeadline);
    if (!sent) break;
  }
}

Result<Dialed> Loopback::dial(ConnectionOptions options) {
  const ExpectedPeer expected{"demo", "eu", Role::kServer};
  return dial(context(TlsSide::kClient, kWorker), expected, std::move(options));
}

Result<Dialed> Loopback::dial(TlsContext client, ExpectedPeer expected, ConnectionOptions options) {
  DialTarget target;
  target.host = "127.0.0.1";
  target.port = listener_->port();
  target.expected = std::move(expected);
  return await(net::dial(group_, std::move(client), std::move(target), Bytes(3), std::move(options),
                         now() + kTestDeadline));
}

Result<Frame> Loopback::read(const std::shared_ptr<Connection>& connection, Duration timeout) {
  return await(connection->read(now() + timeout));
}

}  // namespace godwit::net
