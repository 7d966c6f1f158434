#include "tests/tidy/include_table.h"

#include <algorithm>
#include <array>
#include <sstream>

namespace godwit::tidy {
namespace {

// Lower folders first. `shared` is every folder of shared/, a bare word one of them, `*` anything
// at all; library@file: only in that file. The rows server and worker are those of the two
// main.cpp. server/cli has a small HTTP client of its own, and Beast speaks in Asio's types.
constexpr std::string_view kTable = R"(
folder            | may include                                       | libraries
schema            |                                                   |
shared/base       |                                                   | spdlog@log.cpp fmt@log.cpp os@memory.cpp
                  |                                                   | xxhash@checksum.cpp
shared/tensor     | base                                              | simd cuda boost-json@safetensors.cpp
shared/codec      | base tensor                                       | simd cuda zstd
shared/protocol   | base tensor codec                                 |
shared/metrics    | base                                              | prometheus
shared/wire       | base protocol /schema                             | capnp
shared/net        | base codec protocol metrics wire                  | asio beast openssl fmt os
                  |                                                   | toml++@cluster_config_parser.cpp

server/core       | base tensor codec protocol                        |
server/storage    | base server/core                                  | os rocksdb@rocksdb_store.cpp
server/control    | base protocol server/core                         |
server/http       | base metrics net protocol                         | boost-json boost-url fmt
                  |                                                   | asio@http_server.cpp beast@http_server.cpp
server/app        | shared server/core server/storage server/control  | asio cli11 toml++ fmt os
                  | server/http                                       |
server/cli        | base protocol net tensor codec worker/client      | openssl boost-json beast asio cli11
                  |                                                   | toml++ fmt os
                  |                                                   | rocksdb@offline_reader.cpp
server            | shared server/core server/storage server/control  | cli11 toml++ os
                  | server/http server/app                            |

worker/core       | base tensor codec protocol                        |
worker/client     | shared worker/core                                | asio os
worker/collective | base tensor codec protocol wire net metrics       | nccl@nccl_group.cpp cuda@nccl_group.cpp
                  |                                                   | gloo@gloo_group.cpp
worker/trainer    | shared worker/core worker/client                  | torch os
                  | worker/collective                                 |
worker/app        | shared worker/core worker/client                  | cli11 toml++ fmt os
                  | worker/collective worker/trainer                  |
worker            | shared worker/core worker/client                  | cli11 toml++ os
                  | worker/collective worker/trainer worker/app       |

tests/history     |                                                   | boost-json
tests             | *                                                 |
bench             | *                                                 |
)";

struct Library {
  std::string_view name;
  std::string_view headers;  // how their names start
};

// The first that fits decides.
constexpr std::array kLibraries = {
    Library{"asio", "boost/asio boost/system"},
    Library{"beast", "boost/beast"},
    Library{"boost-json", "boost/json"},
    Library{"boost-url", "boost/url"},
    Library{"boost", "boost/"},
    Library{"openssl", "openssl/"},
    Library{"rocksdb", "rocksdb/"},
    Library{"capnp", "capnp/ kj/"},
    Library{"torch", "torch/ ATen/ c10/"},
    Library{"spdlog", "spdlog/"},
    Library{"fmt", "fmt/"},
    Library{"xxhash", "xxhash.h"},
    Library{"zstd", "zstd"},
    Library{"prometheus", "prometheus/"},
    Library{"cli11", "CLI/"},
    Library{"toml++", "toml++/"},
    Library{"gtest", "gtest/ gmock/"},
    Library{"rapidcheck", "rapidcheck"},
    Library{"benchmark", "benchmark/"},
    Library{"cuda", "cuda"},
    Library{"nccl", "nccl.h"},
    Library{"gloo", "gloo/"},
    Library{"simd", "immintrin.h arm_neon.h"},
    Library{"os",
            "arpa/ dirent.h dlfcn.h fcntl.h ifaddrs.h linux/ net/if.h netdb.h netinet/ poll.h"},
    Library{"os", "malloc.h pthread.h pwd.h sched.h signal.h spawn.h sys/ termios.h time.h unistd.h"},
};

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

void add_folder(std::vector<std::string>& folders, const std::string& word) {
  constexpr std::array kShared = {"base", "tensor", "codec", "protocol", "metrics", "wire", "net"};
  const std::size_t slash = word.find('/');
  if (word == "shared") {
    for (const char* name : kShared) folders.push_back(std::string("shared/") + name);
  } else if (slash == 0) {
    folders.push_back(word.substr(1));
  } else {
    folders.push_back(word == "*" || slash != std::string::npos ? word : "shared/" + word);
  }
}

// A row without a folder goes on with the one above.
std::vector<FolderRow> parse_table(std::string_view table) {
  std::vector<FolderRow> rows;
  std::istringstream stream{std::string(table)};
  for (std::string line; std::getline(stream, line);) {
    const std::size_t first = line.find('|');
    if (first == std::string::npos || line.starts_with("folder ")) continue;
    const std::size_t second = line.find('|', first + 1);
    const auto folder = words_of(line.substr(0, first));
    if (!folder.empty()) rows.push_back({folder.front(), {}, {}});
    for (const auto& word : words_of(line.substr(first + 1, second - first - 1))) {
      add_folder(rows.back().folders, word);
    }
    for (const auto& word : words_of(line.substr(second + 1))) {
      const std::size_t at = word.find('@');
      rows.back().libraries.push_back(
          {word.substr(0, at), at == std::string::npos ? "" : word.substr(at + 1)});
    }
  }
  return rows;
}

}  // namespace

const std::vector<FolderRow>& include_table() {
  static const std::vector<FolderRow> table = parse_table(kTable);
  return table;
}

std::string library_of(std::string_view header) {
  for (const Library& library : kLibraries) {
    for (const auto& prefix : words_of(library.headers)) {
      if (header.starts_with(prefix)) return std::string(library.name);
    }
  }
  return "";
}

}  // namespace godwit::tidy
