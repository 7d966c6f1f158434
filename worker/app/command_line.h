// The commands of godwit-worker and their options, as values.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "worker/client/session.h"
#include "worker/trainer/trainer.h"

namespace godwit::app {

struct TrainCommand {
  bool alone = false;  // no server: the run is this worker
  SessionOptions session;
  std::string data;
  std::uint64_t regions = 1;       // slices of the text
  std::uint64_t region_index = 0;  // the one that is read
  std::string size = "nano";
  std::uint64_t seed = 1;  // of a fresh model; the windows also depend on region and name
  int threads = 1;
  std::string output;  // the parameters at the end, as safetensors; empty: not written
  trainer::TrainOptions options;
};

struct EvaluateCommand {
  std::string model;
  std::string data;
  std::string size = "nano";
  std::size_t context = 64;
  std::uint64_t max_bytes = 0;  // of the held-out text; 0: all
  int threads = 1;
  bool json = false;
};

struct VersionCommand {};

// What to do instead of a command: help was asked for, or the command line is wrong.
struct Usage {
  int exit_code = 0;
  std::string text;
};

using Command = std::variant<TrainCommand, EvaluateCommand, VersionCommand, Usage>;

Command parse_command_line(int argc, const char* const* argv);

}  // namespace godwit::app
