// Manifest: the ordered, named tensors of a run, and how they are cut into blocks and shards. Fixed when the
// run is created (the first worker's manifest wins by compare-and-swap); its hash is part of every push.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shared/base/bytes.h"
#include "shared/base/result.h"
#include "shared/base/strong_id.h"

namespace godwit {

inline constexpr std::uint32_t kDefaultBlockParameters = 1U << 18;
inline constexpr std::uint32_t kMaxTensors = 1U << 20;
inline constexpr std::uint64_t kMaxParameters = 1ULL << 40;
inline constexpr std::uint32_t kMaxShards = 4096;
inline constexpr std::uint32_t kMaxBlockParameters = 1U << 24;  // an encoded block stays far below 4 GiB
inline constexpr std::uint32_t kMaxBlocks = 1U << 22;
inline constexpr std::uint32_t kMaxTensorNameBytes = 1024;
inline constexpr std::uint32_t kMaxRank = 16;

struct ManifestTensor {
  std::string name;
  std::vector<std::int64_t> shape;  // row-major; every dimension > 0
  bool exact = false;               // codec class: true keeps it away from lossy codecs
  bool operator==(const ManifestTensor&) const = default;
  std::uint64_t count() const;      // product of shape; REQUIRES: Manifest::validate()
};

struct Manifest {
  std::uint32_t block_parameters = kDefaultBlockParameters;
  std::uint32_t shards = 1;
  std::vector<ManifestTensor> tensors;
  bool operator==(const Manifest&) const = default;

  Bytes encode() const;
  // Includes validate(). Errors: kMalformed, kUnsupported (format), kInvalid.
  static Result<Manifest> decode(ByteView bytes);
  // Rejects empty models, duplicate names, overflowing shapes, more shards than blocks. Errors: kInvalid.
  Result<void> validate() const;
  Hash hash() const;
  // "tensor 'x' has shape [2,3] here and [3,2] in the run": the first difference, or "" when equal.
  std::string first_difference(const Manifest& other) const;
};

// Where a block lies in the flat parameter vector: the lossy class first, then the exact class, each in
// manifest order and each starting a new block.
struct Block {
  std::uint64_t offset = 0;  // first parameter in the flat vector
  std::uint32_t count = 0;   // parameters: block_parameters, less at the end of a class
  bool exact = false;
};

// A tensor's place in the flat vector.
struct TensorPlace {
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
};

// A shard's blocks, numbered from 0 within the shard.
struct ShardLayout {
  std::uint64_t offset = 0;      // of its first block in the flat vector
  std::uint64_t parameters = 0;  // contiguous
  std::vector<Block> blocks;
};

struct Layout {
  std::uint64_t parameters = 0;
  std::vector<TensorPlace> tensors;  // same order as the manifest
  std::vector<ShardLayout> shards;   // contiguous ranges of blocks, balanced by parameters
  explicit Layout(const Manifest& manifest);  // REQUIRES: manifest.validate()
};

}  // namespace godwit
