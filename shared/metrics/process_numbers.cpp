#include "shared/metrics/process_numbers.h"

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>

namespace godwit::metrics {
namespace {

// The number after `label` in a file of "label   number ..." lines.
double number_after(const char* file, std::string_view label) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(label)) continue;
    double number = 0;
    std::istringstream(line.substr(label.size())) >> number;
    return number;
  }
  return 0;
}

}  // namespace

ProcessNumbers read_process_numbers() {
  ProcessNumbers numbers;
  numbers.cpu_seconds = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  numbers.resident_bytes = number_after("/proc/self/status", "VmRSS:") * 1024;
  numbers.threads = number_after("/proc/self/status", "Threads:");
  numbers.max_open_files = number_after("/proc/self/limits", "Max open files");
  std::error_code error;
  const std::filesystem::directory_iterator files("/proc/self/fd", error);
  if (!error) numbers.open_files = static_cast<double>(std::distance(begin(files), end(files)));
  return numbers;
}

}  // namespace godwit::metrics
