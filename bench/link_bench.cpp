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

struct Figure {
  double LinkFigures::*field;
  std::function<Result<double>(Duration)> measure;
  std::vector<double> turns;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
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
  std::vector<Figure> figures = {
      {&LinkFigures::bare_tls, [&](Duration d) { return (*bare)->measure(d); }, {}},
      {&LinkFigures::push, pushes_to(*away), {}},
      {&LinkFigures::raw_rocksdb, [&](Duration d) { return (*raw)->measure(d, away->client->payloads()); }, {}},
      {&LinkFigures::durable, pushes_to(*durable), {}},
      {&LinkFigures::durable_fp32, pushes_to(*durable_fp32), {}},
  };
  for (std::uint32_t turn = 0; turn < plan.turns; ++turn) {
    for (Figure& figure : figures) {
      const Result<double> measured = figure.measure(plan.duration / plan.turns);
      if (!measured) return measured.error();
      figure.turns.push_back(*measured);
    }
  }
  LinkFigures medians;
  for (const Figure& figure : figures) medians.*figure.field = median(figure.turns);
  return medians;
}

}  // namespace godwit::bench
