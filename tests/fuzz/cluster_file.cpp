// cluster.toml: what is read is written, and read again, with the same values.
#include "shared/net/cluster_config.h"
#include "tests/fuzz/targets.h"

namespace godwit::fuzz {

bool cluster_file(ByteView input) {
  const auto config = parse_cluster_config(text(input), "cluster.toml");
  if (!config) {
    const std::string& why = config.error().context;
    GODWIT_CHECK(why.starts_with("cluster.toml:"), "an error says where it stands");
    return false;
  }
  for (const RegionId leader : config->run.leaders)
    GODWIT_CHECK(leader.value() < config->regions.size(), "a leader is a region");
  GODWIT_CHECK(config->run.leaders.size() == config->run.shards, "a leader for every shard");
  const auto again = parse_cluster_config(write_cluster_config(*config), "cluster.toml");
  if (!again) base::check_failed("CHECK", __FILE__, __LINE__, "again", again.error().context);
  GODWIT_CHECK(*again == *config, "the values come back");
  return true;
}

}  // namespace godwit::fuzz
