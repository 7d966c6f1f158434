// safetensors files: what is read is written, and read again, with the same bits.
#include "shared/tensor/safetensors.h"

#include <algorithm>

#include "tests/fuzz/targets.h"

namespace godwit::fuzz {
namespace {

using safetensors::File;
using safetensors::Tensor;

bool same(const Tensor& one, const Tensor& two) {
  return one.name == two.name && one.shape == two.shape &&
         std::ranges::equal(std::as_bytes(std::span(one.values)),
                            std::as_bytes(std::span(two.values)));
}

}  // namespace

bool safetensors_file(ByteView input) {
  const Result<File> file = safetensors::decode(input);
  if (!file) return false;
  std::vector<safetensors::TensorView> views;
  std::size_t bytes = 0;
  for (const Tensor& tensor : file->tensors) {
    views.push_back({tensor.name, tensor.shape, tensor.values});
    bytes += tensor.values.size() * sizeof(float);
  }
  GODWIT_CHECK(bytes <= 2 * input.size(), "no more values than the file has");
  const Result<File> again = safetensors::decode(safetensors::encode(views, file->metadata));
  GODWIT_CHECK(again.has_value(), "what we write, we read");
  GODWIT_CHECK(again->tensors.size() == file->tensors.size(), "as many tensors");
  for (const Tensor& tensor : file->tensors) {
    const Tensor* const found = again->find(tensor.name);
    GODWIT_CHECK(found != nullptr && same(*found, tensor), "a tensor comes back");
  }
  safetensors::Metadata metadata = file->metadata;
  metadata.emplace("format", "pt");
  GODWIT_CHECK(again->metadata == metadata, "the metadata comes back");
  return true;
}

}  // namespace godwit::fuzz
