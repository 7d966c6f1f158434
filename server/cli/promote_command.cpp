#include "server/cli/promote_command.h"

#include <boost/json.hpp>
#include <chrono>
#include <thread>

#include "server/cli/admin_client.h"
#include "server/cli/cluster_view.h"
#include "server/cli/exit_code.h"

namespace godwit::cli {
namespace {

constexpr Duration kDeadline = seconds(3);
constexpr auto kPoll = std::chrono::milliseconds(100);

// The epoch in which `region` leads `shard`; nullopt: it does not.
std::optional<std::uint64_t> led_by(const ClusterView& view, std::uint32_t shard,
                                    const std::string& region) {
  const ShardView* const leader = view.leader(shard);
  if (leader == nullptr || leader->leader_region != region) return std::nullopt;
  return leader->epoch;
}

}  // namespace

int run_promote(const CommandLine& line, const ClusterConfig& config, const Console& console) {
  const boost::json::object body{{"shard", line.shard}, {"region", line.name}};
  const AdminClient client(config.control_server().admin, read_admin_token(config));
  const auto answer = client.post("/api/v1/promote", boost::json::serialize(body), seconds(15));
  if (!answer) return report(console, Failure(answer.error(), "godwit start " + config.control));
  if (answer->status != 200) return report(console, failure_of(*answer));

  const auto end = std::chrono::steady_clock::now() + line.timeout;
  std::optional<std::uint64_t> epoch;
  while (!(epoch = led_by(look_at(config, kDeadline), line.shard, line.name))) {
    if (std::chrono::steady_clock::now() >= end) {
      return report(console, Failure("GODWIT-E1002",
                                     "region " + line.name + " does not lead shard " +
                                         std::to_string(line.shard) +
                                         " yet; it will as soon as it can reach the control store",
                                     "godwit status"));
    }
    std::this_thread::sleep_for(kPoll);
  }
  if (line.format == Format::kJson) {
    console.out << boost::json::serialize(boost::json::object{{"schema", "godwit.promote/v1"},
                                                              {"shard", line.shard},
                                                              {"region", line.name},
                                                              {"epoch", std::to_string(*epoch)}})
                << "\n";
  } else {
    console.out << "region " << line.name << " leads shard " << line.shard << " in epoch " << *epoch
                << "\n";
  }
  return exit_code::kSuccess;
}

}  // namespace godwit::cli
