// Frames in, messages out: limits hold at every step, and a message that came whole comes whole
// again when it is cut up and its chunks arrive in another order.
#include "shared/wire/transfer.h"

#include <algorithm>

#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"

namespace godwit::fuzz {
namespace {

constexpr wire::AssemblerLimits kLimits{1U << 16, 1U << 17, 4};
constexpr std::uint32_t kChunksMax = 64;

void check_limits(const wire::Assembler& assembler) {
  GODWIT_CHECK(assembler.open_transfers() <= kLimits.max_open_transfers, "few are open");
  GODWIT_CHECK(assembler.open_bytes() <= kLimits.max_open_bytes, "what is announced is bounded");
  GODWIT_CHECK(assembler.held_bytes() <= assembler.open_bytes(), "what is held was announced");
}

bool same(const wire::WireMessage& one, const wire::WireMessage& two) {
  return one.kind == two.kind && one.control == two.control &&
         std::ranges::equal(one.payloads, two.payloads,
                            [](const auto& a, const auto& b) { return *a == *b; });
}

void travel_again(const wire::WireMessage& message, std::uint32_t order) {
  std::size_t largest = 0;
  for (const SharedBytes& payload : message.payloads)
    largest = std::max(largest, payload->size());
  const auto chunk = std::max<std::uint32_t>(1 + order % 256,
                                             static_cast<std::uint32_t>(largest) / kChunksMax + 1);
  std::vector<wire::OutFrame> frames = wire::split(message, 7, chunk);
  std::rotate(frames.begin() + 1,
              frames.begin() + 1 + static_cast<std::ptrdiff_t>(order % frames.size() / 2),
              frames.end());
  wire::Assembler assembler({});
  std::optional<wire::WireMessage> whole;
  for (wire::OutFrame& out : frames) {
    GODWIT_CHECK(!whole, "it is complete with its last frame");
    Bytes chunk_bytes;
    if (out.owner) chunk_bytes = copy(ByteView(*out.owner).subspan(out.offset, out.bytes));
    auto accepted = assembler.accept(out.kind, std::move(out.control), share(chunk_bytes));
    GODWIT_CHECK(accepted.has_value(), "what we cut up is accepted");
    whole = std::move(*accepted);
  }
  GODWIT_CHECK(whole && same(*whole, message), "it is the same message");
  GODWIT_CHECK(assembler.open_transfers() == 0 && assembler.held_bytes() == 0, "nothing is left");
}

}  // namespace

bool transfer(ByteView bytes) {
  Input input(bytes);
  wire::Assembler assembler(kLimits);
  bool completed = false;
  while (!input.empty()) {
    const auto kind = static_cast<MessageKind>(input.number<std::uint8_t>());
    Bytes control = copy(input.part());
    const ByteView payload = input.part();
    auto message = assembler.accept(kind, std::move(control),
                                    payload.empty() ? nullptr : share(copy(payload)));
    if (!message) return false;
    check_limits(assembler);
    if (!*message) continue;
    completed = true;
    for (const SharedBytes& part : (*message)->payloads)
      GODWIT_CHECK(part != nullptr, "no payload is null");
    travel_again(**message, static_cast<std::uint32_t>(bytes.size() * 31));
  }
  return completed;
}

}  // namespace godwit::fuzz
