// Messages of every kind: what decodes is encoded again, and comes back equal.
#include "shared/wire/wire_message.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/whole_words.h"
#include "tests/unit/wire/same_message.h"

namespace godwit::fuzz {

bool message(ByteView bytes) {
  Input input(bytes);
  const auto kind = static_cast<MessageKind>(input.number<std::uint8_t>());
  const Bytes control = whole_words(input.part());
  std::vector<SharedBytes> payloads;
  while (!input.empty()) payloads.push_back(share(copy(input.part())));

  const auto decoded = wire::decode(kind, control, std::move(payloads));
  if (!decoded) return false;
  const wire::WireMessage sent = wire::encode(*decoded);
  GODWIT_CHECK(sent.kind == kind, "a message keeps its kind");
  const auto again = wire::decode(sent.kind, sent.control, sent.payloads);
  GODWIT_CHECK(again.has_value(), "what we encode decodes");
  GODWIT_CHECK(generate::same_message(*decoded, *again), "a message comes back equal");
  return true;
}

}  // namespace godwit::fuzz
