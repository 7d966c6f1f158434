// AdminClient: asks one server's admin port. Blocking, one connection per request, every step with
// a deadline.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "server/cli/console.h"
#include "shared/base/time.h"
#include "shared/net/cluster_config.h"

namespace godwit::cli {

struct Answer {
  int status = 0;
  std::string body;
  // Its clock, from the Date header; in seconds.
  std::optional<std::chrono::system_clock::time_point> date = std::nullopt;
};

class AdminClient {
 public:
  // `token`: of admin.token; may be empty, then only what is open to everybody works.
  AdminClient(HostPort address, std::string token)
      : address_(std::move(address)), token_(std::move(token)) {}

  // Any status is an answer. Errors: kUnavailable (connection refused, ...), kTimedOut, kMalformed
  // (not HTTP).
  Result<Answer> get(const std::string& target, Duration deadline) const;
  Result<Answer> post(const std::string& target, const std::string& json, Duration deadline) const;
  Result<Answer> remove(const std::string& target, Duration deadline) const;  // DELETE
  // The body of a 200 into `file`, which appears whole or not at all; another status is in the
  // answer. `deadline` is for the header and for every piece of the body. Errors also: kIo.
  Result<Answer> download(const std::string& target, const std::filesystem::path& file,
                          Duration deadline) const;

 private:
  HostPort address_;
  std::string token_;
};

// What an answer that is not 2xx says: its problem, or what its status means.
Failure failure_of(const Answer& answer);

// The token beside `config`; empty when there is no such file.
std::string read_admin_token(const ClusterConfig& config);

}  // namespace godwit::cli
