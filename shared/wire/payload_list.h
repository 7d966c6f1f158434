// The payloads of a message, taken in order; and the records that travel as payloads.
#pragma once

#include <string_view>
#include <vector>

#include "shared/base/bytes.h"
#include "shared/base/result.h"
#include "shared/protocol/messages.h"

namespace godwit::wire {

// Counts what is taken beyond the end; finish() reports it once.
class PayloadList {
 public:
  explicit PayloadList(std::vector<SharedBytes> payloads);
  // Never null: empty when none is left.
  SharedBytes take();
  std::vector<SharedBytes> take(std::size_t count);
  std::vector<SharedBytes> take_rest() { return take(remaining()); }
  std::size_t remaining() const { return payloads_.size() - next_; }
  // Every payload was taken, and no more.
  Result<void> finish() const;

 private:
  std::vector<SharedBytes> payloads_;
  std::size_t next_ = 0;
  bool missing_ = false;
};

// The encoded header, then the blocks that it lists, each of the size that it states.
void put_entry(std::vector<SharedBytes>& out, const Entry& entry);
Result<Entry> take_entry(PayloadList& payloads);

// The encoded header, the two tables, then the blocks.
void put_snapshot(std::vector<SharedBytes>& out, const Snapshot& snapshot);
Result<Snapshot> take_snapshot(PayloadList& payloads);

}  // namespace godwit::wire
