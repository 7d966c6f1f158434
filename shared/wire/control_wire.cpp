#include "shared/wire/control_wire.h"

#include "schema/control.capnp.h"
#include "shared/base/byte_stream.h"
#include "shared/base/check.h"
#include "shared/wire/capnp_message.h"
#include "shared/wire/control_fields.h"
#include "shared/wire/payload_list.h"

namespace godwit::wire {
namespace {

constexpr std::size_t kMinItemBytes = 16;

Bytes encode_items(const std::vector<ControlItem>& items) {
  ByteWriter out;
  for (const ControlItem& item : items) {
    out.put_string(item.key);
    out.put(item.revision);
    out.put_bytes(item.value);
  }
  return out.take();
}

Result<std::vector<ControlItem>> decode_items(std::uint32_t count, ByteView bytes) {
  if (count > bytes.size() / kMinItemBytes)
    return Error{Errc::kMalformed, "control reply: more items than bytes"};
  ByteReader in(bytes);
  std::vector<ControlItem> items;
  for (std::uint32_t i = 0; i < count && !in.failed(); ++i) {
    ControlItem& item = items.emplace_back();
    item.key = in.get_string();
    in.get(item.revision);
    item.value = copy(in.get_bytes());
  }
  if (!in.finished()) return Error{Errc::kMalformed, "control reply: items do not parse"};
  return items;
}

}  // namespace

WireMessage encode(const ControlCall& call) {
  const ControlRequest& request = call.request;
  GODWIT_REQUIRE(validate(request).has_value(), "an invalid request is never sent");
  const auto fill = [&](schema::ControlRequest::Builder out) {
    out.setCall(call.call);
    out.setKind(static_cast<std::uint8_t>(request.kind));
    out.setKey(text_field(request.key));
    out.setExpectedRevision(request.expected_revision.value());
    out.setTtlNanoseconds(static_cast<std::uint64_t>(request.ttl.count()));
    out.setSinceRevision(request.since_revision.value());
    out.setWaitNanoseconds(static_cast<std::uint64_t>(request.wait.count()));
  };
  return {MessageKind::kControlRequest,
          build_control<schema::ControlRequest>(fill),
          {share(request.value)}};
}

Result<ControlCall> decode_control_call(const WireMessage& message) {
  GODWIT_REQUIRE(message.kind == MessageKind::kControlRequest, "a control request");
  PayloadList payloads(message.payloads);
  const SharedBytes value = payloads.take();
  if (const auto taken = payloads.finish(); !taken) {
    return Error{taken.error().code, "control request: " + taken.error().context};
  }
  const auto convert = [&](schema::ControlRequest::Reader in) -> Result<ControlCall> {
    ControlFields fields("control request");
    ControlCall call;
    call.call = in.getCall();
    ControlRequest& request = call.request;
    request.kind = fields.member("kind", in.getKind(), ControlKind::kGet, ControlKind::kWatch);
    request.key = fields.text("key", in.getKey(), kControlKeyBytesMax);
    request.expected_revision = Revision(in.getExpectedRevision());
    request.ttl = Duration(static_cast<Duration::rep>(in.getTtlNanoseconds()));
    request.since_revision = Revision(in.getSinceRevision());
    request.wait = Duration(static_cast<Duration::rep>(in.getWaitNanoseconds()));
    request.value = *value;
    if (const auto valid = validate(request); fields.ok() && !valid) return valid.error();
    return fields.done<ControlCall>(std::move(call));
  };
  return read_control<schema::ControlRequest>("control request", message.control, convert);
}

WireMessage encode(const ControlAnswer& answer) {
  const ControlReply& reply = answer.reply;
  const std::string detail = reply.error ? cut_text(reply.error->context) : "";
  const auto fill = [&](schema::ControlReply::Builder out) {
    out.setCall(answer.call);
    out.setError(reply.error ? static_cast<std::uint16_t>(reply.error->code) : 0);
    out.setDetail(text_field(detail));
    out.setItemCount(static_cast<std::uint32_t>(reply.items.size()));
    out.setRevision(reply.revision.value());
    out.setMore(reply.more);
  };
  return {MessageKind::kControlReply,
          build_control<schema::ControlReply>(fill),
          {share(encode_items(reply.items))}};
}

Result<ControlAnswer> decode_control_answer(const WireMessage& message) {
  GODWIT_REQUIRE(message.kind == MessageKind::kControlReply, "a control reply");
  PayloadList payloads(message.payloads);
  const SharedBytes items = payloads.take();
  if (const auto taken = payloads.finish(); !taken) {
    return Error{taken.error().code, "control reply: " + taken.error().context};
  }
  const auto convert = [&](schema::ControlReply::Reader in) -> Result<ControlAnswer> {
    ControlFields fields("control reply");
    ControlAnswer answer;
    answer.call = in.getCall();
    std::string detail = fields.text("detail", in.getDetail());
    if (in.getError() != 0)
      answer.reply.error = Error{fields.error_code("error", in.getError()), std::move(detail)};
    answer.reply.revision = Revision(in.getRevision());
    answer.reply.more = in.getMore();
    auto decoded = decode_items(in.getItemCount(), *items);
    if (!decoded) return decoded.error();
    answer.reply.items = std::move(*decoded);
    return fields.done<ControlAnswer>(std::move(answer));
  };
  return read_control<schema::ControlReply>("control reply", message.control, convert);
}

}  // namespace godwit::wire
