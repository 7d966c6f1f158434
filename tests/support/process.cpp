#include "tests/support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "shared/base/check.h"

extern char** environ;

namespace godwit::support {
namespace {

pid_t spawn(const std::vector<std::string>& arguments, int standard_output) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (standard_output >= 0) posix_spawn_file_actions_adddup2(&actions, standard_output, 1);
  pid_t pid = -1;
  const int failed = posix_spawn(&pid, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  GODWIT_REQUIRE(failed == 0, arguments[0] + " can be started");
  return pid;
}

int exit_code(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

}  // namespace

Output run(const std::vector<std::string>& arguments, std::chrono::seconds limit) {
  int pipe_ends[2];
  GODWIT_CHECK(pipe2(pipe_ends, O_CLOEXEC) == 0, "a pipe");
  const pid_t pid = spawn(arguments, pipe_ends[1]);
  close(pipe_ends[1]);
  Output output;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd ready{pipe_ends[0], POLLIN, 0};
    if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) == 0) {
      kill(pid, SIGKILL);
      break;
    }
    char buffer[4096];
    const ssize_t count = read(pipe_ends[0], buffer, sizeof buffer);
    if (count <= 0) break;
    output.text.append(buffer, static_cast<std::size_t>(count));
  }
  close(pipe_ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  output.exit_code = exit_code(status);
  return output;
}

Background::Background(const std::vector<std::string>& arguments) : pid_(spawn(arguments, -1)) {}

Background::~Background() { kill_now(); }

bool Background::running() {
  if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
  return pid_ > 0;
}

void Background::kill_now() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "godwit-test-XXXXXX").string();
  GODWIT_CHECK(mkdtemp(pattern.data()) != nullptr, "a temporary folder");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace godwit::support
