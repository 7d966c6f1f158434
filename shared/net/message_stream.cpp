#include "shared/net/message_stream.h"

namespace godwit::net {

Result<void> MessageStream::send(const Message& message, OnWritten on_written) {
  return send(wire::encode(message), std::move(on_written));
}
Result<void> MessageStream::send(const wire::ControlCall& call) { return send(wire::encode(call), nullptr); }
Result<void> MessageStream::send(const wire::ControlAnswer& answer) { return send(wire::encode(answer), nullptr); }

Result<void> MessageStream::send(wire::WireMessage message, OnWritten on_written) {
  std::vector<wire::OutFrame> frames = wire::split(std::move(message), next_transfer_++);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    wire::OutFrame& out = frames[i];
    Frame frame;
    frame.kind = out.kind;
    frame.control = std::move(out.control);
    if (out.owner && out.bytes > 0) frame.payload.push_back(slice(std::move(out.owner), out.offset, out.bytes));
    const bool last = i + 1 == frames.size();
    Result<void> sent = connection_->try_send(std::move(frame), last ? std::move(on_written) : nullptr);
    if (!sent) return sent;
  }
  return {};
}

asio::awaitable<Result<Incoming>> MessageStream::receive() {
  for (;;) {
    Result<Frame> frame = co_await connection_->read(kNoDeadline);  // heartbeats end a silent connection
    if (!frame) co_return frame.error();
    Result<std::optional<Incoming>> incoming = accept(std::move(*frame));
    if (!incoming) {
      connection_->close(incoming.error());
      co_return incoming.error();
    }
    if (*incoming) co_return std::move(**incoming);
  }
}

Result<std::optional<Incoming>> MessageStream::accept(Frame frame) {
  const std::uint64_t limit = max_message_bytes_;
  assembler_.set_limits({limit, 2 * limit, wire::AssemblerLimits{}.max_open_transfers});
  SharedBytes payload = frame.received_payload();
  Result<std::optional<wire::WireMessage>> whole =
      assembler_.accept(frame.kind, std::move(frame.control), std::move(payload));
  if (!whole) return whole.error();
  if (!*whole) return std::optional<Incoming>();
  wire::WireMessage& message = **whole;
  if (message.kind == MessageKind::kControlRequest) {
    Result<wire::ControlCall> call = wire::decode_control_call(message);
    if (!call) return call.error();
    return std::optional<Incoming>(std::move(*call));
  }
  if (message.kind == MessageKind::kControlReply) {
    Result<wire::ControlAnswer> answer = wire::decode_control_answer(message);
    if (!answer) return answer.error();
    return std::optional<Incoming>(std::move(*answer));
  }
  Result<Message> decoded = wire::decode(message.kind, message.control, std::move(message.payloads));
  if (!decoded) return decoded.error();
  return std::optional<Incoming>(std::move(*decoded));
}

}  // namespace godwit::net
