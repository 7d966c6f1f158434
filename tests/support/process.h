// Processes for tests: run one and take its output, or keep one in the background. Nothing outlives the test:
// background processes are killed when their owner goes, and a run that takes too long is killed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace godwit::support {

struct Output {
  int exit_code = -1;  // 128 + signal when killed
  std::string text;    // stdout, then nothing else: stderr goes through
};

// arguments[0] is the program's path.
Output run(const std::vector<std::string>& arguments, std::chrono::seconds limit = std::chrono::seconds(60));

class Background {
 public:
  explicit Background(const std::vector<std::string>& arguments);
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  bool running();
  void kill_now();  // SIGKILL, and waits for it
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

// A folder that is removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace godwit::support
