// Recording: the histories of all workers of a run, cut into processes.
#pragma once

#include <iosfwd>

#include "tests/history/event.h"

namespace godwit::history {

struct Place {
  std::string file;
  std::size_t line = 0;
};

struct Violation {
  std::string rule;
  Place place;
  std::string what;
};
using Violations = std::vector<Violation>;

struct Recorded {
  std::size_t line = 0;
  Event event;
};

// One process of a worker, from its start.
struct Process {
  Start start;
  Place place;
  std::vector<Recorded> events;
  Place at(const Recorded& event) const { return {place.file, event.line}; }
};

class Recording {
 public:
  // Files of one worker come in the order in which they were written. A line that does not parse was torn by the death
  // of its process, if it is the last one or a start follows. "" or what is wrong with the file.
  std::string add_file(const std::string& path);
  std::string add(const std::string& name, std::istream& lines);

  const std::vector<Process>& processes() const { return processes_; }
  std::size_t files() const { return files_; }
  std::size_t events() const { return events_; }
  std::size_t torn_lines() const { return torn_lines_; }

 private:
  std::vector<Process> processes_;
  std::size_t files_ = 0, events_ = 0, torn_lines_ = 0;
};

}  // namespace godwit::history
