// Encoded headers: of pushes, contributions and entries. They are hashed, so each has one encoding.
// The first byte says which.
#include "shared/protocol/entry.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"

namespace godwit::fuzz {
namespace {

template <class Header>
bool comes_back(ByteView bytes) {
  const Result<Header> header = Header::decode(bytes);
  if (!header) return false;
  GODWIT_CHECK(header->encode() == copy(bytes), "a header has one encoding");
  return true;
}

}  // namespace

bool header(ByteView bytes) {
  Input input(bytes);
  switch (input.number<std::uint8_t>() % 3) {
    case 0:
      return comes_back<PushHeader>(input.rest());
    case 1:
      return comes_back<ContributionHeader>(input.rest());
    default:
      return comes_back<EntryHeader>(input.rest());
  }
}

}  // namespace godwit::fuzz
