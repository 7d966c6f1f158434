#include "tests/fuzz/seeds.h"

#include "shared/codec/codec.h"
#include "shared/net/cluster_config.h"
#include "shared/net/frame.h"
#include "shared/protocol/manifest.h"
#include "shared/tensor/safetensors.h"
#include "tests/fuzz/input.h"
#include "tests/unit/core/bench.h"

namespace godwit::fuzz {
namespace {

Seed text_seed(std::string name, std::string_view text) {
  return {std::move(name), copy(view(text))};
}

std::vector<Seed> frame_seeds() {
  const auto header = net::encode_header({MessageKind::kPush, 100, 4096, 7});
  return {{"header", Bytes(header.begin(), header.end())}};
}

std::vector<Seed> block_seeds() {
  std::vector<Seed> seeds;
  std::vector<float> values(300, 0.5F);
  for (std::size_t i = 0; i < 40; ++i) values[i] = 0.25F * static_cast<float>(i) - 3;
  for (const Codec* codec : CodecTable::standard().all()) {
    for (const bool zstd : {false, true}) {
      const CodecSpec spec{codec->id(), zstd};
      const auto count = static_cast<std::uint16_t>(zstd ? values.size() : 20);
      InputWriter seed;
      seed.number(spec.wire()).number(count);
      seed.rest(encode_block(spec, std::span(values).first(count)));
      seeds.push_back({to_string(spec), seed.take()});
    }
  }
  return seeds;
}

std::vector<Seed> manifest_seeds() {
  const Manifest larger{3, 4, {{"a", {5, 2}, true}, {"b", {}, false}, {"c", {7}, false}}};
  return {{"small", test::small_manifest().encode()}, {"sharded", larger.encode()}};
}

std::vector<Seed> safetensors_seeds() {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const std::vector<safetensors::TensorView> views = {{"weight", {2, 3}, values},
                                                      {"none", {0}, {}}};
  const std::string halves =
      R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
      R"("b":{"dtype":"F16","shape":[1,1],"data_offsets":[4,6]}})";
  InputWriter seed;
  seed.number(std::uint64_t{halves.size()}).rest(view(halves));
  seed.rest(Bytes(6, std::byte{0x3C}));
  return {{"written", safetensors::encode(views, {{"version.0", "7"}})}, {"halves", seed.take()}};
}

std::vector<Seed> cluster_file_seeds() {
  constexpr std::string_view kSmall = R"([cluster]
name = "demo"
control = "eu"
[[server]]
name = "us"
region = "us-west"
data = "[::1]:7700"
admin = "127.0.0.1:7780"
[[server]]
name = "eu"
region = "eu-central"
data = "eu.example.org:7701"
admin = "0.0.0.0:7781"
admin_beyond_loopback = true
)";
  constexpr std::string_view kRun = R"([run]
shards = 2
leaders = ["us-west", "us-west"]
ack = "committed"
lan_codec = "bf16+zstd"
window_max = "1.5s"
sgd_learning_rate = 0.1234567
[link]
delay = "40ms"
rate = "200Mbit/s"
[checkpoint]
versions = 10
interval = "5min"
keep = 4
[limits]
push_staging_bytes = "64MiB"
snapshot_versions = 9
)";
  const std::string all = std::string(kSmall) + std::string(kRun);
  const auto config = parse_cluster_config(all, "cluster.toml");
  GODWIT_CHECK(config.has_value(), "a seed is right");
  return {text_seed("servers", kSmall), text_seed("run", all),
          text_seed("written", write_cluster_config(*config))};
}

std::vector<Seed> http_seeds() {
  const auto request = [](std::string_view method, std::string_view target, std::string_view body) {
    return "open\n" + std::string(method) + "\n" + std::string(target) +
           "\nlocalhost:7780\nBearer secret\napplication/json\n\n\nid-1\n" + std::string(body);
  };
  return {text_seed("livez", request("GET", "/livez", "")),
          text_seed("readyz", request("GET", "/readyz?verbose", "")),
          text_seed("metrics", request("GET", "/metrics", "")),
          text_seed("status", request("GET", "/api/v1/status", "")),
          text_seed("hashes", request("GET", "/api/v1/shards/1/hashes?version=%39", "")),
          text_seed("model", request("GET", "/api/v1/run/model?checkpoint=4", "")),
          text_seed("checkpoints", request("GET", "/api/v1/checkpoints", "")),
          text_seed("checkpoint", request("POST", "/api/v1/checkpoints", R"({"reason":"by hand"})")),
          text_seed("pin", request("POST", "/api/v1/checkpoints/4/pin", R"({"pinned":true})")),
          text_seed("remove", request("DELETE", "/api/v1/checkpoints/4", "")),
          text_seed("restore", request("POST", "/api/v1/checkpoints/4/restore", "")),
          text_seed("mode", request("POST", "/api/v1/mode", R"({"mode":"sync","sync_steps":16})")),
          text_seed("stop", request("POST", "/api/v1/stop", ""))};
}

}  // namespace

std::vector<Seed> seeds_of(std::string_view target) {
  if (target == "frame") return frame_seeds();
  if (target == "transfer") return transfer_seeds();
  if (target == "opening") return opening_seeds();
  if (target == "message") return message_seeds();
  if (target == "control_message") return control_message_seeds();
  if (target == "block") return block_seeds();
  if (target == "manifest") return manifest_seeds();
  if (target == "header") return header_seeds();
  if (target == "record") return record_seeds();
  if (target == "safetensors_file") return safetensors_seeds();
  if (target == "cluster_file") return cluster_file_seeds();
  if (target == "http_request") return http_seeds();
  if (target == "recovery") return recovery_seeds();
  return {};
}

}  // namespace godwit::fuzz
