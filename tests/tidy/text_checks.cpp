#include "tests/tidy/text_checks.h"

#include <array>
#include <string>
#include <string_view>

namespace godwit::tidy {
namespace {

using std::string_view;

constexpr std::array kVagueNames = {"util",    "utils",    "common", "misc",
                                    "manager", "managers", "helper", "helpers"};

// Written in two halves, so that this file passes its own test.
constexpr std::array kLeftovers = {
    "TODO"
    "(now)",
    "FIX"
    "ME",
    "X"
    "XX"};

struct Impurity {
  string_view word;
  string_view fix;
};

constexpr std::array kImpurities = {
    Impurity{"system_clock::now", "take the time as an argument"},
    Impurity{"steady_clock::now", "take the time as an argument"},
    Impurity{"high_resolution_clock::now", "take the time as an argument"},
    Impurity{"rand(", "take a seeded Random& as an argument"},
    Impurity{"random_device", "take a seeded Random& as an argument"},
    Impurity{"<thread>", "a core has no threads; its owner calls it from one strand"},
    Impurity{"<mutex>", "a core has no locks; its owner calls it from one strand"},
    Impurity{"this_thread", "a core has no threads; return the next deadline to the caller"},
};

constexpr std::array kWallClockWords = {"system_clock::now", "high_resolution_clock::now", "wall_microseconds",
                                        "gettimeofday",      "CLOCK_REALTIME",             "time(nullptr)",
                                        "std::time(",        "timespec_get"};

struct WallClockReader {
  string_view path;
  string_view purpose;
};

// Besides these, TLS reads it when it compares a certificate's dates, and the log when it writes a line.
constexpr std::array kWallClockReaders = {
    WallClockReader{"shared/net/clock.h", "defines wall_microseconds()"},
    WallClockReader{"shared/net/certificates.cpp", "dates of a new certificate"},
    WallClockReader{"shared/metrics/registry.cpp", "when the process started, for people"},
    WallClockReader{"server/http/http_server.cpp", "the Date header"},
    WallClockReader{"server/app/checkpoints.cpp", "when a checkpoint was made, for people"},
    WallClockReader{"server/cli/doctor_command.cpp", "compares the clocks of machines"},
    WallClockReader{"server/app/boot.cpp", "a data directory's number: new, above the last, never compared"},
    WallClockReader{"worker/client/session.cpp", "a process's number: one that is too low is told so, and outdone"},
};

// Parts of "shared/net/log_utils.h": shared, net, log, utils, h.
std::vector<string_view> name_parts(string_view path) {
  std::vector<string_view> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find_first_of("/_-."), path.size());
    if (end > 0) parts.push_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

}  // namespace

Violations check_name(const SourceFile& file) {
  for (const string_view part : name_parts(file.path)) {
    for (const string_view vague : kVagueNames) {
      if (part != vague) continue;
      return {{file.path, 0, "vague-name",
               "'" + std::string(part) + "' says nothing; name it by what it is about"}};
    }
  }
  return {};
}

Violations check_leftovers(const SourceFile& file) {
  Violations violations;
  for (const string_view leftover : kLeftovers) {
    for (std::size_t at = find_word(file.text, leftover); at != string_view::npos;
         at = find_word(file.text, leftover, at + 1)) {
      violations.push_back(
          {file.path, file.line_of(at), "leftover",
           std::string(leftover) + ": finish it now, or say TODO(someday) and why it may wait"});
    }
  }
  return violations;
}

Violations check_pragma_once(const SourceFile& file) {
  if (file.extension() != ".h" || file.code.find("#pragma once") != std::string::npos) return {};
  return {{file.path, 0, "pragma-once", "add #pragma once after the opening comment"}};
}

Violations check_wall_clock(const SourceFile& file) {
  if (!file.is_cpp() || file.path.starts_with("tests/") || file.path.starts_with("bench/")) return {};
  for (const WallClockReader& reader : kWallClockReaders) {
    if (file.path == reader.path) return {};
  }
  Violations violations;
  for (const string_view word : kWallClockWords) {
    for (std::size_t at = find_word(file.code, word); at != string_view::npos;
         at = find_word(file.code, word, at + 1)) {
      violations.push_back({file.path, file.line_of(at), "wall-clock",
                            std::string(word) + ": people set this clock; use net::now(), or say in "
                                                "tests/tidy/text_checks.cpp what for"});
    }
  }
  return violations;
}

Violations check_core_purity(const SourceFile& file) {
  const bool core = file.folder() == "server/core" || file.folder() == "worker/core";
  if (!core || !file.is_cpp()) return {};
  Violations violations;
  for (const auto& [word, fix] : kImpurities) {
    for (std::size_t at = find_word(file.code, word); at != string_view::npos;
         at = find_word(file.code, word, at + 1)) {
      violations.push_back({file.path, file.line_of(at), "core-purity",
                            std::string(word) + ": " + std::string(fix)});
    }
  }
  return violations;
}

}  // namespace godwit::tidy
