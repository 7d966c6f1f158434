// Good inputs for each target: what fuzzing starts from. Made of today's formats, so they never lag
// behind them; fuzz_corpus writes them to files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shared/base/bytes.h"

namespace godwit::fuzz {

struct Seed {
  std::string name;
  Bytes bytes;
};

// At least one for every target.
std::vector<Seed> seeds_of(std::string_view target);

// Parts of it, by what they are about.
std::vector<Seed> message_seeds();
std::vector<Seed> transfer_seeds();
std::vector<Seed> control_message_seeds();
std::vector<Seed> opening_seeds();
std::vector<Seed> header_seeds();
std::vector<Seed> record_seeds();
std::vector<Seed> recovery_seeds();

}  // namespace godwit::fuzz
