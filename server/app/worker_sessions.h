// WorkerSessions: the workers of this region that are connected now. One session per worker name; a newer
// connection of the same name replaces the older one.
//
// Any thread; handlers are called from the sessions' own strands.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "shared/net/message_stream.h"

namespace godwit::app {

namespace asio = boost::asio;

struct WorkerHandlers {
  std::function<void(WorkerId, Message)> message;
  std::function<void(WorkerId)> left;
  // The run's manifest, once it is agreed on.
  std::function<asio::awaitable<Result<Manifest>>(Manifest offered)> agree_on_manifest;
};

class WorkerSessions {
 public:
  explicit WorkerSessions(WorkerHandlers handlers) : handlers_(std::move(handlers)) {}

  // A welcomed connection; returns when it ends.
  asio::awaitable<void> serve(std::shared_ptr<net::Connection> connection);
  // Messages to a worker that is away are dropped: it asks again when it returns.
  void send(WorkerId worker, const Message& message);
  void send_all(const Message& message);
  void set_max_message_bytes(std::uint64_t bytes);
  struct Present {
    std::string name;
    bool active = false;  // has joined: rounds wait for it
  };
  std::vector<Present> present() const;

 private:
  struct Session {
    std::string name;
    std::shared_ptr<net::MessageStream> stream;
    bool active = false;
  };
  asio::awaitable<void> converse(WorkerId id, std::shared_ptr<net::MessageStream> stream);
  asio::awaitable<void> answer_manifest(ManifestOffer offer, std::shared_ptr<net::MessageStream> stream);

  WorkerHandlers handlers_;
  mutable std::mutex mutex_;  // guards the two below
  std::map<WorkerId, Session> sessions_;
  std::uint64_t max_message_bytes_ = wire::kMaxMessageBytesBeforeManifest;
};

}  // namespace godwit::app
