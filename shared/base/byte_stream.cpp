#include "shared/base/byte_stream.h"

#include <limits>

#include "shared/base/check.h"

namespace godwit {

void ByteWriter::put_bytes(ByteView bytes) {
  GODWIT_REQUIRE(bytes.size() <= std::numeric_limits<std::uint32_t>::max(), "a field below 4 GiB");
  put(static_cast<std::uint32_t>(bytes.size()));
  put_raw(bytes);
}

void ByteReader::get(float& value) { value = std::bit_cast<float>(get<std::uint32_t>()); }
void ByteReader::get(double& value) { value = std::bit_cast<double>(get<std::uint64_t>()); }

ByteView ByteReader::take(std::size_t count) {
  if (failed_ || count > in_.size()) {
    failed_ = true;
    in_ = {};
    return {};
  }
  const ByteView head = in_.first(count);
  in_ = in_.subspan(count);
  return head;
}

ByteView ByteReader::get_bytes() { return take(get<std::uint32_t>()); }

std::uint32_t ByteReader::get_count(std::size_t min_item_bytes) {
  const auto count = get<std::uint32_t>();
  if (count > in_.size() / (min_item_bytes == 0 ? 1 : min_item_bytes)) {
    failed_ = true;
    in_ = {};
    return 0;
  }
  return count;
}

}  // namespace godwit
