// The grammar of `godwit`: from arguments to a command to run, or to what to print instead. Pure.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/time.h"

namespace godwit::cli {

enum class Command : unsigned char {
  kInit,
  kUp,
  kDown,
  kKill,
  kStart,
  kStatus,
  kModeSync,
  kModeAsync,
  kPromote,
  kVerify,
  kDoctor,
  kCheckpointCreate,
  kCheckpointList,
  kCheckpointShow,
  kCheckpointVerify,
  kCheckpointRestore,
  kCheckpointPin,
  kCheckpointRemove,
  kModelExport,
  kModelImport,
  kExplain,
  kVersion,
  kExitCodes,
};

enum class Format : unsigned char { kTable, kJson };

// As written on the command line; init.h says what it means. Empty: the default.
struct InitFlags {
  std::string name = "local";
  std::string regions = "3";  // how many, or their names with commas between, or NAME=ADDRESS
  bool admin_beyond_loopback = false;  // with addresses: the admin ports are there, too
  std::uint32_t shards = 2;
  std::uint32_t workers = 1;  // certificates per region
  std::string control;        // region of the control store; default: the first
  std::string delay, rate, window, ack, codec, lan_codec;
  std::uint32_t block_parameters = 0;  // 0: the default
};

struct CommandLine {
  Command command = Command::kStatus;
  std::filesystem::path directory = ".";  // of cluster.toml
  Format format = Format::kTable;
  InitFlags init;
  std::string name;            // up, down, kill, start, doctor: a server; promote: a region; explain: a code
  std::string region;          // doctor: instead of the name; model import: through whose server
  std::uint32_t shard = 0;     // promote
  std::uint64_t checkpoint = 0;  // its id; model export: 0 is none
  std::uint64_t version = 0;     // model export: 0 is the newest
  bool off = false;              // checkpoint pin
  std::string reason;            // checkpoint create
  std::vector<std::string> exact;  // model import
  std::filesystem::path file;  // model export, model import
  std::vector<std::filesystem::path> acknowledgements;
  std::uint32_t sync_steps = 0;    // mode sync: 0 as it was
  std::optional<Duration> wait;    // mode: how long for the shards
  Duration timeout = seconds(30);  // verify, up
  bool strict = false;
  bool offline = false;
};

// `line`, or (help, version, a mistake) the text and the exit code.
struct ParsedCommandLine {
  std::optional<CommandLine> line;
  int exit_code = 0;
  std::string out;
  std::string error;
};

// Without the program's name.
ParsedCommandLine parse_command_line(const std::vector<std::string>& arguments);

}  // namespace godwit::cli
