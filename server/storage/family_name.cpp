#include "server/storage/family_name.h"

#include <algorithm>

#include "shared/base/check.h"

namespace godwit {
namespace {

constexpr std::size_t kShownKeyBytes = 64;

bool is_printable(std::byte byte) { return byte >= std::byte{0x20} && byte < std::byte{0x7f}; }

}  // namespace

std::string_view name(Family family) {
  switch (family) {
    case Family::kLog:
      return "log";
    case Family::kInputs:
      return "inputs";
    case Family::kOutbox:
      return "outbox";
    case Family::kPushes:
      return "pushes";
    case Family::kSnapshot:
      return "snapshot";
    case Family::kMeta:
      return "meta";
    case Family::kControl:
      return "control";
  }
  GODWIT_REQUIRE(false, "a family that exists");
  return {};
}

std::string describe_key(Family family, ByteView key) {
  const ByteView shown = key.first(std::min(key.size(), kShownKeyBytes));
  std::string out = std::string(name(family)) + " key ";
  if (!key.empty() && std::all_of(shown.begin(), shown.end(), is_printable)) {
    out += '"' + std::string(text(shown)) + '"';
  } else {
    constexpr std::string_view kDigits = "0123456789abcdef";
    out += "0x";
    for (const std::byte byte : shown) {
      out += kDigits[std::to_integer<unsigned>(byte) >> 4U];
      out += kDigits[std::to_integer<unsigned>(byte) & 15U];
    }
  }
  return shown.size() < key.size() ? out + "..." : out;
}

}  // namespace godwit
