// Reads and writes safetensors files: u64 header length | JSON header | raw little-endian values.
// A file is hostile input: everything is checked before anything is allocated from it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/bytes.h"
#include "shared/base/result.h"

namespace godwit::safetensors {

using Metadata = std::map<std::string, std::string>;

// What to write; the caller owns the values. REQUIRES: values.size() == product of shape.
struct TensorView {
  std::string name;
  std::vector<std::int64_t> shape;
  std::span<const float> values;
};

// What was read: F32, BF16 or F16 in the file, fp32 here.
struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

struct File {
  std::vector<Tensor> tensors;  // in order of their data
  Metadata metadata;

  const Tensor* find(std::string_view name) const;  // nullptr when there is none
};

// F32, tensors sorted by name, data aligned to 8 bytes. Metadata "format": "pt" is always there.
// REQUIRES: distinct names, none of them "__metadata__".
Bytes encode(std::span<const TensorView> tensors, Metadata metadata = {});
// Errors: kMalformed, kInvalid (offsets, shapes), kUnsupported (dtype).
Result<File> decode(ByteView bytes);

// The file appears whole or not at all. Errors: kIo.
Result<void> write_file(const std::string& path, std::span<const TensorView> tensors,
                        Metadata metadata = {});
// Errors: kNotFound, kIo, and those of decode().
Result<File> read_file(const std::string& path);

}  // namespace godwit::safetensors
