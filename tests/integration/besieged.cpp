#include "tests/integration/besieged.h"

#include <filesystem>
#include <fstream>

namespace godwit::integration {
namespace {

cli::InitFlags plan() {
  cli::InitFlags plan;
  plan.regions = "home,away,absent";
  plan.window = "300ms";
  plan.block_parameters = 1024;
  return plan;
}

}  // namespace

Besieged::Besieged()
    : cluster_(plan(), [](ClusterConfig& config) { config.run.leaders = {RegionId(0), RegionId(1)}; }),
      own_worker_(identity(kHome, net::Role::kWorker, "impostor")),
      worker_(forge(config(), own_worker_)),
      server_(forge(config(), identity(kAbsent, net::Role::kServer, kAbsent))) {}

void Besieged::SetUp() {
  cluster_.start_server(kHome);
  cluster_.start_server(kAway);
  cluster_.start_worker(kHome);
  ASSERT_TRUE(trains_on()) << cluster_.logs();
}

void Besieged::TearDown() {
  EXPECT_TRUE(cluster_.server(kHome).running()) << "the server died\n" << cluster_.logs();
  if (!cluster_.worker(kHome).running()) cluster_.start_worker(kHome);
  EXPECT_TRUE(trains_on()) << "the run stands still\n" << cluster_.logs();
}

bool Besieged::trains_on() const {
  std::vector<support::ShardView> before;
  return support::eventually(kLimit, [&] {
    const std::vector<support::ShardView> now = cluster_.shards(kHome);
    if (now.empty()) return false;
    if (before.empty()) before = now;
    return now[0].version >= before[0].version + 2 && now[1].version >= before[1].version + 2;
  });
}

std::size_t Besieged::resident_kib(const std::string& region) {
  std::ifstream in("/proc/" + std::to_string(cluster_.server(region).pid()) + "/status");
  for (std::string word; in >> word;) {
    if (word == "VmRSS:") {
      std::size_t kib = 0;
      in >> kib;
      return kib;
    }
  }
  return 0;
}

std::size_t Besieged::open_files(const std::string& region) {
  const std::filesystem::directory_iterator files("/proc/" + std::to_string(cluster_.server(region).pid()) + "/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

Bytes Besieged::frame(MessageKind kind, const Bytes& control) {
  const net::EncodedHeader header = net::encode_header({kind, static_cast<std::uint32_t>(control.size()), 0, 0});
  Bytes bytes(header.begin(), header.end());
  bytes.insert(bytes.end(), control.begin(), control.end());
  return bytes;
}

Bytes Besieged::hello(const net::Identity& as) const {
  const wire::Hello hello{wire::kConversationVersion, as.cluster, std::string(net::name(as.role)), as.region, as.name,
                          Hash()};
  return frame(MessageKind::kHello, wire::encode(hello));
}

net::Stranger Besieged::stranger(const std::string& region, const std::optional<net::CertifiedKey>& own,
                                 Bytes send) const {
  net::Stranger stranger;
  stranger.port = config().find_server(region)->data.port;
  stranger.own = own;
  stranger.send = std::move(send);
  return stranger;
}

bool Besieged::welcomes(const std::string& region, const net::Identity& as) const {
  net::Stranger friendly = stranger(region, forge(config(), as), hello(as));
  friendly.enough = net::kFrameHeaderBytes;
  const std::optional<net::FrameHeader> answer = first_frame(visit(friendly).received);
  return answer && answer->kind == MessageKind::kWelcome;
}

std::optional<net::FrameHeader> first_frame(const Bytes& received) {
  if (received.size() < net::kFrameHeaderBytes) return std::nullopt;
  const Result<net::FrameHeader> header = net::parse_header(ByteView(received).first(net::kFrameHeaderBytes));
  return header ? std::optional(*header) : std::nullopt;
}

bool is_goodbye(const Bytes& received) {
  const std::optional<net::FrameHeader> header = first_frame(received);
  return header && header->kind == MessageKind::kGoodbye &&
         received.size() == net::kFrameHeaderBytes + header->control_bytes + header->payload_bytes;
}

}  // namespace godwit::integration
