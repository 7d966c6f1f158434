#include "server/app/model_file.h"

#include <algorithm>

namespace godwit::app {

void ModelFile::add(const ShardState& shard) {
  std::copy(shard.values().begin(), shard.values().end(),
            values_.begin() + static_cast<std::ptrdiff_t>(shard.layout().offset));
  metadata_["version." + to_string(shard.shard())] = to_string(shard.version());
}

Bytes ModelFile::encode() const {
  safetensors::Metadata metadata = metadata_;
  std::vector<safetensors::TensorView> tensors;
  std::string exact;
  for (std::size_t i = 0; i < manifest_.tensors.size(); ++i) {
    const ManifestTensor& tensor = manifest_.tensors[i];
    const TensorPlace& place = layout_.tensors[i];
    tensors.push_back({tensor.name, tensor.shape,
                       std::span<const float>(values_).subspan(place.offset, place.count)});
    if (tensor.exact) exact += (exact.empty() ? "" : "\n") + tensor.name;
  }
  if (!exact.empty()) metadata["exact"] = exact;
  return safetensors::encode(tensors, std::move(metadata));
}

}  // namespace godwit::app
