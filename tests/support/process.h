// Processes for tests: run one and take its output, or keep one in the background. Nothing outlives the test:
// background processes are killed when their owner goes, by the kernel where the test itself is killed, and a run
// that takes too long is killed. To be used from the main thread. A program that cannot be started exits with 127.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
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
  // Standard output and errors are appended to `log`; left alone when it is empty.
  explicit Background(const std::vector<std::string>& arguments, const std::string& log = "");
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  bool running();
  void kill_now();  // SIGKILL, and waits for it
  // Waits for its end; SIGKILL when it takes longer. The exit code, 128 + signal when killed.
  int wait(std::chrono::seconds limit);
  int terminate(std::chrono::seconds limit);  // SIGTERM, then as wait()
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int exit_code_ = -1;
};

// Asks every `interval` until `condition` holds; false when it does not by then.
bool eventually(std::chrono::milliseconds limit, const std::function<bool()>& condition,
                std::chrono::milliseconds interval = std::chrono::milliseconds(20));

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
