// Durations, sizes and rates as people write them: a number and a unit, always both. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shared/base/result.h"
#include "shared/base/time.h"

namespace godwit {

// "250ms", "1.5s", "2min", "1h", "80us". Errors: kConfig, with what is wrong and the units.
Result<Duration> parse_duration(std::string_view text);
// "512B", "64KiB", "64MiB", "1GiB" and the decimal "kB", "MB", "GB".
Result<std::uint64_t> parse_bytes(std::string_view text);
// Bits per second: "800bit/s", "64kbit/s", "200Mbit/s", "1Gbit/s".
Result<std::uint64_t> parse_rate(std::string_view text);

// Parses to the same value: a whole number of the largest unit that divides it.
std::string format_duration(Duration duration);
std::string format_bytes(std::uint64_t bytes);
std::string format_rate(std::uint64_t bits_per_second);

}  // namespace godwit
