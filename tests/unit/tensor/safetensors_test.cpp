#include "shared/tensor/safetensors.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

namespace godwit::safetensors {
namespace {

Bytes file_of(std::string_view header, std::size_t data_bytes) {
  Bytes bytes(8 + header.size() + data_bytes);
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, sizeof(length));
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  return bytes;
}

Errc refusal(std::string_view header, std::size_t data_bytes) {
  const Result<File> file = decode(file_of(header, data_bytes));
  EXPECT_FALSE(file.has_value()) << header;
  return file ? Errc::kInternal : file.error().code;
}

float decoded(const char* dtype, std::uint16_t bits) {
  Bytes bytes = file_of(
      std::string(R"({"x":{"dtype":")") + dtype + R"(","shape":[],"data_offsets":[0,2]}})", 2);
  std::memcpy(bytes.data() + bytes.size() - 2, &bits, 2);
  return decode(bytes)->tensors.at(0).values.at(0);
}

TEST(Safetensors, WritesTheHeaderThatOtherReadersExpect) {
  const std::vector<float> first{1, 2};
  const std::vector<float> second{3};
  const std::vector<TensorView> tensors{{"b", {1}, second}, {"a", {2, 1}, first}};
  const Bytes bytes = encode(tensors);
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})";
  EXPECT_EQ(text(bytes).substr(8, header.size()), header);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0U);
  EXPECT_EQ(bytes.size(), 8 + length + 12);
  EXPECT_EQ(text(bytes).substr(8 + length, 4), std::string_view("\0\0\x80\x3f", 4));
}

RC_GTEST_PROP(Safetensors, ReturnsWhatWasWritten, ()) {
  const auto rows = *rc::gen::container<std::vector<std::vector<float>>>(
      rc::gen::arbitrary<std::vector<float>>());
  std::vector<TensorView> tensors;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    tensors.push_back(
        {"t" + std::to_string(i), {static_cast<std::int64_t>(rows[i].size()), 1}, rows[i]});
  }
  const Result<File> file = decode(encode(tensors, {{"version", "7"}}));
  RC_ASSERT(file.has_value());
  RC_ASSERT(file->tensors.size() == tensors.size());
  RC_ASSERT(file->metadata.at("version") == "7");
  for (const TensorView& tensor : tensors) {
    const Tensor* read = file->find(tensor.name);
    RC_ASSERT(read != nullptr);
    RC_ASSERT(read->shape == tensor.shape);
    RC_ASSERT(text(std::as_bytes(std::span(read->values))) == text(std::as_bytes(tensor.values)));
  }
}

RC_GTEST_PROP(Safetensors, SurvivesAnyDamage,
              (std::uint32_t where, std::uint8_t by, std::uint8_t cut)) {
  const std::vector<float> values{1, 2, 3, 4};
  const std::vector<TensorView> tensors{{"a", {2, 1}, std::span(values).first(2)},
                                        {"b", {2}, std::span(values).last(2)}};
  Bytes bytes = encode(tensors);
  bytes[where % bytes.size()] ^= std::byte{by};
  const Result<File> file =
      decode(ByteView(bytes).first(bytes.size() - cut % bytes.size()));  // must not crash
  if (!file) RC_ASSERT(!file.error().context.empty());
}

TEST(Safetensors, ReadsHalfPrecision) {
  EXPECT_EQ(decoded("BF16", 0x3FC0), 1.5F);
  EXPECT_EQ(decoded("F16", 0x3E00), 1.5F);
  EXPECT_EQ(decoded("F16", 0xC000), -2.0F);
  EXPECT_EQ(decoded("F16", 0x0001), std::ldexp(1.0F, -24));
  EXPECT_EQ(decoded("F16", 0x83FF), -1023 * std::ldexp(1.0F, -24));
  EXPECT_EQ(decoded("F16", 0x7C00), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(decoded("F16", 0x7E00)));
  EXPECT_TRUE(std::signbit(decoded("F16", 0x8000)));
}

TEST(Safetensors, RefusesHostileHeaders) {
  const auto one = [](std::string_view fields) { return R"({"x":{)" + std::string(fields) + "}}"; };
  EXPECT_EQ(refusal("", 0), Errc::kMalformed);
  EXPECT_EQ(refusal("[]", 0), Errc::kMalformed);
  EXPECT_EQ(refusal("{", 0), Errc::kMalformed);
  EXPECT_EQ(refusal(R"({"x":3})", 0), Errc::kMalformed);
  EXPECT_EQ(refusal(R"({"__metadata__":{"a":1}})", 0), Errc::kMalformed);
  EXPECT_EQ(refusal(one(R"("shape":[1],"data_offsets":[0,4])"), 4), Errc::kMalformed);
  EXPECT_EQ(refusal(one(R"("dtype":"I64","shape":[1],"data_offsets":[0,8])"), 8),
            Errc::kUnsupported);
  EXPECT_EQ(refusal(one(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), 4),
            Errc::kMalformed);
  EXPECT_EQ(refusal(one(R"("dtype":"F32","shape":[1.0],"data_offsets":[0,4])"), 4),
            Errc::kMalformed);
  EXPECT_EQ(refusal(one(R"("dtype":"F32","shape":[1],"data_offsets":[0])"), 4), Errc::kMalformed);
  EXPECT_EQ(refusal(one(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), 4), Errc::kInvalid);
  EXPECT_EQ(refusal(one(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"), 4), Errc::kInvalid);
  EXPECT_EQ(refusal(one(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"), 8), Errc::kInvalid);
  // 2^62 x 4 elements, 2^62 x 4 bytes: both are 0 modulo 2^64
  EXPECT_EQ(
      refusal(one(R"("dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0])"), 0),
      Errc::kInvalid);
  EXPECT_EQ(refusal(one(R"("dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0])"), 0),
            Errc::kInvalid);
}

TEST(Safetensors, RefusesHolesOverlapsAndDuplicates) {
  const auto two = [](std::string_view second, std::string_view begin_end) {
    return R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},")" + std::string(second) +
           R"(":{"dtype":"F32","shape":[1],"data_offsets":)" + std::string(begin_end) + "}}";
  };
  EXPECT_TRUE(decode(file_of(two("b", "[4,8]"), 8)).has_value());
  EXPECT_EQ(refusal(two("b", "[8,12]"), 12), Errc::kInvalid);
  EXPECT_EQ(refusal(two("b", "[0,4]"), 4), Errc::kInvalid);
  EXPECT_EQ(refusal(two("a", "[4,8]"), 8), Errc::kInvalid);
}

TEST(Safetensors, RefusesLengthsBeyondTheFile) {
  Bytes bytes = file_of("{}", 0);
  EXPECT_TRUE(decode(bytes).has_value());
  for (const std::uint64_t length :
       {std::uint64_t{3}, std::uint64_t{100'000'001}, ~std::uint64_t{0}}) {
    std::memcpy(bytes.data(), &length, 8);
    EXPECT_EQ(decode(bytes).error().code, Errc::kMalformed);
  }
  EXPECT_EQ(decode(ByteView(bytes).first(7)).error().code, Errc::kMalformed);
}

TEST(Safetensors, FilesAppearWholeAndErrorsNameThePath) {
  const std::string path = testing::TempDir() + "safetensors_test.safetensors";
  const std::vector<float> values{1, 2};
  const std::vector<TensorView> tensors{{"a", {2}, values}};
  ASSERT_TRUE(write_file(path, tensors).has_value());
  EXPECT_EQ(read_file(path)->find("a")->values, values);
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
  std::filesystem::remove(path);
  EXPECT_EQ(read_file(path).error().code, Errc::kNotFound);
  const Result<void> nowhere = write_file("/nowhere/x.safetensors", tensors);
  ASSERT_FALSE(nowhere.has_value());
  EXPECT_EQ(nowhere.error().code, Errc::kIo);
  EXPECT_NE(nowhere.error().context.find("/nowhere/x.safetensors"), std::string::npos);
}

}  // namespace
}  // namespace godwit::safetensors
