// What `godwit doctor` found, judged: from facts to checks, each ok or failed with cause and fix.
// Pure.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "shared/net/cluster_config.h"
#include "shared/net/probe.h"

namespace godwit::cli {

using WallTime = std::chrono::system_clock::time_point;

enum class CheckState : unsigned char { kOk, kFailed, kSkipped };
std::string_view name(CheckState state);

struct Check {
  std::string subject;  // "this machine", or a server
  std::string name;     // "data port"
  CheckState state = CheckState::kOk;
  std::string detail;  // what is so, or what is wrong, or why it was not looked at
  std::string code;    // failed: of the problem catalogue
  std::string fix;     // failed
};
Check passed(std::string subject, std::string name, std::string detail);
Check failed(std::string subject, std::string name, std::string code, std::string detail,
             std::string fix);
Check skipped(std::string subject, std::string name, std::string why);

inline constexpr std::string_view kThisMachine = "this machine";

// Below these a server will soon stand still. The store keeps up to 512 files open; every worker
// and every other server is a connection.
inline constexpr std::uint64_t kFreeBytesMin = 1ULL << 30U;
inline constexpr std::uint64_t kFullDiskBytes = 1ULL << 20U;  // a server with less has stopped, or does not start
inline constexpr std::uint64_t kDescriptorsMin = 1024;
// Certificates begin five minutes before they are issued: clocks may differ by less than that.
inline constexpr Duration kClockLimit = seconds(60);

// A server on loopback is not to be reached by one that is elsewhere.
Check check_addresses(const ClusterConfig& config);

struct FileFacts {
  std::string path;
  bool exists = false;
  bool readable = false;
  unsigned mode = 0;  // permission bits
  bool secret = false;
};
// All files of one server in one check: the first that is wrong.
Check check_files(const std::string& server, const std::vector<FileFacts>& files);

struct OwnCertificate {
  std::string file;
  net::CertificateFacts facts;
  bool signed_by_authority = false;
  bool key_fits = false;
};
Check check_own_certificate(const net::Identity& wanted, const OwnCertificate& own, WallTime now);

Check check_disk(const std::string& server, const std::string& directory, std::uint64_t free_bytes);
Check check_descriptors(std::uint64_t limit);

// `port`: "data" or "admin", as in cluster.toml.
Check check_port(const std::string& server, const std::string& port, const HostPort& address,
                 const net::TcpFinding& found, Duration limit);

// `wanted`: whom the address belongs to.
Check check_handshake(const net::Identity& wanted, const HostPort& address,
                      const net::TlsFinding& found, WallTime now);

struct ClockFinding {
  std::string server;
  Duration ahead{};  // of ours; negative: behind
};
// One check per server. When all others agree that it is this clock, it is said once.
std::vector<Check> check_clocks(const std::vector<ClockFinding>& found);

std::string date_text(WallTime time);  // 2026-03-01 12:00 UTC

}  // namespace godwit::cli
