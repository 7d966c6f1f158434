#include "server/cli/table.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "shared/base/check.h"

namespace godwit::cli {
namespace {

constexpr std::size_t kGap = 3;  // spaces between columns

// Characters as a terminal shows them, one for each UTF-8 sequence.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string fixed(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  GODWIT_REQUIRE(cells.size() == columns_.size(), "a row has one cell for each column");
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    titles.push_back(columns_[i].title);
    std::size_t width = width_of(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, width_of(row[i]));
    widths.push_back(width);
  }
  std::string text;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths[i] - width_of(cells[i]), ' ');
      if (i > 0) line.append(kGap, ' ');
      line += columns_[i].align == Align::kLeft ? cells[i] + padding : padding + cells[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line(titles);
  for (const auto& row : rows_) add_line(row);
  return text;
}

std::string with_separators(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 999.95 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return fixed(value, unit == 0 ? 0 : 1) + " " + kUnits[unit];
}

std::string human_seconds(double seconds) {
  if (seconds < 60) return fixed(seconds, 1) + "s";
  const auto whole = static_cast<std::uint64_t>(seconds);
  const auto pair = [](std::uint64_t large, const char* large_unit, std::uint64_t small,
                       const char* small_unit) {
    return std::to_string(large) + large_unit + " " + std::to_string(small) + small_unit;
  };
  if (whole < 3600) return pair(whole / 60, "m", whole % 60, "s");
  if (whole < 86400) return pair(whole / 3600, "h", whole % 3600 / 60, "m");
  return pair(whole / 86400, "d", whole % 86400 / 3600, "h");
}

}  // namespace godwit::cli
