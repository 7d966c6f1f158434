#include "shared/wire/wire_message.h"

#include <algorithm>

#include "shared/base/check.h"
#include "shared/wire/conversations.h"

namespace godwit::wire {
namespace {

Result<Message> decode_conversation(MessageKind kind, ByteView control, PayloadList& payloads) {
  switch (kind) {
    case MessageKind::kManifestOffer:
      return decode_manifest_offer(control, payloads);
    case MessageKind::kJoin:
      return decode_join(control);
    case MessageKind::kLeave:
      return decode_leave(control);
    case MessageKind::kPush:
      return decode_push(control, payloads);
    case MessageKind::kSkip:
      return decode_skip(control);
    case MessageKind::kPull:
      return decode_pull(control);
    case MessageKind::kManifestReply:
      return decode_manifest_reply(control, payloads);
    case MessageKind::kPushReply:
      return decode_push_reply(control);
    case MessageKind::kPullReply:
      return decode_pull_reply(control, payloads);
    case MessageKind::kAnnounce:
      return decode_announce(control);
    case MessageKind::kStop:
      return decode_stop(control);
    case MessageKind::kSubscribe:
      return decode_subscribe(control);
    case MessageKind::kOffer:
      return decode_offer(control, payloads);
    case MessageKind::kEmptyOffer:
      return decode_empty_offer(control);
    case MessageKind::kReplicated:
      return decode_replicated(control);
    case MessageKind::kPresence:
      return decode_presence(control);
    case MessageKind::kLead:
      return decode_lead(control);
    case MessageKind::kSubscribed:
      return decode_subscribed(control);
    case MessageKind::kReplicate:
      return decode_replicate(control, payloads);
    case MessageKind::kWatermark:
      return decode_watermark(control);
    case MessageKind::kInstall:
      return decode_install(control, payloads);
    case MessageKind::kOfferReply:
      return decode_offer_reply(control);
    case MessageKind::kHello:
    case MessageKind::kWelcome:
    case MessageKind::kGoodbye:
    case MessageKind::kPing:
    case MessageKind::kPong:
    case MessageKind::kChunk:
    case MessageKind::kControlRequest:
    case MessageKind::kControlReply:
      break;
  }
  return Error{Errc::kUnsupported, "message kind " + std::to_string(static_cast<unsigned>(kind)) +
                                       " is not known in this conversation"};
}

}  // namespace

WireMessage encode(const Message& message) {
  WireMessage out = std::visit([](const auto& one) { return encode_one(one); }, message);
  GODWIT_REQUIRE(out.payloads.size() <= kMaxPayloads,
                 "a message has at most kMaxPayloads payloads");
  for (SharedBytes& payload : out.payloads) {
    if (!payload) payload = share({});
  }
  return out;
}

Result<Message> decode(MessageKind kind, ByteView control, std::vector<SharedBytes> payloads) {
  if (payloads.size() > kMaxPayloads) {
    return Error{Errc::kTooLarge,
                 "a message has at most " + std::to_string(kMaxPayloads) + " payloads"};
  }
  PayloadList list(std::move(payloads));
  Result<Message> message = decode_conversation(kind, control, list);
  if (!message) return message;
  if (const auto taken = list.finish(); !taken) {
    return Error{taken.error().code, "message kind " + std::to_string(static_cast<unsigned>(kind)) +
                                         ": " + taken.error().context};
  }
  return message;
}

std::uint64_t max_message_bytes(const Layout& layout) {
  std::uint64_t blocks_bytes = 0;
  for (const ShardLayout& shard : layout.shards) {
    // fp32, and what a codec or an entry's header adds to a block
    blocks_bytes = std::max(
        blocks_bytes, 4 * shard.parameters + shard.parameters / 8 + 256 * shard.blocks.size());
  }
  return std::max(kMaxMessageBytesBeforeManifest, kMaxTableBytes + blocks_bytes);
}

}  // namespace godwit::wire
