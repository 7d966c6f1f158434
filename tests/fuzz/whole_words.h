// A control part that is whole words, whatever length fuzzing gave it.
#pragma once

#include "shared/base/bytes.h"

namespace godwit::fuzz {

inline Bytes whole_words(ByteView bytes) {
  constexpr std::size_t kWordBytes = 8;
  Bytes control = copy(bytes);
  control.resize((control.size() + kWordBytes - 1) / kWordBytes * kWordBytes);
  return control;
}

}  // namespace godwit::fuzz
