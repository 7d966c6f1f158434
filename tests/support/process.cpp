#include "tests/support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "shared/base/check.h"

namespace godwit::support {
namespace {

// The program goes when we go, however we go. Between fork and exec only what is safe for a process of several
// threads is called.
pid_t spawn(const std::vector<std::string>& arguments, int standard_output, int standard_error = -1) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const pid_t pid = fork();
  GODWIT_CHECK(pid >= 0, "a process can be made");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(nothing, STDIN_FILENO);
    if (standard_output >= 0) dup2(standard_output, STDOUT_FILENO);
    if (standard_error >= 0) dup2(standard_error, STDERR_FILENO);
    execv(pointers[0], pointers.data());
    _exit(127);
  }
  close(nothing);
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
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
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

Background::Background(const std::vector<std::string>& arguments, const std::string& log) {
  const int file = log.empty() ? -1 : open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  GODWIT_REQUIRE(log.empty() || file >= 0, log + " can be written");
  pid_ = spawn(arguments, file, file);
  if (file >= 0) close(file);
}

Background::~Background() { kill_now(); }

bool Background::running() {
  int status = 0;
  if (pid_ > 0 && waitpid(pid_, &status, WNOHANG) == pid_) {
    exit_code_ = exit_code(status);
    pid_ = -1;
  }
  return pid_ > 0;
}

void Background::kill_now() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  exit_code_ = exit_code(status);
  pid_ = -1;
}

int Background::wait(std::chrono::seconds limit) {
  if (!eventually(limit, [this] { return !running(); })) kill_now();
  return exit_code_;
}

int Background::terminate(std::chrono::seconds limit) {
  if (pid_ > 0) kill(pid_, SIGTERM);
  return wait(limit);
}

bool eventually(std::chrono::milliseconds limit, const std::function<bool()>& condition,
                std::chrono::milliseconds interval) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(interval);
  }
  return true;
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
