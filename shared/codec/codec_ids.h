// Codec ids as they travel on the wire and lie in logs. Never reused: schema/README.md is the
// ledger.
#pragma once

#include <cstdint>
#include <string>

#include "shared/base/result.h"

namespace godwit {

enum class CodecId : std::uint8_t {
  kNone = 0,  // no payload
  kFp32 = 1,
  kBf16 = 2,
  kInt8 = 3,
};

// A codec and whether zstd over byte planes follows it. One byte on the wire: id | 0x80 when zstd.
struct CodecSpec {
  CodecId id = CodecId::kFp32;
  bool zstd = false;

  std::uint8_t wire() const {
    return static_cast<std::uint8_t>(static_cast<std::uint8_t>(id) | (zstd ? 0x80 : 0));
  }
  static CodecSpec from_wire(std::uint8_t byte) {
    return {static_cast<CodecId>(byte & 0x7F), (byte & 0x80) != 0};
  }
  bool operator==(const CodecSpec&) const = default;
};

// What a block of the exact class travels in where `spec` is the choice for all others; initial values too.
inline CodecSpec exact_codec(CodecSpec spec) { return {CodecId::kFp32, spec.zstd}; }

// "fp32", "bf16", "int8", each optionally with "+zstd". An unknown name lists the known ones.
Result<CodecSpec> parse_codec(const std::string& text);
std::string to_string(CodecSpec spec);

}  // namespace godwit
