// BareTls: what a link could carry if nothing were done with the bytes: two Asio TLS streams on loopback,
// with the certificates and cipher suites of a cluster, one thread writing chunks, one reading them.
#pragma once

#include <memory>

#include "bench/local_server.h"

namespace godwit::bench {

class BareTls {
 public:
  // The first server's certificate against its worker's. Errors: kConfig, kIo.
  static Result<std::unique_ptr<BareTls>> connect(const LocalCluster& cluster, std::size_t chunk_bytes);
  ~BareTls();

  // Bytes per second, from the first byte written to the last byte read. Errors: kClosed.
  Result<double> measure(Duration duration);

 private:
  struct Impl;
  explicit BareTls(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace godwit::bench
