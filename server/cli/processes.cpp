#include "server/cli/processes.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

namespace godwit::cli {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(20);
constexpr auto kArgumentsWait = std::chrono::seconds(1);

std::string read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

std::vector<std::string> arguments_of(pid_t pid) {
  const std::string raw = read_file("/proc/" + std::to_string(pid) + "/cmdline");
  std::vector<std::string> arguments;
  for (std::size_t at = 0; at < raw.size();) {
    const std::size_t end = std::min(raw.find('\0', at), raw.size());
    arguments.push_back(raw.substr(at, end - at));
    at = end + 1;
  }
  return arguments;
}

bool has_pair(const std::vector<std::string>& arguments, const std::string& flag,
              const std::string& value) {
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i] == flag && arguments[i + 1] == value) return true;
  }
  return false;
}

// What posix_spawn() needs, freed at the end.
class SpawnSettings {
 public:
  explicit SpawnSettings(const std::string& log_file) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions_, 1, log_file.c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND, 0644);
    ::posix_spawn_file_actions_adddup2(&actions_, 1, 2);
    // A session of its own: Ctrl-C in this terminal does not reach it.
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSID);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  int spawn(pid_t& pid, std::vector<std::string> arguments) const {
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    return ::posix_spawn(&pid, pointers.front(), &actions_, &attributes_, pointers.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

std::filesystem::path Processes::config_file() const {
  std::error_code error;
  const std::filesystem::path file = config_.folder / kClusterFileName;
  const std::filesystem::path whole = std::filesystem::canonical(file, error);
  return error ? file : whole;
}

bool Processes::is_ours(pid_t pid, const std::string& server) const {
  // Also false for a process that has ended but was not reaped: it has no arguments any more.
  const std::vector<std::string> arguments = arguments_of(pid);
  return has_pair(arguments, "--config", config_file().string()) &&
         has_pair(arguments, "--name", server);
}

std::optional<pid_t> Processes::find(const std::string& server) const {
  pid_t pid = 0;
  std::ifstream(config_.pid_file(server)) >> pid;
  if (pid <= 0 || !is_ours(pid, server)) return std::nullopt;
  return pid;
}

Result<pid_t> Processes::start(const std::string& server) const {
  if (const auto running = find(server)) {
    return Error{Errc::kConflict, server + " runs already, as process " + std::to_string(*running)};
  }
  std::error_code error;
  if (!std::filesystem::exists(program_, error)) {
    return Error{Errc::kNotFound,
                 program_.string() + " does not exist: build the target godwit-server"};
  }
  for (const auto& file : {config_.log_file(server), config_.pid_file(server)}) {
    std::filesystem::create_directories(file.parent_path(), error);
  }
  const SpawnSettings settings(config_.log_file(server).string());
  pid_t pid = 0;
  const int failed = settings.spawn(
      pid, {program_.string(), "--config", config_file().string(), "--name", server});
  if (failed != 0)
    return Error{Errc::kIo, "starting " + program_.string() + ": " + std::strerror(failed)};
  std::ofstream out(config_.pid_file(server), std::ios::trunc);
  out << pid << "\n";
  out.close();
  if (!out) {
    ::kill(pid, SIGKILL);
    return Error{Errc::kIo,
                 "writing " + config_.pid_file(server).string() + ": " + std::strerror(errno)};
  }
  // For a moment after exec() a process has no arguments that can be read.
  const auto end = std::chrono::steady_clock::now() + kArgumentsWait;
  while (!is_ours(pid, server) && std::chrono::steady_clock::now() < end) {
    if (::waitpid(pid, nullptr, WNOHANG) == pid) break;  // it has ended: readiness says so
    std::this_thread::yield();
  }
  return pid;
}

Result<void> Processes::signal(const std::string& server, int number) const {
  const auto pid = find(server);
  if (pid && ::kill(*pid, number) != 0 && errno != ESRCH) {
    return Error{Errc::kIo, "signalling " + server + ": " + std::strerror(errno)};
  }
  return {};
}

bool Processes::wait_gone(const std::string& server, Duration timeout) const {
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (find(server)) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(kPoll);
  }
  std::error_code ignored;
  std::filesystem::remove(config_.pid_file(server), ignored);
  while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;  // our own children, when we started them
  return true;
}

Result<std::filesystem::path> server_program() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return Error{Errc::kIo, "reading /proc/self/exe: " + error.message()};
  return self.parent_path() / "godwit-server";
}

std::string last_lines(const std::filesystem::path& file, std::size_t count) {
  std::ifstream in(file);
  std::deque<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
    if (lines.size() > count) lines.pop_front();
  }
  std::string text;
  for (const std::string& line : lines) text += "    " + line + "\n";
  return text;
}

}  // namespace godwit::cli
