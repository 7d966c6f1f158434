// What libFuzzer calls. GODWIT_FUZZ_TARGET is the target that this program was built for.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  godwit::fuzz::GODWIT_FUZZ_TARGET(std::as_bytes(std::span(data, size)));
  return 0;
}
