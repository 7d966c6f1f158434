#include "shared/tensor/safetensors.h"

#include <algorithm>
#include <bit>
#include <boost/json.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>

#include "shared/base/check.h"

namespace godwit::safetensors {
namespace {

namespace json = boost::json;
static_assert(std::endian::native == std::endian::little, "values are copied as they are");

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // of the format
constexpr std::size_t kMaxDimensions = 16;
constexpr const char* kMetadataKey = "__metadata__";

enum class Dtype { kF32, kBF16, kF16 };
std::uint64_t bytes_of(Dtype dtype) { return dtype == Dtype::kF32 ? 4 : 2; }

// One tensor of the header, checked; [begin, end) are bytes of the data section.
struct Entry {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape;
  std::uint64_t count = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

Error bad(Errc code, std::string_view name, std::string_view why) {
  return Error{
      code, "safetensors: tensor '" + std::string(name.substr(0, 200)) + "': " + std::string(why)};
}

Error bad_header(std::string_view why) {
  return Error{Errc::kMalformed, "safetensors: " + std::string(why)};
}

std::optional<std::uint64_t> natural(const json::value& value) {
  if (const auto* number = value.if_uint64()) return *number;
  if (const auto* number = value.if_int64(); number != nullptr && *number >= 0) {
    return static_cast<std::uint64_t>(*number);
  }
  return std::nullopt;
}

Result<Dtype> parse_dtype(std::string_view name, const json::object& fields) {
  const json::value* field = fields.if_contains("dtype");
  if (field == nullptr || !field->is_string()) return bad(Errc::kMalformed, name, "no dtype");
  const json::string& dtype = field->get_string();
  if (dtype == "F32") return Dtype::kF32;
  if (dtype == "BF16") return Dtype::kBF16;
  if (dtype == "F16") return Dtype::kF16;
  return bad(Errc::kUnsupported, name, "dtype is not F32, BF16 or F16");
}

Result<void> parse_shape(const json::object& fields, Entry& entry) {
  const json::value* field = fields.if_contains("shape");
  if (field == nullptr || !field->is_array()) return bad(Errc::kMalformed, entry.name, "no shape");
  if (field->get_array().size() > kMaxDimensions)
    return bad(Errc::kInvalid, entry.name, "too many dimensions");
  entry.count = 1;
  for (const json::value& extent : field->get_array()) {
    const std::optional<std::uint64_t> value = natural(extent);
    if (!value || *value > std::numeric_limits<std::int64_t>::max()) {
      return bad(Errc::kMalformed, entry.name, "shape is not made of natural numbers");
    }
    if (__builtin_mul_overflow(entry.count, *value, &entry.count)) {
      return bad(Errc::kInvalid, entry.name, "shape overflows");
    }
    entry.shape.push_back(static_cast<std::int64_t>(*value));
  }
  return {};
}

Result<void> parse_offsets(const json::object& fields, Entry& entry) {
  const json::value* field = fields.if_contains("data_offsets");
  if (field == nullptr || !field->is_array() || field->get_array().size() != 2) {
    return bad(Errc::kMalformed, entry.name, "data_offsets is not [begin, end]");
  }
  const std::optional<std::uint64_t> begin = natural(field->get_array()[0]);
  const std::optional<std::uint64_t> end = natural(field->get_array()[1]);
  if (!begin || !end)
    return bad(Errc::kMalformed, entry.name, "data_offsets are not natural numbers");
  std::uint64_t bytes = 0;
  const bool overflows = __builtin_mul_overflow(entry.count, bytes_of(entry.dtype), &bytes);
  if (overflows || *begin > *end || *end - *begin != bytes) {
    return bad(Errc::kInvalid, entry.name, "data_offsets do not fit shape and dtype");
  }
  entry.begin = *begin;
  entry.end = *end;
  return {};
}

Result<Entry> parse_entry(std::string_view name, const json::value& value) {
  if (!value.is_object()) return bad(Errc::kMalformed, name, "not an object");
  const json::object& fields = value.get_object();
  Entry entry;
  entry.name = name;
  Result<Dtype> dtype = parse_dtype(name, fields);
  if (!dtype) return dtype.error();
  entry.dtype = *dtype;
  if (Result<void> shape = parse_shape(fields, entry); !shape) return shape.error();
  if (Result<void> offsets = parse_offsets(fields, entry); !offsets) return offsets.error();
  return entry;
}

Result<Metadata> parse_metadata(const json::value& value) {
  if (!value.is_object()) return bad_header("__metadata__ is not an object");
  Metadata metadata;
  for (const auto& [key, text] : value.get_object()) {
    if (!text.is_string()) return bad_header("__metadata__ holds something that is not a string");
    metadata.emplace(key, text.get_string());
  }
  return metadata;
}

// Ranges must follow one another from 0 to the end of the data: no hole, no overlap.
Result<void> check_tiling(std::vector<Entry>& entries, std::uint64_t data_bytes) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t next = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != next)
      return bad(Errc::kInvalid, entry.name, "a hole or an overlap before its data");
    next = entry.end;
  }
  if (next != data_bytes) {
    return Error{Errc::kInvalid, "safetensors: the header describes " + std::to_string(next) +
                                     " bytes of data, the file holds " +
                                     std::to_string(data_bytes)};
  }
  return {};
}

float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1FU;
  const std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) {  // zero and denormals: fraction x 2^-24
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  const std::uint32_t wide = exponent == 31 ? 0xFFU : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

std::vector<float> to_floats(ByteView raw, Dtype dtype) {
  std::vector<float> values(raw.size() / bytes_of(dtype));
  if (dtype == Dtype::kF32) {
    if (!raw.empty()) std::memcpy(values.data(), raw.data(), raw.size());
    return values;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, raw.data() + 2 * i, sizeof(bits));
    values[i] = dtype == Dtype::kBF16 ? from_bf16(bits) : from_f16(bits);
  }
  return values;
}

json::object header_of(std::span<const TensorView* const> tensors, const Metadata& metadata) {
  json::object header;
  json::object& notes = header[kMetadataKey].emplace_object();
  for (const auto& [key, value] : metadata) notes[key] = value;
  std::uint64_t begin = 0;
  for (const TensorView* tensor : tensors) {
    const std::uint64_t end = begin + tensor->values.size_bytes();
    json::array shape;
    std::uint64_t count = 1;
    for (const std::int64_t extent : tensor->shape) {
      shape.emplace_back(extent);
      count *= static_cast<std::uint64_t>(extent);
    }
    GODWIT_REQUIRE(count == tensor->values.size(), tensor->name);
    GODWIT_REQUIRE(!header.contains(tensor->name), tensor->name);
    header[tensor->name] = {
        {"dtype", "F32"}, {"shape", std::move(shape)}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  return header;
}

}  // namespace

const Tensor* File::find(std::string_view name) const {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const Tensor& t) { return t.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

Bytes encode(std::span<const TensorView> tensors, Metadata metadata) {
  std::vector<const TensorView*> sorted;
  for (const TensorView& tensor : tensors) sorted.push_back(&tensor);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* a, const auto* b) { return a->name < b->name; });
  metadata.emplace("format", "pt");
  std::string header = json::serialize(header_of(sorted, metadata));
  header.append((kLengthBytes - header.size() % kLengthBytes) % kLengthBytes, ' ');

  const std::uint64_t length = header.size();
  Bytes out;
  const auto append = [&out](ByteView part) { out.insert(out.end(), part.begin(), part.end()); };
  append(std::as_bytes(std::span(&length, 1)));
  append(view(header));
  for (const TensorView* tensor : sorted) append(std::as_bytes(tensor->values));
  return out;
}

Result<File> decode(ByteView bytes) {
  std::uint64_t header_bytes = 0;
  if (bytes.size() < kLengthBytes) return bad_header("shorter than its header's length");
  std::memcpy(&header_bytes, bytes.data(), kLengthBytes);
  if (header_bytes > kMaxHeaderBytes || header_bytes > bytes.size() - kLengthBytes) {
    return bad_header("the header is longer than the file or than the format allows");
  }
  const ByteView header = bytes.subspan(kLengthBytes, header_bytes);
  const ByteView data = bytes.subspan(kLengthBytes + header_bytes);
  if (header.empty() || text(header).front() != '{')
    return bad_header("the header is not a JSON object");
  json::error_code failure;
  const json::value parsed = json::parse(json::string_view(text(header)), failure);
  if (failure || !parsed.is_object())
    return bad_header("the header is not valid JSON: " + failure.message());

  File file;
  std::vector<Entry> entries;
  for (const auto& [name, value] : parsed.get_object()) {
    if (name == kMetadataKey) {
      Result<Metadata> metadata = parse_metadata(value);
      if (!metadata) return metadata.error();
      file.metadata = *std::move(metadata);
      continue;
    }
    Result<Entry> entry = parse_entry(name, value);
    if (!entry) return entry.error();
    entries.push_back(*std::move(entry));
  }
  if (Result<void> tiled = check_tiling(entries, data.size()); !tiled) return tiled.error();
  for (Entry& entry : entries) {
    file.tensors.push_back(
        {std::move(entry.name), std::move(entry.shape),
         to_floats(data.subspan(entry.begin, entry.end - entry.begin), entry.dtype)});
  }
  return file;
}

Result<void> write_file(const std::string& path, std::span<const TensorView> tensors,
                        Metadata metadata) {
  const Bytes bytes = encode(tensors, std::move(metadata));
  const std::string partial = path + ".partial";
  std::ofstream out(partial, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  out.close();
  std::error_code failure;
  if (out) std::filesystem::rename(partial, path, failure);
  if (!out || failure) {
    std::remove(partial.c_str());
    return Error{Errc::kIo,
                 "cannot write " + path + ": is the folder there, writable, and not full?"};
  }
  return {};
}

Result<File> read_file(const std::string& path) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure))
    return Error{Errc::kNotFound, "no file " + path};
  const std::uint64_t size = std::filesystem::file_size(path, failure);
  std::ifstream in(path, std::ios::binary);
  if (failure || !in) return Error{Errc::kIo, "cannot open " + path};
  Bytes bytes(size);
  if (!in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size))) {
    return Error{Errc::kIo, "cannot read " + path};
  }
  Result<File> file = decode(bytes);
  if (!file) return Error{file.error().code, path + ": " + file.error().context};
  return file;
}

}  // namespace godwit::safetensors
