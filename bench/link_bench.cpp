#include "bench/link_bench.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "bench/bare_tls.h"
#include "bench/push_client.h"
#include "bench/raw_store.h"

namespace godwit::bench {
namespace {

// A cluster, its first server, and a client of it.
struct Served {
  std::unique_ptr<LocalCluster> cluster;
  std::unique_ptr<LocalServer> server;
  std::unique_ptr<PushClient> client;
};

Result<Served> serve(const LinkPlan& plan, ClusterPlan cluster_plan) {
  cluster_plan.block_parameters = static_cast<std::uint32_t>(plan.chunk_bytes / sizeof(float));
  Served served;
  auto cluster = LocalCluster::create(cluster_plan, plan.directory);
  if (!cluster) return cluster.error();
  served.cluster = std::move(*cluster);
  auto server = LocalServer::start(*served.cluster);
  if (!server) return server.error();
  served.server = std::move(*server);
  auto client = PushClient::connect(*served.cluster, plan.parameters);
  if (!client) return client.error();
  served.client = std::move(*client);
  return served;
}

// Measures something for so long.
using Meter = std::function<Result<double>(Duration)>;
using Turns = std::vector<double>;

// The meters take turns, after one turn that only warms memory and stores up.
Result<std::vector<Turns>> take_turns(const LinkPlan& plan, const std::vector<Meter>& meters) {
  std::vector<Turns> results(meters.size());
  for (std::uint32_t turn = 0; turn <= plan.turns; ++turn) {
    for (std::size_t i = 0; i < meters.size(); ++i) {
      const Result<double> measured = meters[i](plan.duration / plan.turns);
      if (!measured) return measured.error();
      if (turn > 0) results[i].push_back(*measured);
    }
  }
  return results;
}

double median(Turns values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double median_ratio(Turns values, const Turns& bases) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] /= bases[i];
  return median(std::move(values));
}

}  // namespace

Result<LinkFigures> measure_link(const LinkPlan& plan) {
  // The leader is the second region's, which does not run: all pushes merge into the open aggregate, so this
  // is the way from the wire to the sum, without versions.
  ClusterPlan leader_away;
  leader_away.regions = "2";
  leader_away.ack = "memory";
  Result<Served> away = serve(plan, leader_away);
  if (!away) return away.error();
  Result<Served> durable = serve(plan, ClusterPlan());
  if (!durable) return durable.error();
  ClusterPlan exact;
  exact.codec = "fp32";
  Result<Served> durable_fp32 = serve(plan, exact);
  if (!durable_fp32) return durable_fp32.error();
  auto bare = BareTls::connect(*away->cluster, plan.chunk_bytes);
  if (!bare) return bare.error();
  auto raw = RawStore::open(away->cluster->config().folder / "raw-store");
  if (!raw) return raw.error();

  const auto pushes_to = [&plan](const Served& served) {
    return [client = served.client.get(), window = plan.window](Duration d) { return client->measure(d, window); };
  };
  const auto write_raw = [&](Duration d) { return (*raw)->measure(d, away->client->payloads()); };
  // First what needs no disk: stores go on flushing for a while after they were written to.
  const auto wire = take_turns(plan, {[&](Duration d) { return (*bare)->measure(d); }, pushes_to(*away)});
  if (!wire) return wire.error();
  const auto disk = take_turns(plan, {write_raw, pushes_to(*durable), pushes_to(*durable_fp32)});
  if (!disk) return disk.error();

  LinkFigures figures;
  figures.bare_tls = median((*wire)[0]);
  figures.push = median((*wire)[1]);
  figures.raw_rocksdb = median((*disk)[0]);
  figures.durable = median((*disk)[1]);
  figures.durable_fp32 = median((*disk)[2]);
  figures.push_ratio = median_ratio((*wire)[1], (*wire)[0]);
  figures.durable_ratio = median_ratio((*disk)[1], (*disk)[0]);
  figures.durable_fp32_ratio = median_ratio((*disk)[2], (*disk)[0]);
  return figures;
}

}  // namespace godwit::bench
