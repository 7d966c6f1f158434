// "Did you mean": the known word nearest to a misspelled one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace godwit::app {

// Empty when nothing is near (a third of the letters and one more may differ).
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace godwit::app
