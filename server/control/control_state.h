// ControlState: the control store as a pure state machine. It does no I/O and reads no clock: a
// request and a time go in, a reply and what must be durable before it come out. The rules of the
// data: shared/protocol/control_messages.h.
//
// One thread at a time. Times must not run backwards: an earlier one counts as the latest seen.
#pragma once

#include <map>
#include <string>

#include "shared/protocol/control_messages.h"
#include "server/core/store.h"

namespace godwit {

// `batch` (synced; empty if nothing changed) must be durable before `reply` or any later reply is
// sent. If its write fails, the state is ahead of the disk and must be thrown away.
struct ControlStep {
  ControlReply reply;
  Batch batch;
};

class ControlState {
 public:
  // Reads family kControl. Every lease that was held gets its full ttl from `now`, as nobody knows
  // how long the store was down. Errors: kCorrupt (a record that does not parse, or one that is
  // missing), those of the reader.
  static Result<ControlState> load(const StoreReader& reader, TimePoint now);

  // Never waits: kWatch is answered as kList, its `wait` is the shell's affair.
  ControlStep handle(const ControlRequest& request, TimePoint now);

  // Leases that have run out by `now` become vacant, each with a revision of its own. handle() does
  // it first.
  Batch expire_leases(TimePoint now);

  bool has_change(const std::string& prefix, Revision since) const;
  Revision revision() const { return revision_; }

 private:
  struct Item {
    Bytes value;
    Revision revision;
    Duration ttl{};  // zero: a plain key, otherwise a lease, held if there is a value
  };
  using Items = std::map<std::string, Item>;

  ControlReply get(const ControlRequest& request) const;
  ControlReply list(const ControlRequest& request) const;
  ControlReply compare_and_swap(const ControlRequest& request, Batch& batch);
  ControlReply keep_alive(const ControlRequest& request, TimePoint now, Batch& batch);
  ControlReply reply_with(const Items::value_type* item) const;
  ControlReply refuse(Errc code, std::string why, const Items::value_type* item) const;
  const Items::value_type* find(const std::string& key) const;
  // Gives `key` the next revision and adds its record to the batch.
  const Items::value_type& change(const std::string& key, Item item, Batch& batch);
  // Completes a batch of changes: what load() checks that nothing is missing by, and sync.
  void seal(Batch& batch) const;
  Result<void> load_item(std::string key, ByteView record, TimePoint now);
  Result<void> check_complete(ByteView head) const;

  Items items_;
  std::map<Revision, std::string> keys_by_revision_;
  std::map<std::string, TimePoint> expiries_;  // of held leases
  Revision revision_;
  TimePoint latest_;
};

}  // namespace godwit
