// The figures of one region's link, measured in one process: bare TLS, pushes over the same loopback, raw
// RocksDB, durable pushes on the same disk. What each figure means: bench/README.md.
#pragma once

#include <filesystem>

#include "shared/base/result.h"
#include "shared/base/time.h"

namespace godwit::bench {

struct LinkPlan {
  Duration duration = seconds(5);        // of each figure, over all turns
  std::uint32_t turns = 5;               // the figures take turns; reported are medians
  std::uint64_t chunk_bytes = 4U << 20;  // of a TLS write, a block and a stored value
  std::uint64_t parameters = 4U << 20;   // of the model: a push has 4 bytes for each
  std::uint32_t window = 4;              // pushes unacknowledged at once, as of so many workers
  std::filesystem::path directory;       // where stores lie
};

struct LinkFigures {
  // Bytes per second.
  double bare_tls = 0;
  double push = 0;
  double raw_rocksdb = 0;
  double durable = 0;
  double durable_fp32 = 0;
  // Medians of the ratios of each turn: what slows the machine for a while slows both sides.
  double push_ratio = 0;          // push / bare_tls
  double durable_ratio = 0;       // durable / raw_rocksdb
  double durable_fp32_ratio = 0;  // durable_fp32 / raw_rocksdb
};

Result<LinkFigures> measure_link(const LinkPlan& plan);

}  // namespace godwit::bench
