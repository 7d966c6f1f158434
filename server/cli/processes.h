// Processes: the servers of a cluster.toml that run on this machine. A pid file only counts while
// the process that it names runs our server with this file and name: a pid that the system gave to
// somebody else is never signalled.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include "shared/base/result.h"
#include "shared/base/time.h"
#include "shared/net/cluster_config.h"

namespace godwit::cli {

class Processes {
 public:
  // `program`: the server binary.
  Processes(const ClusterConfig& config, std::filesystem::path program)
      : config_(config), program_(std::move(program)) {}

  // The server's process, if it runs.
  std::optional<pid_t> find(const std::string& server) const;
  // In a session of its own, output appended to its log file. kConflict: it runs already;
  // kNotFound: no such binary; kIo.
  Result<pid_t> start(const std::string& server) const;
  // Sends the signal; nothing when it does not run. kIo.
  Result<void> signal(const std::string& server, int number) const;
  // Until it no longer runs; then its pid file is removed. False: it still does.
  bool wait_gone(const std::string& server, Duration timeout) const;

 private:
  bool is_ours(pid_t pid, const std::string& server) const;
  std::filesystem::path config_file() const;

  const ClusterConfig& config_;
  std::filesystem::path program_;
};

// "godwit-server" beside the running program. kIo.
Result<std::filesystem::path> server_program();

// The last lines of a file, for messages; empty when it cannot be read.
std::string last_lines(const std::filesystem::path& file, std::size_t count);

}  // namespace godwit::cli
