#include "server/storage/log_tail.h"

#include <array>
#include <cstdint>

namespace godwit {
namespace {

// A record: CRC of all behind it (4 bytes, masked), length of the payload (2), type (1), payload. Little-endian.
constexpr std::size_t kHeaderBytes = 7;
constexpr std::uint32_t kFirstType = 1, kLastType = 4;  // whole, first part, middle part, last part

constexpr std::array<std::uint32_t, 256> kCrc32cTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0x82F63B78U : 0U);
    table[i] = crc;
  }
  return table;
}();

std::uint32_t masked_crc32c(ByteView bytes) {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const std::byte byte : bytes)
    crc = (crc >> 8U) ^ kCrc32cTable[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xFFU];
  crc = ~crc;
  return ((crc >> 15U) | (crc << 17U)) + 0xA282EAD8U;
}

std::uint32_t number_at(ByteView bytes, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value |= std::to_integer<std::uint32_t>(bytes[at + i]) << (8U * i);
  return value;
}

// Of the record at `at` by its header; nullopt: it ends beyond the block.
std::optional<std::size_t> record_bytes(ByteView block, std::size_t at) {
  const std::size_t count = kHeaderBytes + number_at(block, at + 4, 2);
  return count <= block.size() - at ? std::optional(count) : std::nullopt;
}

bool is_whole_record(ByteView block, std::size_t at) {
  const std::uint32_t type = number_at(block, at + 6, 1);
  const std::optional<std::size_t> count = record_bytes(block, at);
  return type >= kFirstType && type <= kLastType && count &&
         masked_crc32c(block.subspan(at + 6, *count - 6)) == number_at(block, at, 4);
}

}  // namespace

std::optional<std::size_t> hidden_by_damage(ByteView block) {
  std::size_t at = 0;
  while (at + kHeaderBytes <= block.size()) {
    const std::optional<std::size_t> count = record_bytes(block, at);
    if (!count) break;
    at += *count;
  }
  for (std::size_t next = at + 1; next + kHeaderBytes <= block.size(); ++next) {
    if (is_whole_record(block, next)) return at;
  }
  return std::nullopt;
}

}  // namespace godwit
