// Session: a training process's connection to Godwit. This is the public API of the C++ client library.
//
// The caller owns the parameters (fp32, CPU memory) and its optimizer. Between two optimizer steps it calls
// step(): versions that arrived are merged into the parameters in place (rebase: local progress is kept),
// and when the run asks for it, the progress since the anchor is pushed. In async mode step() never waits
// for the network (except at `max_local_steps`); in sync mode it waits until the round is committed.
//
// Threads: all members are called from one thread, the training thread. An I/O thread is inside.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shared/base/result.h"

namespace godwit {

// One tensor of the model. `values` must stay valid, and its address the same, until the session ends.
struct TensorSpec {
  std::string name;                  // as in the checkpoint
  std::vector<std::int64_t> shape;   // values.size() == product of shape
  std::span<float> values;           // row-major
  bool exact = false;                // never through a lossy codec (e.g. a routing bias)
};

struct SessionOptions {
  std::string server;                // "host:port" of this region's server
  std::string region;                // must match the certificate
  std::string name;                  // unique in the region; stays the same over restarts
  std::string certificate_file;      // PEM; its URI SAN is godwit://<cluster>/<region>/worker/<name>
  std::string key_file;              // PEM
  std::string authority_file;        // PEM: the cluster's CA
  std::string acknowledgements_file; // every acknowledgement is appended here; empty: not kept
  std::string history_file;          // what this process does and sees is appended here (JSON lines); empty: not kept
  std::uint64_t tokens_per_step = 0; // tokens of one optimizer step: the weight of this worker
  std::chrono::milliseconds connect_deadline{30'000};  // first connection, and the wait for a model
  std::chrono::milliseconds stall_deadline{600'000};   // step() gives up waiting after this: kTimedOut
};

// What one step() did, and where the run is.
struct StepReport {
  std::uint64_t version = 0;         // of shard 0
  std::uint64_t round = 0;           // highest round seen on any shard
  std::uint64_t run_tokens = 0;      // the run's token clock (shard 0's log): drive schedules from it
  double staleness_rounds = 0;       // of the last named push
  bool synchronous = false;          // the mode of this worker now
  bool merged = false;               // parameters changed under the caller
  bool pushed = false;               // progress was pushed on at least one shard
  bool restored = false;             // a checkpoint was restored: forget the inner optimizer's state
  bool stop = false;                 // an operator stopped the run: leave the loop
  std::chrono::nanoseconds waited{}; // time this call blocked
  std::uint64_t acknowledged = 0;    // pushes acknowledged so far (all shards)
};

class Session {
 public:
  // Connects with back-off until the deadline. Errors: kUnavailable, kUnauthenticated, kForbidden, kConfig.
  static Result<Session> connect(SessionOptions options);
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();  // leaves at once; what is not acknowledged is lost

  // Registers the model. A fresh run takes these values as its initial model; a running one overwrites
  // them with the shared model. Errors: kConflict (names the first tensor that differs), kTimedOut, kInvalid,
  // kTooLarge (the server's machine cannot hold it).
  Result<void> start(std::vector<TensorSpec> tensors);

  // After an optimizer step that consumed `tokens` tokens. Errors: kTimedOut, kClosed, kForbidden; kConflict: another
  // process took this one's name; kInvalid: a parameter is not finite.
  Result<StepReport> step(std::uint64_t tokens);

  // Pushes what is left, waits until everything is acknowledged, leaves politely. With a history, listens on until
  // every push is named or the deadline has come. Errors: kTimedOut (not everything is acknowledged).
  Result<StepReport> finish(std::chrono::milliseconds deadline);

 private:
  class Implementation;
  explicit Session(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace godwit
