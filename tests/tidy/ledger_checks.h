// The ledger of numbers that travel or are stored: schema/README.md. Numbers are never reused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/source_tree.h"

namespace godwit::tidy {

inline constexpr std::string_view kLedgerPath = "schema/README.md";

struct LedgerRow {
  std::uint64_t number;
  std::string name;  // "wrong-epoch"
  std::size_t line;
  bool reserved;  // the row says that the number is reserved: no code need have it
};

struct NumberedName {
  std::string name;  // kWrongEpoch is "wrong-epoch"
  std::uint64_t number;
  std::size_t line;
};

// Rows `| number | name | ...` of the table under the heading `## <section>`.
std::vector<LedgerRow> ledger_rows(const SourceFile& ledger, std::string_view section);
// Every `kName = number`, decimal or hexadecimal.
std::vector<NumberedName> numbered_names(const SourceFile& header);

// A number and a name appear once in a table.
Violations check_ledger_table(const SourceFile& ledger, std::string_view section);
// Code and ledger name the same numbers alike, both ways.
Violations check_ledger_against(const SourceFile& ledger, std::string_view section,
                                const SourceFile& header);

}  // namespace godwit::tidy
