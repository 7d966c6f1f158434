// Parameters: the caller's tensors seen as one flat vector in manifest order (lossy class first, then exact),
// without copying them. Ranges are half-open [offset, offset + count).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "shared/base/check.h"

namespace godwit {

class Parameters {
 public:
  // Pieces come in flat order without gaps.
  void add(std::span<float> values) {
    pieces_.push_back({count_, values});
    count_ += values.size();
  }
  std::uint64_t count() const { return count_; }

  // visit(position in the range, values) for every piece of it, in order.
  template <class Visit>
  void for_range(std::uint64_t offset, std::uint64_t count, Visit visit) const {
    GODWIT_REQUIRE(offset + count <= count_, "a range inside the model");
    auto piece = std::upper_bound(pieces_.begin(), pieces_.end(), offset,
                                  [](std::uint64_t at, const Piece& item) { return at < item.offset; });
    for (std::uint64_t position = 0; position < count;) {
      const Piece& current = *(piece - 1);
      const std::uint64_t inside = offset + position - current.offset;
      const std::uint64_t length = std::min(current.values.size() - inside, count - position);
      visit(position, current.values.subspan(inside, length));
      position += length;
      ++piece;
    }
  }

 private:
  struct Piece {
    std::uint64_t offset;
    std::span<float> values;
  };
  std::vector<Piece> pieces_;
  std::uint64_t count_ = 0;
};

}  // namespace godwit
