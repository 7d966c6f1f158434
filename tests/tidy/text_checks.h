// Words that do not belong: vague names, leftovers, and clocks or dice in a core.
#pragma once

#include <vector>

#include "tests/tidy/source_tree.h"

namespace godwit::tidy {

// A name says what a thing is about; some names say nothing.
Violations check_name(const SourceFile& file);
Violations check_leftovers(const SourceFile& file);
Violations check_pragma_once(const SourceFile& file);
// server/core and worker/core: time, chance and threads are the caller's.
Violations check_core_purity(const SourceFile& file);

// Outside of tests, the clock that people set is read only where the table says, each time for a purpose that no
// decision hangs on.
Violations check_wall_clock(const SourceFile& file);

}  // namespace godwit::tidy
