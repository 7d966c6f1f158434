#include "shared/net/dialer.h"

#include "shared/net/tcp.h"
#include "shared/net/tls_stream.h"

namespace godwit::net {
namespace {

Error at(const DialTarget& target, const Error& why) {
  return Error{why.code, target.host + ":" + std::to_string(target.port) + ": " + why.context};
}

asio::awaitable<Result<Frame>> ask_for_welcome(std::shared_ptr<Connection> connection, Bytes hello,
                                               TimePoint deadline) {
  Frame frame;
  frame.kind = MessageKind::kHello;
  frame.control = std::move(hello);
  const Result<void> sent = connection->try_send(std::move(frame));
  if (!sent) co_return sent.error();
  Result<Frame> answer = co_await connection->read(deadline);
  if (!answer && answer.error().code == Errc::kTimedOut) {
    co_return Error{Errc::kTimedOut, "no WELCOME in time: " + answer.error().context};
  }
  if (!answer || answer->kind == MessageKind::kWelcome) co_return std::move(answer);
  co_return Error{Errc::kMalformed, "the first frame is of kind " +
                                        std::to_string(static_cast<int>(answer->kind)) +
                                        ", not WELCOME"};
}

}  // namespace

asio::awaitable<Result<Dialed>> dial(TaskGroup& group, TlsContext context, DialTarget target,
                                     Bytes hello, ConnectionOptions options, TimePoint deadline) {
  Result<asio::ip::tcp::socket> socket = co_await connect(target.host, target.port, deadline);
  if (!socket) co_return socket.error();
  set_socket_options(*socket, options);
  auto stream = std::make_unique<TlsStream>(std::move(*socket), context, options.key_update_bytes);
  const Result<void> shaken = co_await stream->handshake(deadline);
  if (!shaken) co_return at(target, shaken.error());
  Result<Identity> peer = stream->peer();
  Result<void> admitted = peer ? check_peer(*peer, target.expected) : Result<void>(peer.error());
  Identity identity = peer ? std::move(*peer) : Identity();

  Dialed dialed;
  dialed.connection =
      Connection::start(group, std::move(stream), std::move(identity), std::move(options));
  if (!admitted) {
    dialed.connection->close(admitted.error());
    co_return at(target, admitted.error());
  }
  Result<Frame> welcome = co_await ask_for_welcome(dialed.connection, std::move(hello), deadline);
  if (!welcome) {
    dialed.connection->close(welcome.error());
    co_return at(target, welcome.error());
  }
  dialed.welcome = std::move(*welcome);
  co_return std::move(dialed);
}

}  // namespace godwit::net
