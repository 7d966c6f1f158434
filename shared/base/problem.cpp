#include "shared/base/problem.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "shared/base/check.h"

namespace godwit {
namespace {

constexpr std::array kProblems = {
    Problem{"GODWIT-E1001", "cannot connect",
            "nothing answers at the address, or it is unreachable now",
            "see what runs with `godwit status`; start it with `godwit up` or `godwit start NAME`",
            503, 3, true},
    Problem{"GODWIT-E1002", "timed out",
            "an answer did not come before its deadline; what was asked may still happen",
            "look with `godwit status`, then ask again", 504, 7, true},
    Problem{"GODWIT-E1003", "connection closed", "the other side closed the connection, or stops",
            "try again; the log of the server says why it closed", 503, 3, true},
    Problem{
        "GODWIT-E1101", "not authenticated", "no valid certificate, or no valid admin token",
        "send the token of DIR/admin.token; renew certificates with `godwit init` in a new folder",
        401, 6, false},
    Problem{"GODWIT-E1102", "not allowed",
            "the caller is known but may not do this, or a browser sent it",
            "use `godwit` on a machine that has the cluster's folder", 403, 6, false},
    Problem{"GODWIT-E1103", "clocks differ",
            "a clock is wrong: certificates look expired, or as if they were not valid yet",
            "set it, where it is wrong: `timedatectl set-ntp true`", 500, 1, false},
    Problem{
        "GODWIT-E2001", "configuration is wrong", "a flag or a value of cluster.toml is not valid",
        "correct what the message names: it gives the place and a valid example", 500, 2, false},
    Problem{"GODWIT-E2002", "usage", "the command line is not one that godwit knows",
            "`godwit --help` lists the commands, `godwit COMMAND --help` their flags", 400, 2,
            false},
    Problem{"GODWIT-E2003", "cluster exists already", "the folder holds a cluster.toml",
            "choose another folder, or remove this one with all its data", 409, 5, false},
    Problem{"GODWIT-E2004", "cluster is running", "the command needs stopped servers",
            "stop them with `godwit down`", 409, 5, false},
    Problem{"GODWIT-E2005", "files are missing or open to others",
            "a machine needs cluster.toml, admin.token, ca.crt and its own .crt and .key; secrets have mode 600",
            "copy them from the folder that `godwit init` made; docker/three_machines.md lists them", 500, 1, false},
    Problem{
        "GODWIT-E3001", "overloaded", "a named limit is full",
        "wait: senders retry by themselves; if it lasts, a region or link is slower than the rest",
        503, 1, true},
    Problem{"GODWIT-E3002", "wrong epoch", "another leader has taken the shard since",
            "try again: the caller learns the new epoch", 409, 5, true},
    Problem{"GODWIT-E3003", "not the one to ask",
            "this server does not lead the shard, or does not host the control store",
            "ask the server that the message names", 421, 5, true},
    Problem{"GODWIT-E3004", "logs differ", "a replica holds versions that its leader does not know",
            "nothing: the replica reloads by itself; `godwit verify` shows when it has", 409, 5,
            true},
    Problem{"GODWIT-E3005", "sequence gap", "a contribution was skipped",
            "nothing: it is sent again", 409, 5, true},
    Problem{"GODWIT-E3006", "no longer kept", "older than what the log retains",
            "ask for a newer version, or for the whole model", 410, 4, false},
    Problem{"GODWIT-E3101", "server does not answer", "the process is down, starting, or hangs",
            "`godwit start NAME`; its log is DIR/log/NAME.log", 503, 10, true},
    Problem{"GODWIT-E3102", "server is not ready", "a readiness check fails",
            "the check's message says what is missing; DIR/log/NAME.log says more", 503, 10, true},
    Problem{"GODWIT-E3103", "link down", "two regions cannot reach each other",
            "check the network between them and both logs; training goes on locally and is merged "
            "later",
            503, 11, true},
    Problem{"GODWIT-E3104", "region is behind",
            "a replica has not received the newest versions yet",
            "nothing if it shrinks; else its link is slower than the updates: a stronger "
            "update_codec helps",
            503, 11, true},
    Problem{"GODWIT-E3201", "replicas differ",
            "two regions hold different bytes at the same version",
            "keep both data directories and report it: this must never happen", 500, 1, false},
    Problem{"GODWIT-E4001", "invalid input",
            "it parses, but breaks a rule: shape, size, finite values, range",
            "correct what the message names", 400, 1, false},
    Problem{"GODWIT-E4002", "not found", "there is no such server, shard, version, file or route",
            "the message says what there is", 404, 4, false},
    Problem{"GODWIT-E4003", "conflict",
            "somebody else changed it first, or it differs from what the run has",
            "look again, then decide anew", 409, 5, false},
    Problem{"GODWIT-E5001", "malformed", "bytes that do not parse",
            "send what the interface's documentation says", 400, 1, false},
    Problem{"GODWIT-E5002", "too large", "longer than the limit that the message names",
            "send less at once", 413, 1, false},
    Problem{"GODWIT-E5003", "unsupported", "unknown codec, kind, format or version",
            "run the same version of Godwit everywhere", 415, 8, false},
    Problem{"GODWIT-E6001", "stored data is damaged", "a record fails its checksum",
            "move the data directory away and let the server reload from another region", 500, 1,
            false},
    Problem{"GODWIT-E6002", "the operating system refused",
            "a disk, file or socket operation failed",
            "the message has the system's words: usually space or permissions", 500, 1, false},
    Problem{"GODWIT-E6003", "the machine is short of something", "disk space or open files run out soon",
            "the message names the limit and what is left", 500, 1, false},
    Problem{"GODWIT-E6101", "pushes missing or twice",
            "the logs do not name every acknowledged push exactly once",
            "keep the data directories and report it: this must never happen", 500, 1, false},
    Problem{"GODWIT-E9001", "internal error", "a bug of Godwit", "report it with the log", 500, 70,
            false},
};

const Problem& problem(std::string_view code) {
  const auto* const found = std::ranges::find(kProblems, code, &Problem::code);
  GODWIT_CHECK(found != kProblems.end(), "every Errc has a problem");
  return *found;
}

}  // namespace

std::span<const Problem> problem_catalogue() { return kProblems; }

const Problem& problem_of(Errc code) {
  switch (code) {
    case Errc::kOverloaded:
      return problem("GODWIT-E3001");
    case Errc::kUnavailable:
      return problem("GODWIT-E1001");
    case Errc::kTimedOut:
      return problem("GODWIT-E1002");
    case Errc::kClosed:
      return problem("GODWIT-E1003");
    case Errc::kWrongEpoch:
      return problem("GODWIT-E3002");
    case Errc::kNotLeader:
      return problem("GODWIT-E3003");
    case Errc::kForked:
      return problem("GODWIT-E3004");
    case Errc::kGap:
      return problem("GODWIT-E3005");
    case Errc::kGone:
      return problem("GODWIT-E3006");
    case Errc::kMalformed:
      return problem("GODWIT-E5001");
    case Errc::kTooLarge:
      return problem("GODWIT-E5002");
    case Errc::kUnsupported:
      return problem("GODWIT-E5003");
    case Errc::kInvalid:
      return problem("GODWIT-E4001");
    case Errc::kConflict:
      return problem("GODWIT-E4003");
    case Errc::kNotFound:
      return problem("GODWIT-E4002");
    case Errc::kUnauthenticated:
      return problem("GODWIT-E1101");
    case Errc::kForbidden:
      return problem("GODWIT-E1102");
    case Errc::kCorrupt:
      return problem("GODWIT-E6001");
    case Errc::kIo:
      return problem("GODWIT-E6002");
    case Errc::kConfig:
      return problem("GODWIT-E2001");
    case Errc::kInternal:
      return problem("GODWIT-E9001");
  }
  return problem("GODWIT-E9001");
}

const Problem* find_problem(std::string_view code) {
  std::string wanted;
  for (const char letter : code)
    wanted += static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  if (!wanted.starts_with("GODWIT-"))
    wanted = (wanted.starts_with("E") ? "GODWIT-" : "GODWIT-E") + wanted;
  const auto* const found = std::ranges::find(kProblems, std::string_view(wanted), &Problem::code);
  return found == kProblems.end() ? nullptr : found;
}

}  // namespace godwit
