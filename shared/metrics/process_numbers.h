// What the operating system says about this process. A number that cannot be read is 0.
#pragma once

namespace godwit::metrics {

struct ProcessNumbers {
  double cpu_seconds = 0;
  double resident_bytes = 0;
  double open_files = 0;
  double max_open_files = 0;
  double threads = 0;
};

ProcessNumbers read_process_numbers();

}  // namespace godwit::metrics
