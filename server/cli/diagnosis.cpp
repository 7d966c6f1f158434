#include "server/cli/diagnosis.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "server/cli/table.h"
#include "shared/base/problem.h"

namespace godwit::cli {
namespace {

constexpr const char* kRenew =
    "make certificates with `godwit init` in a new folder, and copy ca.crt and each machine's .crt "
    "and .key again";
constexpr const char* kSetClock = "set the clock: timedatectl set-ntp true";

std::string age_text(Duration age) {
  return human_seconds(to_seconds(age < Duration::zero() ? -age : age));
}

// By this clock.
std::string dates_text(const net::CertificateFacts& facts) {
  return "valid from " + date_text(facts.not_before) + " to " + date_text(facts.not_after);
}

// Why a certificate is not valid now; empty: it is.
std::string out_of_date(const net::CertificateFacts& facts, WallTime now) {
  if (now < facts.not_before) {
    return "begins at " + date_text(facts.not_before) + ", in " + age_text(facts.not_before - now) +
           " by this clock";
  }
  if (now > facts.not_after)
    return "ended at " + date_text(facts.not_after) + ", " + age_text(now - facts.not_after) +
           " ago";
  return "";
}

std::string identity_text(const Result<net::Identity>& identity) {
  return identity ? net::format_identity(*identity) : identity.error().context;
}

Check refused(const net::Identity& wanted, const std::string& what, const std::string& fix) {
  return failed(wanted.name, "TLS", "GODWIT-E1101", what, fix);
}

// The peer's certificate, as a connection of this machine would judge it.
Check judge_distrust(const net::Identity& wanted, const net::TlsFinding& found, WallTime now) {
  const std::string dates = found.peer ? out_of_date(*found.peer, now) : "";
  switch (found.distrust) {
    case net::Distrust::kExpired:
      return refused(wanted, "its certificate " + (dates.empty() ? "has expired" : dates),
                     std::string(kRenew) + "; if the date has not come, " + kSetClock);
    case net::Distrust::kNotYetValid:
      return refused(wanted, "its certificate " + (dates.empty() ? "is not valid yet" : dates),
                     kSetClock);
    case net::Distrust::kOtherAuthority:
      return refused(
          wanted,
          "its certificate is signed by another CA than ours" +
              (found.peer ? " (its issuer is \"" + found.peer->issuer + "\")" : std::string()),
          "copy ca.crt, .crt and .key of one and the same `godwit init` to both machines");
    case net::Distrust::kNone:
    case net::Distrust::kOther:
      break;
  }
  return refused(wanted, "its certificate is refused: " + found.distrust_words, kRenew);
}

Check judge_failed_handshake(const net::Identity& wanted, const HostPort& address,
                             const Error& why) {
  const std::string where = to_string(address);
  if (why.code == Errc::kTimedOut || why.code == Errc::kMalformed ||
      why.code == Errc::kUnsupported) {
    return failed(wanted.name, "TLS", "GODWIT-E5003",
                  where + " takes the connection but speaks no TLS 1.3",
                  "see who listens there: ss -ltnp 'sport = :" + std::to_string(address.port) +
                      "'; is data of cluster.toml right?");
  }
  return failed(wanted.name, "TLS", std::string(problem_of(why.code).code), why.context,
                "read the log of " + wanted.name + ": it names the reason");
}

// What it said to our certificate.
Check judge_refusal(const net::Identity& wanted, const Error& why) {
  if (why.code == Errc::kTimedOut) {
    return failed(wanted.name, "TLS", "GODWIT-E1002", "it shook hands, then said nothing",
                  "read its log: the process may hang");
  }
  const bool ours = why.code == Errc::kUnauthenticated;
  return failed(wanted.name, "TLS", std::string(problem_of(why.code).code),
                "it refuses us: " + why.context,
                ours ? "its ca.crt or its clock differs from ours: copy ca.crt, .crt and .key of "
                       "one and the same "
                       "`godwit init` to both machines"
                     : "read its log; is cluster.toml the same on both machines?");
}

Check clock_row(const ClockFinding& found) {
  const std::string text =
      age_text(found.ahead) + (found.ahead < Duration::zero() ? " behind" : " ahead of") + " ours";
  if (found.ahead <= kClockLimit && found.ahead >= -kClockLimit)
    return passed(found.server, "clock", text);
  return failed(found.server, "clock", "GODWIT-E1103", "its clock is " + text,
                std::string("where it is wrong, ") + kSetClock);
}

}  // namespace

std::string_view name(CheckState state) {
  constexpr std::array kNames = {"ok", "FAILED", "skipped"};
  return kNames[static_cast<std::size_t>(state)];
}

Check passed(std::string subject, std::string name, std::string detail) {
  return {std::move(subject), std::move(name), CheckState::kOk, std::move(detail), "", ""};
}

Check failed(std::string subject, std::string name, std::string code, std::string detail,
             std::string fix) {
  return {std::move(subject), std::move(name), CheckState::kFailed,
          std::move(detail),  std::move(code), std::move(fix)};
}

Check skipped(std::string subject, std::string name, std::string why) {
  return {std::move(subject), std::move(name), CheckState::kSkipped, std::move(why), "", ""};
}

std::string date_text(WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts);
  return std::string(text.data(), size);
}

Check check_addresses(const ClusterConfig& config) {
  const std::string what = "cluster.toml";
  const ServerConfig* hidden = nullptr;
  const ServerConfig* open = nullptr;
  for (const ServerConfig& server : config.servers)
    (server.data.is_loopback() ? hidden : open) = &server;
  const std::string servers = std::to_string(config.servers.size()) + " servers";
  if (hidden == nullptr || open == nullptr) return passed(std::string(kThisMachine), what, servers);
  return failed(std::string(kThisMachine), what, "GODWIT-E2001",
                "data of " + hidden->name + " is " + to_string(hidden->data) + ": " + open->name +
                    " is on another machine and would dial itself",
                "write the address by which the others reach " + hidden->name +
                    ", the same file on every machine");
}

Check check_files(const std::string& server, const std::vector<FileFacts>& files) {
  constexpr unsigned kOthersBits = 0077;
  for (const FileFacts& file : files) {
    if (!file.exists) {
      return failed(server, "files", "GODWIT-E2005", file.path + " is missing",
                    "copy it from the folder that `godwit init` made");
    }
    if (!file.readable) {
      return failed(server, "files", "GODWIT-E2005", file.path + " cannot be read by this user",
                    "run godwit as the user of the server, or: chown that user " + file.path);
    }
    if (file.secret && (file.mode & kOthersBits) != 0) {
      return failed(server, "files", "GODWIT-E2005",
                    file.path + " is a secret that others on this machine can read",
                    "chmod 600 " + file.path);
    }
  }
  return passed(server, "files", std::to_string(files.size()) + " there, secrets private");
}

Check check_own_certificate(const net::Identity& wanted, const OwnCertificate& own, WallTime now) {
  const auto wrong = [&](const std::string& what, const std::string& fix) {
    return failed(wanted.name, "certificate", "GODWIT-E1101", own.file + " " + what, fix);
  };
  if (!own.facts.identity || *own.facts.identity != wanted) {
    return wrong(
        "is for " + identity_text(own.facts.identity) + ", not for " + net::format_identity(wanted),
        "copy the .crt and .key of this server, from the `godwit init` that wrote cluster.toml");
  }
  if (!own.key_fits) {
    return wrong("and its .key do not belong together",
                 "copy both again, from one and the same `godwit init`");
  }
  if (!own.signed_by_authority) {
    return wrong(
        "is not signed by the ca.crt beside it (its issuer is \"" + own.facts.issuer + "\")",
        "copy ca.crt, .crt and .key of one and the same `godwit init`");
  }
  const std::string dates = out_of_date(own.facts, now);
  if (now < own.facts.not_before) return wrong(dates, kSetClock);
  if (!dates.empty())
    return wrong(dates, std::string(kRenew) + "; if the date has not come, " + kSetClock);
  return passed(wanted.name, "certificate", dates_text(own.facts));
}

Check check_disk(const std::string& server, const std::string& directory,
                 std::uint64_t free_bytes) {
  if (free_bytes >= kFreeBytesMin) return passed(server, "disk", human_bytes(free_bytes) + " free");
  const bool full = free_bytes < kFullDiskBytes;
  return failed(server, "disk", "GODWIT-E6003",
                (full ? "the disk is full: " : "") + human_bytes(free_bytes) + " free in " + directory + ", at least " +
                    human_bytes(kFreeBytesMin) + " are needed",
                "make room there, or mount a larger disk");
}

Check check_descriptors(std::uint64_t limit) {
  const std::string count = with_separators(limit) + " open files";
  if (limit >= kDescriptorsMin) return passed(std::string(kThisMachine), "limits", count);
  return failed(
      std::string(kThisMachine), "limits", "GODWIT-E6003",
      count + " are allowed, a server needs " + with_separators(kDescriptorsMin),
      "ulimit -n " + std::to_string(kDescriptorsMin) + ", or LimitNOFILE= in the systemd unit");
}

Check check_port(const std::string& server, const std::string& port, const HostPort& address,
                 const net::TcpFinding& found, Duration limit) {
  const std::string row = port + " port";
  const std::string where = to_string(address);
  const std::string number = std::to_string(address.port);
  switch (found.reach) {
    case net::Reach::kConnected:
      return passed(server, row, where);
    case net::Reach::kNoName:
      return failed(
          server, row, "GODWIT-E1001",
          "the name " + address.host + " has no address: " + found.words,
          "correct " + port + " in cluster.toml, or the name server: getent hosts " + address.host);
    case net::Reach::kRefused:
      return failed(
          server, row, "GODWIT-E1001",
          where + " refuses: a machine answers, but nothing listens there",
          "start the server on that machine: systemctl start godwit-server, or godwit start " +
              server);
    case net::Reach::kTimedOut:
      return failed(server, row, "GODWIT-E1002",
                    where + " did not answer within " + age_text(limit) +
                        ": a firewall drops it, or the machine is off",
                    "allow TCP " + number + " to " + found.address +
                        " in the firewalls of both machines and between them");
    case net::Reach::kUnreachable:
      return failed(server, row, "GODWIT-E1001", "there is no way to " + where + ": " + found.words,
                    "see `ip route get " + found.address + "`; is the VPN up, is the machine on?");
    case net::Reach::kOther:
      break;
  }
  return failed(server, row, "GODWIT-E1001", where + ": " + found.words, "see the system's words");
}

Check check_handshake(const net::Identity& wanted, const HostPort& address,
                      const net::TlsFinding& found, WallTime now) {
  if (!found.handshake && found.distrust == net::Distrust::kNone)
    return judge_failed_handshake(wanted, address, found.handshake.error());
  if (found.distrust != net::Distrust::kNone) return judge_distrust(wanted, found, now);
  if (!found.peer || !found.peer->identity || *found.peer->identity != wanted) {
    return refused(
        wanted,
        to_string(address) + " is " +
            (found.peer ? identity_text(found.peer->identity) : "somebody without a certificate") +
            ", not " + net::format_identity(wanted),
        "correct data in cluster.toml, or copy the right .crt and .key to that machine");
  }
  if (!found.admission) return judge_refusal(wanted, found.admission.error());
  return passed(wanted.name, "TLS", "1.3, " + dates_text(*found.peer));
}

std::vector<Check> check_clocks(const std::vector<ClockFinding>& found) {
  const auto far = [](const ClockFinding& one) {
    return one.ahead > kClockLimit || one.ahead < -kClockLimit;
  };
  const auto [least, most] = std::ranges::minmax_element(found, {}, &ClockFinding::ahead);
  const bool ours = found.size() > 1 && std::ranges::all_of(found, far) &&
                    most->ahead - least->ahead <= kClockLimit;
  std::vector<Check> checks;
  if (ours) {
    checks.push_back(failed(std::string(kThisMachine), "clock", "GODWIT-E1103",
                            "this clock is " + age_text(least->ahead) +
                                (least->ahead > Duration::zero() ? " behind" : " ahead of") +
                                " all others",
                            kSetClock));
    return checks;
  }
  for (const ClockFinding& one : found) checks.push_back(clock_row(one));
  return checks;
}

}  // namespace godwit::cli
