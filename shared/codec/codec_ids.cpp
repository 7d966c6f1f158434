#include "shared/codec/codec_ids.h"

#include <string_view>

#include "shared/codec/codec.h"

namespace godwit {
namespace {

constexpr std::string_view kZstdSuffix = "+zstd";

std::string known_names() {
  std::string names;
  for (const Codec* codec : CodecTable::standard().all()) {
    if (!names.empty()) names += ", ";
    names += codec->name();
  }
  return names;
}

}  // namespace

Result<CodecSpec> parse_codec(const std::string& text) {
  std::string_view name = text;
  const bool zstd = name.ends_with(kZstdSuffix);
  if (zstd) name.remove_suffix(kZstdSuffix.size());
  for (const Codec* codec : CodecTable::standard().all()) {
    if (codec->name() == name) return CodecSpec{codec->id(), zstd};
  }
  return Error{Errc::kConfig, "unknown codec '" + text + "': use one of " + known_names() +
                                  ", each optionally followed by " + std::string(kZstdSuffix)};
}

std::string to_string(CodecSpec spec) {
  const std::string suffix(spec.zstd ? kZstdSuffix : "");
  if (spec.id == CodecId::kNone) return "none" + suffix;
  const Result<const Codec*> codec = CodecTable::standard().find(spec.id);
  if (!codec) return "codec-" + std::to_string(static_cast<unsigned>(spec.id)) + suffix;
  return std::string((*codec)->name()) + suffix;
}

}  // namespace godwit
