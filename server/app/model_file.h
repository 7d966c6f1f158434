// ModelFile: shards put together to one safetensors file, tensor by tensor in manifest order.
#pragma once

#include "server/core/shard_state.h"
#include "shared/tensor/safetensors.h"

namespace godwit::app {

class ModelFile {
 public:
  // Both outlive it.
  ModelFile(const Manifest& manifest, const Layout& layout)
      : manifest_(manifest), layout_(layout), values_(layout.parameters) {}

  void add(const ShardState& shard);
  // Metadata: "version.<shard>", and "exact": the names of the exact tensors, one a line, if there
  // are any.
  Bytes encode() const;

 private:
  const Manifest& manifest_;
  const Layout& layout_;
  std::vector<float> values_;
  safetensors::Metadata metadata_;
};

}  // namespace godwit::app
