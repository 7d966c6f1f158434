#include "shared/protocol/control_messages.h"

#include <gtest/gtest.h>

#include "tests/unit/control/requests.h"

namespace godwit {
namespace {

std::string refusal(const ControlRequest& request) {
  const auto valid = validate(request);
  return valid ? "valid" : valid.error().to_string();
}

TEST(ControlMessages, EveryFieldHasANamedLimit) {
  using namespace requests;
  EXPECT_EQ(refusal(get("")), "invalid: control key: empty");
  EXPECT_EQ(refusal(get(std::string(256, 'k'))), "valid");
  EXPECT_EQ(refusal(get(std::string(257, 'k'))), "too-large: control key: 257 bytes, limit 256");
  EXPECT_EQ(refusal(get("run mode")),
            "invalid: control key: only letters, digits and ._-/ are allowed");
  EXPECT_EQ(refusal(get(std::string_view("a\0b", 3))),
            "invalid: control key: only letters, digits and ._-/ are allowed");
  EXPECT_EQ(refusal(list("")), "valid");
  EXPECT_EQ(refusal(list("shard/")), "valid");
  EXPECT_EQ(refusal(swap("a", 0, std::string(1U << 20U, 'v'))), "valid");
  EXPECT_EQ(refusal(swap("a", 0, std::string((1U << 20U) + 1, 'v'))),
            "too-large: control value: 1048577 bytes, limit 1048576");
  EXPECT_EQ(refusal(keep("a", "", seconds(1))), "invalid: lease holder: empty");
  EXPECT_EQ(refusal(keep("a", std::string(257, 'h'), seconds(1))),
            "too-large: lease holder: 257 bytes, limit 256");
  EXPECT_EQ(refusal(keep("a", "h", seconds(3600))), "valid");
  EXPECT_EQ(refusal(keep("a", "h", seconds(3601))),
            "invalid: lease ttl: 3601.000000 s, allowed 0 to 3600.000000 s");
  EXPECT_EQ(refusal(keep("a", "h", seconds(-1))),
            "invalid: lease ttl: -1.000000 s, allowed 0 to 3600.000000 s");
  EXPECT_EQ(refusal(watch("a", 0, seconds(61))),
            "invalid: watch wait: 61.000000 s, allowed 0 to 60.000000 s");
}

TEST(ControlMessages, AnUnknownKindIsRefused) {
  ControlRequest request = requests::get("a");
  request.kind = static_cast<ControlKind>(99);
  EXPECT_EQ(refusal(request), "invalid: control request: unknown kind 99");
}

TEST(ControlMessages, TheKeysOfARunNeverChange) {
  EXPECT_EQ(control_keys::kRunManifest, "run/manifest");
  EXPECT_EQ(control_keys::kRunMode, "run/mode");
  EXPECT_EQ(control_keys::shard_leader(ShardId(2)), "shard/2/leader");
  EXPECT_EQ(control_keys::parse_id("shard/17/leader", control_keys::kShards, "/leader"), 17U);
  for (const char* other : {"shard/17/lease", "shard//leader", "shard/x/leader", "shard/1x/leader", "shard/leader",
                            "region/17/leader", "shard/99999999999/leader"}) {
    EXPECT_EQ(control_keys::parse_id(other, control_keys::kShards, "/leader"), std::nullopt) << other;
  }
  EXPECT_EQ(control_keys::region_lease(RegionId(1)), "region/1/lease");
}

}  // namespace
}  // namespace godwit
