// Bytes as text, for golden values.
#pragma once

#include <string>

#include "shared/base/bytes.h"

namespace godwit {

inline std::string hex(ByteView bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const std::byte byte : bytes) {
    out += kDigits[static_cast<unsigned>(byte) >> 4];
    out += kDigits[static_cast<unsigned>(byte) & 15];
  }
  return out;
}

}  // namespace godwit
