// MessageStream: messages over a Connection: encoded, cut into chunks, and put together again on the other
// side. What a peer announces is bounded before anything is allocated for it.
#pragma once

#include <atomic>
#include <variant>

#include "shared/net/connection.h"
#include "shared/wire/control_wire.h"
#include "shared/wire/hello.h"
#include "shared/wire/transfer.h"

namespace godwit::net {

using Incoming = std::variant<Message, wire::ControlCall, wire::ControlAnswer>;

class MessageStream {
 public:
  explicit MessageStream(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}

  // Any thread, never waits. `on_written`: the last byte has left for the wire. Errors: kOverloaded (the
  // queue is full: part of the message may have gone, so close), or why the connection ended.
  Result<void> send(const Message& message, OnWritten on_written = nullptr);
  Result<void> send(const wire::ControlCall& call);
  Result<void> send(const wire::ControlAnswer& answer);
  // On the connection's executor, one at a time. Any error is the end; malformed input closes the
  // connection with its name.
  asio::awaitable<Result<Incoming>> receive();
  // Any thread: what the run's manifest makes the largest message. Before: wire's default.
  void set_max_message_bytes(std::uint64_t bytes) { max_message_bytes_ = bytes; }
  Connection& connection() { return *connection_; }

 private:
  Result<void> send(wire::WireMessage message, OnWritten on_written);
  Result<std::optional<Incoming>> accept(Frame frame);

  std::shared_ptr<Connection> connection_;
  std::atomic<std::uint64_t> next_transfer_{1};
  std::atomic<std::uint64_t> max_message_bytes_{wire::kMaxMessageBytesBeforeManifest};
  wire::Assembler assembler_{wire::AssemblerLimits{}};
};

}  // namespace godwit::net
