#include "tests/tidy/ledger_checks.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <set>

namespace godwit::tidy {
namespace {

using std::string_view;

string_view trim(string_view text) {
  const std::size_t first = text.find_first_not_of(" \t`");
  if (first == string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t`") - first + 1);
}

// "0x80", "1'000", "101"; nothing where no number starts.
std::optional<std::uint64_t> parse_number(string_view text) {
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  std::string digits;
  for (const char c : text) {
    if (c == '\'') continue;
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) break;
    digits += c;
  }
  std::uint64_t number = 0;
  const auto result =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, hexadecimal ? 16 : 10);
  if (result.ec != std::errc{}) return std::nullopt;
  return number;
}

// "WrongEpoch" is "wrong-epoch".
std::string ledger_name(string_view words) {
  std::string name;
  for (const char c : words) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0 && !name.empty()) name += '-';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

std::vector<string_view> cells_of(string_view line) {
  std::vector<string_view> cells;
  if (!line.starts_with('|')) return cells;
  for (std::size_t at = 0; at + 1 < line.size();) {
    const std::size_t end = std::min(line.find('|', at + 1), line.size());
    cells.push_back(trim(line.substr(at + 1, end - at - 1)));
    at = end;
  }
  return cells;
}

}  // namespace

std::vector<LedgerRow> ledger_rows(const SourceFile& ledger, string_view section) {
  std::vector<LedgerRow> rows;
  const auto lines = split_lines(ledger.text);
  bool inside = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with("## ")) inside = trim(lines[i].substr(3)) == section;
    const auto cells = cells_of(lines[i]);
    if (!inside || cells.size() < 2) continue;
    const auto number = parse_number(cells[0]);
    const bool reserved = lines[i].find("reserved") != string_view::npos;
    if (number) rows.push_back({*number, std::string(cells[1]), i + 1, reserved});
  }
  return rows;
}

std::vector<NumberedName> numbered_names(const SourceFile& header) {
  std::vector<NumberedName> names;
  const auto lines = split_lines(header.code);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    string_view line = lines[i];
    for (std::size_t equals = line.find('='); equals != string_view::npos;
         equals = line.find('=')) {
      const string_view left = trim(line.substr(0, equals));
      line.remove_prefix(equals + 1);
      std::size_t start = left.size();
      while (start > 0 && is_word_character(left[start - 1])) --start;
      const string_view name = left.substr(start);
      const bool constant = name.size() > 1 && name[0] == 'k' &&
                            std::isupper(static_cast<unsigned char>(name[1])) != 0;
      const auto number = parse_number(trim(line));
      if (constant && number) names.push_back({ledger_name(name.substr(1)), *number, i + 1});
    }
  }
  return names;
}

Violations check_ledger_table(const SourceFile& ledger, string_view section) {
  Violations violations;
  std::map<std::uint64_t, std::size_t> numbers;
  std::map<std::string, std::size_t> names;
  const auto rows = ledger_rows(ledger, section);
  if (ledger.text.find("## " + std::string(section) + "\n") == std::string::npos) {
    violations.push_back(
        {ledger.path, 0, "ledger", "no section '## " + std::string(section) + "'; add its table"});
  }
  for (const auto& row : rows) {
    const auto first_number = numbers.emplace(row.number, row.line).first->second;
    const auto first_name = names.emplace(row.name, row.line).first->second;
    if (first_number != row.line) {
      violations.push_back({ledger.path, row.line, "ledger",
                            "number " + std::to_string(row.number) + " is taken by line " +
                                std::to_string(first_number) +
                                "; take a new one, numbers are never reused"});
    }
    if (first_name != row.line) {
      violations.push_back({ledger.path, row.line, "ledger",
                            "name '" + row.name + "' is taken by line " +
                                std::to_string(first_name) + "; choose another"});
    }
  }
  return violations;
}

Violations check_ledger_against(const SourceFile& ledger, string_view section,
                                const SourceFile& header) {
  Violations violations;
  const auto rows = ledger_rows(ledger, section);
  std::set<std::string> in_code;
  for (const auto& entry : numbered_names(header)) {
    in_code.insert(entry.name);
    const bool listed = std::any_of(rows.begin(), rows.end(), [&](const LedgerRow& row) {
      return row.name == entry.name && row.number == entry.number && !row.reserved;
    });
    if (listed) continue;
    violations.push_back({header.path, entry.line, "ledger",
                          "'" + entry.name + "' = " + std::to_string(entry.number) + " is not in " +
                              ledger.path + ", section '" + std::string(section) +
                              "'; add the row `| " + std::to_string(entry.number) + " | " +
                              entry.name + " | ... |`"});
  }
  for (const auto& row : rows) {
    if (row.reserved || in_code.contains(row.name)) continue;
    violations.push_back({ledger.path, row.line, "ledger",
                          "'" + row.name + "' is not in " + header.path +
                              "; a number given up stays, marked reserved"});
  }
  return violations;
}

}  // namespace godwit::tidy
