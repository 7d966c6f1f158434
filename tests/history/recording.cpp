#include "tests/history/recording.h"

#include <fstream>

namespace godwit::history {

std::string Recording::add_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return path + ": cannot be read";
  return add(path, file);
}

std::string Recording::add(const std::string& name, std::istream& lines) {
  ++files_;
  bool started = false;
  std::size_t torn = 0;  // the line, if nothing follows it yet
  std::string text;
  for (std::size_t line = 1; std::getline(lines, text); ++line) {
    if (text.empty()) continue;
    const std::optional<Event> event = parse_event(text);
    const auto* start = event ? std::get_if<Start>(&*event) : nullptr;
    if (torn != 0 && start == nullptr) return name + ":" + std::to_string(torn) + ": not an event";
    torn = 0;
    if (!event) {
      torn = line;
      ++torn_lines_;
      continue;
    }
    ++events_;
    if (start != nullptr) {
      processes_.push_back({*start, {name, line}, {}});
      started = true;
    } else if (started) {
      processes_.back().events.push_back({line, *event});
    } else {
      return name + ":" + std::to_string(line) + ": an event before any start";
    }
  }
  return "";
}

}  // namespace godwit::history
