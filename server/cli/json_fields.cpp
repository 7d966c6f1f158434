#include "server/cli/json_fields.h"

#include <charconv>

namespace godwit::cli {

std::uint64_t JsonFields::number(std::string_view key) const {
  const auto* const value = find(key);
  if (value == nullptr) return 0;
  if (const auto* const whole = value->if_int64())
    return *whole < 0 ? 0 : static_cast<std::uint64_t>(*whole);
  if (const auto* const whole = value->if_uint64()) return *whole;
  const std::string digits = text(key);
  std::uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

const boost::json::array& JsonFields::list(std::string_view key) const {
  static const boost::json::array kEmpty;
  const auto* const value = find(key);
  const auto* const array = value ? value->if_array() : nullptr;
  return array ? *array : kEmpty;
}

}  // namespace godwit::cli
