// "Did you mean ...?": the known name that a misspelled one is closest to. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace godwit {

// Empty when nothing is close (more than a third of the letters differ, swaps counting as one).
std::string nearest_name(std::string_view written, std::span<const std::string> known);

}  // namespace godwit
