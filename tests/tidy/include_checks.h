// Arrows between folders only go down; libraries stay where the include table allows them.
#pragma once

#include <vector>

#include "tests/tidy/include_table.h"
#include "tests/tidy/source_tree.h"

namespace godwit::tidy {

// Each #include follows its folder's row; quotes name an existing file from the repository root.
Violations check_includes(const std::vector<SourceFile>& files,
                          const std::vector<FolderRow>& table);
// The table itself has no cycle, names each folder once and knows every folder that it names.
Violations check_ladder(const std::vector<FolderRow>& table);
// No file includes itself, however indirectly.
Violations check_include_cycles(const std::vector<SourceFile>& files);

}  // namespace godwit::tidy
