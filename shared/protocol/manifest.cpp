#include "shared/protocol/manifest.h"

#include <algorithm>
#include <unordered_set>

#include "shared/base/checksum.h"
#include "shared/protocol/field_reader.h"

namespace godwit {
namespace {

constexpr std::uint8_t kManifestFormat = 1;
constexpr std::size_t kMinTensorBytes = 6;  // empty name, no dimension

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string out = "[";
  for (const std::int64_t dimension : shape) {
    if (out.size() > 1) out += ",";
    out += std::to_string(dimension);
  }
  return out + "]";
}

Error invalid(std::string why) { return Error{Errc::kInvalid, "manifest: " + std::move(why)}; }

std::uint64_t blocks_of(std::uint64_t parameters, std::uint32_t block_parameters) {
  return (parameters + block_parameters - 1) / block_parameters;
}

Result<void> validate_name(const std::string& name) {
  if (name.empty() || name.size() > kMaxTensorNameBytes) {
    return invalid("a tensor's name has 1 to " + std::to_string(kMaxTensorNameBytes) + " bytes");
  }
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (std::any_of(name.begin(), name.end(), is_control))
    return invalid("a tensor's name holds a control character");
  return {};
}

// The number of parameters of a tensor.
Result<std::uint64_t> checked_count(const ManifestTensor& tensor) {
  if (tensor.shape.size() > kMaxRank) {
    return invalid("tensor '" + tensor.name + "' has more than " + std::to_string(kMaxRank) +
                   " dimensions");
  }
  std::uint64_t count = 1;
  for (const std::int64_t dimension : tensor.shape) {
    if (dimension <= 0) {
      return invalid("tensor '" + tensor.name + "' has shape " + shape_text(tensor.shape) +
                     ": every dimension must be above 0");
    }
    if (static_cast<std::uint64_t>(dimension) > kMaxParameters / count) {
      return invalid("tensor '" + tensor.name + "' of shape " + shape_text(tensor.shape) +
                     " has more than 2^40 parameters");
    }
    count *= static_cast<std::uint64_t>(dimension);
  }
  return count;
}

std::string difference(const ManifestTensor& here, const ManifestTensor& run, std::size_t index) {
  if (here.name != run.name) {
    return "tensor " + std::to_string(index) + " is '" + here.name + "' here and '" + run.name +
           "' in the run";
  }
  if (here.shape != run.shape) {
    return "tensor '" + here.name + "' has shape " + shape_text(here.shape) + " here and " +
           shape_text(run.shape) + " in the run";
  }
  if (here.exact != run.exact) {
    return "tensor '" + here.name + "' is " +
           (here.exact ? "exact here and lossy" : "lossy here and exact") + " in the run";
  }
  return "";
}

void append_blocks(std::vector<Block>& blocks, std::uint64_t offset, std::uint64_t count,
                   std::uint32_t size, bool exact) {
  for (std::uint64_t at = 0; at < count; at += size) {
    blocks.push_back({offset + at,
                      static_cast<std::uint32_t>(std::min<std::uint64_t>(size, count - at)),
                      exact});
  }
}

// Cuts at the block boundary nearest to the ideal one, but leaves every shard at least one block.
std::vector<ShardLayout> cut_shards(const std::vector<Block>& blocks, std::uint64_t parameters,
                                    std::uint32_t shards) {
  std::vector<ShardLayout> out;
  out.reserve(shards);
  std::size_t next = 0;
  for (std::uint32_t s = 0; s < shards; ++s) {
    const std::uint64_t ideal_end = parameters * (s + 1) / shards;
    const std::size_t last_end = blocks.size() - (shards - 1 - s);
    ShardLayout shard;
    shard.offset = blocks[next].offset;
    do {
      shard.parameters += blocks[next].count;
      shard.blocks.push_back(blocks[next++]);
    } while (next < last_end && blocks[next].offset + blocks[next].count / 2 < ideal_end);
    out.push_back(std::move(shard));
  }
  return out;
}

}  // namespace

std::uint64_t ManifestTensor::count() const {
  std::uint64_t count = 1;
  for (const std::int64_t dimension : shape) count *= static_cast<std::uint64_t>(dimension);
  return count;
}

Bytes Manifest::encode() const {
  ByteWriter out;
  out.put(kManifestFormat);
  out.put(block_parameters);
  out.put(shards);
  out.put(static_cast<std::uint32_t>(tensors.size()));
  for (const ManifestTensor& tensor : tensors) {
    out.put_string(tensor.name);
    out.put(static_cast<std::uint8_t>(tensor.exact ? 1 : 0));
    out.put(static_cast<std::uint8_t>(tensor.shape.size()));
    for (const std::int64_t dimension : tensor.shape)
      out.put(static_cast<std::uint64_t>(dimension));
  }
  return out.take();
}

Result<Manifest> Manifest::decode(ByteView bytes) {
  FieldReader in("manifest", kManifestFormat, bytes);
  Manifest manifest;
  in.get(manifest.block_parameters);
  in.get(manifest.shards);
  const std::uint32_t tensors = in.get_count(kMinTensorBytes);
  if (tensors > kMaxTensors) in.reject(Errc::kInvalid, "more than 2^20 tensors");
  for (std::uint32_t i = 0; i < tensors && in.ok(); ++i) {
    ManifestTensor& tensor = manifest.tensors.emplace_back();
    tensor.name = in.get_string();
    in.get_flag("exact", tensor.exact);
    const auto rank = in.in().get<std::uint8_t>();
    for (std::uint8_t d = 0; d < rank && in.ok(); ++d) {
      tensor.shape.push_back(static_cast<std::int64_t>(in.in().get<std::uint64_t>()));
    }
  }
  if (const auto read = in.finish(); !read) return read.error();
  if (const auto valid = manifest.validate(); !valid) return valid.error();
  return manifest;
}

Result<void> Manifest::validate() const {
  if (block_parameters == 0 || block_parameters > kMaxBlockParameters) {
    return invalid("a block has 1 to " + std::to_string(kMaxBlockParameters) + " parameters, not " +
                   std::to_string(block_parameters));
  }
  if (shards == 0 || shards > kMaxShards) {
    return invalid("a run has 1 to " + std::to_string(kMaxShards) + " shards, not " +
                   std::to_string(shards));
  }
  if (tensors.empty()) return invalid("no tensor: the model is empty");
  if (tensors.size() > kMaxTensors) return invalid("more than 2^20 tensors");
  std::unordered_set<std::string_view> names;
  std::uint64_t lossy = 0;
  std::uint64_t exact = 0;
  for (const ManifestTensor& tensor : tensors) {
    if (const auto name = validate_name(tensor.name); !name) return name.error();
    if (!names.insert(tensor.name).second)
      return invalid("two tensors are called '" + tensor.name + "'");
    const auto count = checked_count(tensor);
    if (!count) return count.error();
    (tensor.exact ? exact : lossy) += *count;
    if (lossy + exact > kMaxParameters) return invalid("the model has more than 2^40 parameters");
  }
  const std::uint64_t blocks =
      blocks_of(lossy, block_parameters) + blocks_of(exact, block_parameters);
  if (blocks > kMaxBlocks) {
    return invalid(std::to_string(blocks) + " blocks, above 2^22: choose larger blocks");
  }
  if (shards > blocks) {
    return invalid(std::to_string(shards) + " shards but only " + std::to_string(blocks) +
                   " blocks: choose fewer shards or smaller blocks");
  }
  return {};
}

Hash Manifest::hash() const { return checksum(encode()); }

std::string Manifest::first_difference(const Manifest& other) const {
  const std::size_t both = std::min(tensors.size(), other.tensors.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (std::string found = difference(tensors[i], other.tensors[i], i); !found.empty())
      return found;
  }
  if (tensors.size() != other.tensors.size()) {
    const bool more_here = tensors.size() > both;
    return std::to_string(tensors.size()) + " tensors here and " +
           std::to_string(other.tensors.size()) + " in the run: '" +
           (more_here ? *this : other).tensors[both].name + "' is only " +
           (more_here ? "here" : "there");
  }
  if (block_parameters != other.block_parameters) {
    return "blocks have " + std::to_string(block_parameters) + " parameters here and " +
           std::to_string(other.block_parameters) + " in the run";
  }
  if (shards != other.shards) {
    return std::to_string(shards) + " shards here and " + std::to_string(other.shards) +
           " in the run";
  }
  return "";
}

Layout::Layout(const Manifest& manifest) {
  GODWIT_REQUIRE(manifest.validate().has_value(), "a layout is of a valid manifest");
  std::vector<Block> blocks;
  tensors.resize(manifest.tensors.size());
  for (const bool exact : {false, true}) {
    const std::uint64_t class_offset = parameters;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (manifest.tensors[i].exact != exact) continue;
      tensors[i] = {parameters, manifest.tensors[i].count()};
      parameters += tensors[i].count;
    }
    append_blocks(blocks, class_offset, parameters - class_offset, manifest.block_parameters,
                  exact);
  }
  shards = cut_shards(blocks, parameters, manifest.shards);
}

}  // namespace godwit
