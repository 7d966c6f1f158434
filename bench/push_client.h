// PushClient: a worker that does not train. It speaks the real protocol through the client library's link
// (TLS, HELLO, WELCOME, manifest, initial push, join) and then pushes the same fp32 values again and again,
// several pushes on the way at once. One thread.
#pragma once

#include <memory>

#include "bench/local_server.h"
#include "shared/protocol/messages.h"
#include "worker/client/link.h"

namespace godwit::bench {

class PushClient {
 public:
  // Worker 0 of the first region; its model has `parameters` in blocks of the cluster's block size. On
  // return the server has acknowledged the initial push. `cluster` outlives this.
  static Result<std::unique_ptr<PushClient>> connect(const LocalCluster& cluster, std::uint64_t parameters);

  // Payload bytes acknowledged per second, from the first byte sent to the last acknowledgement; pushes are
  // started for `duration`, at most `window` unacknowledged at once. Errors: a push was not taken.
  Result<double> measure(Duration duration, std::uint32_t window);
  // One push, per block.
  const std::vector<SharedBytes>& payloads() const { return payloads_; }
  std::uint64_t push_bytes() const { return push_bytes_; }

 private:
  explicit PushClient(const LocalCluster& cluster);
  // The next message from the server; announcements are dealt with here.
  Result<Message> receive();
  void fill_payloads(const Layout& layout);
  Result<void> introduce(std::uint64_t parameters);
  void push(PushKind kind);
  Result<void> await_acknowledgement();

  SessionOptions options_;
  std::uint32_t block_parameters_;
  client::Link link_;
  PushHeader header_;  // of the last push
  std::vector<SharedBytes> payloads_;
  std::uint64_t push_bytes_ = 0;
};

}  // namespace godwit::bench
