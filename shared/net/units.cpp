#include "shared/net/units.h"

#include <array>
#include <charconv>
#include <limits>
#include <span>

namespace godwit {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t size;  // in the smallest unit
};

constexpr std::array kDurationUnits = {
    Unit{"h", 3'600'000'000'000ULL}, Unit{"min", 60'000'000'000ULL}, Unit{"s", 1'000'000'000ULL},
    Unit{"ms", 1'000'000ULL},        Unit{"us", 1'000ULL},           Unit{"ns", 1ULL},
};
constexpr std::array kByteUnits = {
    Unit{"TiB", 1ULL << 40},      Unit{"GiB", 1ULL << 30},
    Unit{"MiB", 1ULL << 20},      Unit{"KiB", 1ULL << 10},
    Unit{"GB", 1'000'000'000ULL}, Unit{"MB", 1'000'000ULL},
    Unit{"kB", 1'000ULL},         Unit{"B", 1ULL},
};
constexpr std::array kRateUnits = {
    Unit{"Gbit/s", 1'000'000'000ULL},
    Unit{"Mbit/s", 1'000'000ULL},
    Unit{"kbit/s", 1'000ULL},
    Unit{"bit/s", 1ULL},
};

// What a kind of quantity is called, its units, and two of them for an example.
struct Kind {
  std::string_view noun;
  std::span<const Unit> units;
  std::array<std::string_view, 2> usual;
  std::uint64_t max;
};

constexpr Kind kDuration = {"a duration",
                            kDurationUnits,
                            {"ms", "s"},
                            static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())};
constexpr Kind kSize = {
    "a size", kByteUnits, {"KiB", "MiB"}, std::numeric_limits<std::uint64_t>::max()};
constexpr Kind kRate = {
    "a rate", kRateUnits, {"Mbit/s", "Gbit/s"}, std::numeric_limits<std::uint64_t>::max()};

std::string in_quotes(std::string_view text) { return '"' + std::string(text) + '"'; }

Error wrong(const Kind& kind, std::string_view text, const std::string& what) {
  std::string units;
  for (const Unit& unit : kind.units) units += (units.empty() ? "" : ", ") + std::string(unit.name);
  return Error{Errc::kConfig, in_quotes(text) + ": " + what + "; " + std::string(kind.noun) +
                                  " is a number and a unit (" + units + ")"};
}

std::size_t digits_of(std::string_view text) {
  return std::min(text.find_first_not_of("0123456789"), text.size());
}

// whole.fraction unit; 128 bits hold every product.
Result<std::uint64_t> parse_quantity(const Kind& kind, std::string_view text) {
  const std::string_view whole = text.substr(0, digits_of(text));
  std::string_view rest = text.substr(whole.size());
  std::string_view fraction;
  if (rest.starts_with('.')) {
    fraction = rest.substr(1, digits_of(rest.substr(1)));
    rest.remove_prefix(1 + fraction.size());
    if (fraction.empty() || fraction.size() > 9) return wrong(kind, text, "bad fraction");
  }
  if (whole.empty()) return wrong(kind, text, "does not start with a digit");
  if (rest.empty()) {
    return wrong(kind, text,
                 "no unit: write " + in_quotes(std::string(text) + std::string(kind.usual[0])) +
                     " or " + in_quotes(std::string(text) + std::string(kind.usual[1])));
  }
  std::uint64_t number = 0;
  if (std::from_chars(whole.data(), whole.data() + whole.size(), number).ec != std::errc()) {
    return wrong(kind, text, "too large");
  }
  for (const Unit& unit : kind.units) {
    if (unit.name != rest) continue;
    std::uint64_t parts = 0;
    std::uint64_t parts_per_one = 1;
    for (const char digit : fraction) {
      parts = parts * 10 + static_cast<std::uint64_t>(digit - '0');
      parts_per_one *= 10;
    }
    const unsigned __int128 value =
        static_cast<unsigned __int128>(number) * unit.size +
        static_cast<unsigned __int128>(parts) * unit.size / parts_per_one;
    if (value > kind.max) return wrong(kind, text, "too large");
    return static_cast<std::uint64_t>(value);
  }
  return wrong(kind, text, "unknown unit " + in_quotes(rest));
}

std::string format_quantity(const Kind& kind, std::uint64_t value) {
  for (const Unit& unit : kind.units) {
    if (value != 0 && value % unit.size == 0)
      return std::to_string(value / unit.size) + std::string(unit.name);
  }
  return "0" + std::string(kind.units.back().name);
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  const auto value = parse_quantity(kDuration, text);
  if (!value) return value.error();
  return Duration(static_cast<std::int64_t>(*value));
}
Result<std::uint64_t> parse_bytes(std::string_view text) { return parse_quantity(kSize, text); }
Result<std::uint64_t> parse_rate(std::string_view text) { return parse_quantity(kRate, text); }

std::string format_duration(Duration duration) {
  GODWIT_REQUIRE(duration >= Duration::zero(), "durations in files are not negative");
  return format_quantity(kDuration, static_cast<std::uint64_t>(duration.count()));
}
std::string format_bytes(std::uint64_t bytes) { return format_quantity(kSize, bytes); }
std::string format_rate(std::uint64_t bits_per_second) {
  return format_quantity(kRate, bits_per_second);
}

}  // namespace godwit
