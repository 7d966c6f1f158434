#include "shared/codec/zstd_stage.h"

#include <zstd.h>

#include <algorithm>
#include <array>

namespace godwit {
namespace {

constexpr int kLevel = 1;
constexpr std::byte kStored{0};
constexpr std::byte kZstd{1};
// Little-endian ZSTD_MAGICNUMBER. Checked by us, so that old formats which a library may still read
// are refused.
constexpr std::array<std::byte, 4> kMagic{std::byte{0x28}, std::byte{0xB5}, std::byte{0x2F},
                                          std::byte{0xFD}};

Bytes to_planes(ByteView elements, std::size_t element_bytes) {
  const std::size_t count = elements.size() / element_bytes;
  Bytes planes(elements.size());
  std::byte* to = planes.data();
  for (std::size_t j = 0; j < element_bytes; ++j) {
    for (std::size_t i = 0; i < count; ++i) *to++ = elements[i * element_bytes + j];
  }
  std::copy(elements.begin() + static_cast<std::ptrdiff_t>(count * element_bytes), elements.end(),
            to);
  return planes;
}

Bytes from_planes(ByteView planes, std::size_t element_bytes) {
  const std::size_t count = planes.size() / element_bytes;
  Bytes elements(planes.size());
  const std::byte* from = planes.data();
  for (std::size_t j = 0; j < element_bytes; ++j) {
    for (std::size_t i = 0; i < count; ++i) elements[i * element_bytes + j] = *from++;
  }
  std::copy(from, planes.data() + planes.size(),
            elements.begin() + static_cast<std::ptrdiff_t>(count * element_bytes));
  return elements;
}

Result<Bytes> decompress(ByteView frame, std::size_t max_bytes) {
  if (frame.size() < kMagic.size() || !std::equal(kMagic.begin(), kMagic.end(), frame.begin())) {
    return Error{Errc::kMalformed, "zstd stage: no zstd frame"};
  }
  // Unknown and invalid sizes are the two largest numbers, so this refuses them too.
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size > max_bytes) {
    return Error{Errc::kMalformed, "zstd stage: frame states no size or more than " +
                                       std::to_string(max_bytes) + " bytes"};
  }
  if (ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size()) {
    return Error{Errc::kMalformed, "zstd stage: frame is cut short or bytes follow it"};
  }
  Bytes planes(static_cast<std::size_t>(size));
  const std::size_t written =
      ZSTD_decompress(planes.data(), planes.size(), frame.data(), frame.size());
  if (written != planes.size()) return Error{Errc::kMalformed, "zstd stage: damaged frame"};
  return planes;
}

}  // namespace

Bytes compress_planes(ByteView encoded, std::size_t element_bytes) {
  const Bytes planes = to_planes(encoded, element_bytes);
  // Room for one byte less than the input: a frame that does not shrink it does not fit.
  Bytes stage(1 + encoded.size());
  const std::size_t room = encoded.empty() ? 0 : encoded.size() - 1;
  const std::size_t written =
      ZSTD_compress(stage.data() + 1, room, planes.data(), planes.size(), kLevel);
  if (ZSTD_isError(written) == 0) {
    stage[0] = kZstd;
    stage.resize(1 + written);
  } else {
    stage[0] = kStored;
    std::copy(encoded.begin(), encoded.end(), stage.begin() + 1);
  }
  return stage;
}

Result<Bytes> decompress_planes(ByteView stage, std::size_t element_bytes, std::size_t max_bytes) {
  if (stage.empty()) return Error{Errc::kMalformed, "zstd stage: empty"};
  const ByteView rest = stage.subspan(1);
  if (stage[0] == kStored) {
    if (rest.size() > max_bytes) {
      return Error{Errc::kMalformed,
                   "zstd stage: more than " + std::to_string(max_bytes) + " bytes"};
    }
    return copy(rest);
  }
  if (stage[0] != kZstd) return Error{Errc::kMalformed, "zstd stage: unknown leading byte"};
  Result<Bytes> planes = decompress(rest, max_bytes);
  if (!planes || element_bytes == 1) return planes;
  return from_planes(*planes, element_bytes);
}

}  // namespace godwit
