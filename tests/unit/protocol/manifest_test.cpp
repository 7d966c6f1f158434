#include "shared/protocol/manifest.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/unit/protocol/generators.h"

namespace godwit {
namespace {

Manifest small_manifest() {
  Manifest manifest;
  manifest.block_parameters = 4;
  manifest.shards = 2;
  manifest.tensors = {{"embed.weight", {2, 3}, false}, {"norm.weight", {3}, true}};
  return manifest;
}

RC_GTEST_PROP(Manifests, ReadBackAsWritten, ()) {
  const Manifest manifest = generate::manifest();
  RC_ASSERT(manifest.validate().has_value());
  RC_ASSERT(*Manifest::decode(manifest.encode()) == manifest);
  generate::check_every_truncation(manifest);
}

RC_GTEST_PROP(Manifests, DamageIsAnErrorOrAnotherValidValue, ()) {
  generate::check_hostile<Manifest>(generate::damaged(generate::manifest().encode()));
}

TEST(Manifests, HashFollowsTheContent) {
  Manifest other = small_manifest();
  EXPECT_EQ(other.hash(), small_manifest().hash());
  other.tensors[0].shape = {3, 2};
  EXPECT_NE(other.hash(), small_manifest().hash());
}

void expect_invalid(const Manifest& manifest, const std::string& why) {
  const auto valid = manifest.validate();
  ASSERT_FALSE(valid.has_value()) << why;
  EXPECT_EQ(valid.error(), (Error{Errc::kInvalid, "manifest: " + why}));
  EXPECT_EQ(Manifest::decode(manifest.encode()).error(), valid.error());
}

TEST(Manifests, InvalidOnesNameTheReason) {
  Manifest manifest = small_manifest();
  manifest.tensors.clear();
  expect_invalid(manifest, "no tensor: the model is empty");
  manifest = small_manifest();
  manifest.tensors[1].name = "embed.weight";
  expect_invalid(manifest, "two tensors are called 'embed.weight'");
  manifest.tensors[1].name = "";
  expect_invalid(manifest, "a tensor's name has 1 to 1024 bytes");
  manifest.tensors[1].name = "a\nb";
  expect_invalid(manifest, "a tensor's name holds a control character");
  manifest = small_manifest();
  manifest.tensors[0].shape = {2, 0};
  expect_invalid(manifest,
                 "tensor 'embed.weight' has shape [2,0]: every dimension must be above 0");
  manifest.tensors[0].shape = {1LL << 32, 1LL << 32};
  expect_invalid(
      manifest,
      "tensor 'embed.weight' of shape [4294967296,4294967296] has more than 2^40 parameters");
  manifest = small_manifest();
  manifest.shards = 4;
  expect_invalid(manifest, "4 shards but only 3 blocks: choose fewer shards or smaller blocks");
  manifest = small_manifest();
  manifest.block_parameters = 0;
  expect_invalid(manifest, "a block has 1 to 16777216 parameters, not 0");
  manifest = small_manifest();
  manifest.block_parameters = 1;
  manifest.tensors[0].shape = {1 << 23};
  expect_invalid(manifest, "8388611 blocks, above 2^22: choose larger blocks");
}

TEST(Manifests, TheLimitsAreReachable) {
  Manifest manifest = small_manifest();
  manifest.block_parameters = kDefaultBlockParameters;
  manifest.tensors = {{"w", {static_cast<std::int64_t>(kMaxParameters)}, false}};
  EXPECT_TRUE(manifest.validate());
}

// 2^31 elements, in one dimension and in many: a few bytes that must not become memory before they are judged.
TEST(Manifests, ATensorOfTwoToThe31IsLaidOutWithoutOverflow) {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{1LL << 31}, {1LL << 16, 1LL << 15}, {(1LL << 31) + 1}}) {
    Manifest manifest = small_manifest();
    manifest.block_parameters = kDefaultBlockParameters;
    manifest.tensors = {{"w", shape, false}, {"norm", {3}, true}};
    const Result<Manifest> decoded = Manifest::decode(manifest.encode());
    ASSERT_TRUE(decoded);
    const Layout layout(*decoded);
    EXPECT_GE(layout.tensors[0].count, 1ULL << 31);
    EXPECT_EQ(layout.tensors[1].offset, layout.tensors[0].count);
    EXPECT_EQ(layout.parameters, layout.tensors[0].count + 3);
    EXPECT_EQ(layout.shards[0].parameters + layout.shards[1].parameters, layout.parameters);
  }
}

TEST(Manifests, AProductThatOverflowsIsNoProduct) {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{1LL << 62, 4}, {1LL << 32, 1LL << 32, 1LL << 32}, {INT64_MAX, INT64_MAX}}) {
    Manifest manifest = small_manifest();
    manifest.tensors[0].shape = shape;
    const Result<Manifest> decoded = Manifest::decode(manifest.encode());
    ASSERT_FALSE(decoded);
    EXPECT_NE(decoded.error().context.find("more than 2^40 parameters"), std::string::npos) << decoded.error().context;
  }
  Manifest many = small_manifest();  // each fits, together they do not
  many.block_parameters = kMaxBlockParameters;
  many.tensors = {{"a", {1LL << 40}, false}, {"b", {1}, true}};
  EXPECT_FALSE(many.validate());
  many.tensors[0].shape = {-4};
  EXPECT_FALSE(many.validate());
}

TEST(Manifests, ACountIsNotBelievedBeforeItsItemsAreThere) {
  Bytes bytes = small_manifest().encode();
  for (std::size_t at = 9; at < 13; ++at) bytes[at] = std::byte{0xFF};  // the number of tensors
  const Result<Manifest> decoded = Manifest::decode(bytes);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, Errc::kMalformed) << decoded.error().to_string();
}

TEST(Manifests, FirstDifferenceSaysBothSides) {
  const Manifest run = small_manifest();
  EXPECT_EQ(run.first_difference(run), "");
  Manifest here = run;
  here.tensors[0].shape = {3, 2};
  EXPECT_EQ(here.first_difference(run),
            "tensor 'embed.weight' has shape [3,2] here and [2,3] in the run");
  here = run;
  here.tensors[1].name = "other";
  EXPECT_EQ(here.first_difference(run), "tensor 1 is 'other' here and 'norm.weight' in the run");
  here = run;
  here.tensors[1].exact = false;
  EXPECT_EQ(here.first_difference(run), "tensor 'norm.weight' is lossy here and exact in the run");
  here = run;
  here.tensors.pop_back();
  EXPECT_EQ(here.first_difference(run),
            "1 tensors here and 2 in the run: 'norm.weight' is only there");
  EXPECT_EQ(run.first_difference(here),
            "2 tensors here and 1 in the run: 'norm.weight' is only here");
  here = run;
  here.shards = 1;
  EXPECT_EQ(here.first_difference(run), "1 shards here and 2 in the run");
  here = run;
  here.block_parameters = 8;
  EXPECT_EQ(here.first_difference(run), "blocks have 8 parameters here and 4 in the run");
}

RC_GTEST_PROP(Manifests, ADifferenceIsFoundExactlyWhenThereIsOne, ()) {
  const Manifest one = generate::manifest();
  const Manifest two = generate::manifest();
  RC_ASSERT(one.first_difference(two).empty() == (one == two));
}

}  // namespace
}  // namespace godwit
