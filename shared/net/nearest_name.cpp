#include "shared/net/nearest_name.h"

#include <algorithm>
#include <vector>

namespace godwit {
namespace {

// Edits (insert, delete, replace, swap of neighbours) from one word to the other.
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before_last(to.size() + 1);
  std::vector<std::size_t> last(to.size() + 1);
  std::vector<std::size_t> row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replace = last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[to.size()];
}

}  // namespace

std::string nearest_name(std::string_view written, std::span<const std::string> known) {
  constexpr std::size_t kLongest = 64;  // nobody misspells more; bounds the work
  if (written.size() > kLongest) return "";
  std::string best;
  std::size_t best_distance = 0;
  for (const std::string& name : known) {
    const std::size_t edits = distance(written, name);
    const std::size_t bound = std::max<std::size_t>(1, std::max(written.size(), name.size()) / 3);
    if (edits <= bound && (best.empty() || edits < best_distance)) {
      best = name;
      best_distance = edits;
    }
  }
  return best;
}

}  // namespace godwit
