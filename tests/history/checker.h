// The checker: judges what all workers of a run recorded, believing none of them alone.
#pragma once

#include "tests/history/recording.h"

namespace godwit::history {

struct Report {
  std::size_t workers = 0, processes = 0, events = 0, torn_lines = 0;
  std::size_t shards = 0;
  std::size_t versions = 0;   // of the final logs, as far as somebody saw them
  std::size_t unseen = 0;     // versions between those
  std::size_t truncated = 0;  // seen, and replaced by a newer epoch
  std::size_t pushes_made = 0, pushes_acknowledged = 0, pushes_refused = 0;  // by the processes
  std::size_t named_applied = 0, named_refused = 0, named_discarded = 0;     // in the final logs, of anybody
  // Acknowledged and not named in any version that was seen, though they still may be: the history ends before, or a
  // gap hides it.
  std::size_t pushes_open = 0;
  // Every worker's last process ended after it had seen all of its pushes named, on what is the final log.
  bool closed = false;
  Violations violations;
};

Report check(const Recording& recording);

// One line.
std::string summary(const Report& report);
std::string report_json(const Report& report);
std::string to_string(const Violation& violation);  // file:line: rule: what

}  // namespace godwit::history
