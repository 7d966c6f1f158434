#include "server/app/worker_sessions.h"

#include "server/app/permissions.h"
#include "shared/base/log.h"

namespace godwit::app {

asio::awaitable<void> WorkerSessions::serve(std::shared_ptr<net::Connection> connection) {
  const WorkerId id = worker_id(connection->peer());
  const std::string name = connection->peer().name, region = connection->peer().region;
  auto stream = std::make_shared<net::MessageStream>(std::move(connection));
  std::shared_ptr<net::MessageStream> old;
  {
    std::lock_guard lock(mutex_);
    stream->set_max_message_bytes(max_message_bytes_);
    Session& session = sessions_[id];
    old = session.stream;
    session = {name, stream, false};
  }
  if (old) {
    old->connection().close(
        Error{Errc::kConflict, "another process connected as worker '" + name + "' of region '" + region +
                                   "' and takes its place: stop one of the two, or give it a name and a certificate "
                                   "of its own"});
    handlers_.left(id);
  }
  log::info("worker", name + " connected from " + stream->connection().remote_address());
  co_await converse(id, stream);
  {
    std::lock_guard lock(mutex_);
    const auto session = sessions_.find(id);
    if (session == sessions_.end() || session->second.stream != stream) co_return;  // replaced
    sessions_.erase(session);
  }
  handlers_.left(id);
}

asio::awaitable<void> WorkerSessions::converse(WorkerId id,
                                               std::shared_ptr<net::MessageStream> stream) {
  for (;;) {
    Result<net::Incoming> incoming = co_await stream->receive();
    if (!incoming) {
      log::info("worker",
                stream->connection().peer().name + " left: " + incoming.error().to_string());
      co_return;
    }
    if (const Result<void> allowed = may_send(id, *incoming); !allowed) {
      stream->connection().close(allowed.error());
      continue;  // the next receive gives the end
    }
    Message* message = std::get_if<Message>(&*incoming);
    if (auto* offer = std::get_if<ManifestOffer>(message)) {
      ManifestOffer taken = std::move(*offer);
      co_await answer_manifest(std::move(taken), stream);
      continue;
    }
    if (std::holds_alternative<Join>(*message) || std::holds_alternative<Leave>(*message)) {
      std::lock_guard lock(mutex_);
      if (const auto session = sessions_.find(id); session != sessions_.end()) {
        session->second.active = std::holds_alternative<Join>(*message);
      }
    }
    handlers_.message(id, std::move(*message));
  }
}

asio::awaitable<void> WorkerSessions::answer_manifest(ManifestOffer offer,
                                                      std::shared_ptr<net::MessageStream> stream) {
  ManifestReply reply;
  Result<Manifest> agreed = co_await handlers_.agree_on_manifest(std::move(offer.manifest));
  if (agreed) {
    reply.manifest = std::move(*agreed);
  } else {
    reply.error = agreed.error().code;
    reply.detail = agreed.error().context;
  }
  if (const Result<void> sent = stream->send(reply); !sent)
    stream->connection().close(sent.error());
}

void WorkerSessions::send(WorkerId worker, const Message& message) {
  std::shared_ptr<net::MessageStream> stream;
  {
    std::lock_guard lock(mutex_);
    const auto session = sessions_.find(worker);
    if (session == sessions_.end()) return;
    stream = session->second.stream;
  }
  // A worker that does not read what it asked for is cut off; it starts over when it returns.
  if (const Result<void> sent = stream->send(message); !sent)
    stream->connection().close(sent.error());
}

void WorkerSessions::send_all(const Message& message) {
  std::lock_guard lock(mutex_);
  for (auto& [id, session] : sessions_) {
    if (const Result<void> sent = session.stream->send(message); !sent)
      session.stream->connection().close(sent.error());
  }
}

void WorkerSessions::set_max_message_bytes(std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  max_message_bytes_ = bytes;
  for (auto& [id, session] : sessions_) session.stream->set_max_message_bytes(bytes);
}

std::vector<WorkerSessions::Present> WorkerSessions::present() const {
  std::vector<Present> present;
  std::lock_guard lock(mutex_);
  for (const auto& [id, session] : sessions_) present.push_back({session.name, session.active});
  return present;
}

}  // namespace godwit::app
