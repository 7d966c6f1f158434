// How a connection begins. The first byte says which of the two.
#include "shared/wire/hello.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/whole_words.h"

namespace godwit::fuzz {

bool opening(ByteView bytes) {
  Input input(bytes);
  const bool says_hello = input.number<std::uint8_t>() % 2 == 0;
  const Bytes control = whole_words(input.rest());
  if (says_hello) {
    const auto hello = wire::decode_hello(control);
    if (!hello) return false;
    const auto again = wire::decode_hello(wire::encode(*hello));
    GODWIT_CHECK(again && *again == *hello, "a hello comes back");
    return true;
  }
  const auto welcome = wire::decode_welcome(control);
  if (!welcome) return false;
  const auto again = wire::decode_welcome(wire::encode(*welcome));
  GODWIT_CHECK(again && *again == *welcome, "a welcome comes back");
  return true;
}

}  // namespace godwit::fuzz
