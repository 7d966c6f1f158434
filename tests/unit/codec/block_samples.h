// Blocks that every codec has to survive, and what the codecs promise about them.
#pragma once

#include <string>
#include <vector>

#include "shared/base/random.h"
#include "shared/codec/codec.h"

namespace godwit {

struct BlockSample {
  std::string name;
  std::vector<float> values;  // finite
};

// Lengths around the group of int8, edge values, and the shapes of real updates.
const std::vector<BlockSample>& block_samples();

// Any finite fp32, uniform over bit patterns.
float finite_float(Random& random);

// Every codec of the table, with and without zstd.
std::vector<CodecSpec> all_specs();

// The decoded values; a failure is a test failure and gives an empty block.
std::vector<float> decode_or_fail(CodecSpec spec, ByteView bytes, std::size_t count);

}  // namespace godwit
