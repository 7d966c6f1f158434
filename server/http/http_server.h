// HttpServer: the admin port of a server process: HTTP/1.1 on a thread of its own, so that no
// client of it, however slow, holds up training. Everything about a connection is bounded: how many
// there are, how long a header and a body may be, and how long every step may take.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "server/http/admin_service.h"
#include "shared/base/result.h"
#include "shared/base/time.h"
#include "shared/metrics/registry.h"

namespace godwit::http {

struct HttpOptions {
  std::string host = "127.0.0.1";  // a name or an address of this machine
  std::uint16_t port = 0;          // 0: any free one, see HttpServer::port()
  std::string token;               // what changes (and, beyond loopback, reads) must send
  bool reads_need_token = false;
  // One more takes the place of the one that has waited longest for a request; it is closed where all are answered.
  std::size_t connection_limit = 64;
  std::size_t header_bytes_limit = 16U << 10U;  // 431
  std::size_t body_bytes_limit = 64U << 10U;    // 413
  Duration request_deadline = seconds(10);  // for one whole request to arrive, idle time included
  Duration answer_deadline = seconds(10);   // for the AdminService: then 504
  Duration write_deadline = seconds(30);    // for each piece of an answer
};

class HttpServer {
 public:
  // Listens when it returns. `service` and `metrics` outlive it. kConfig: no such address; kIo: the
  // port is taken.
  static Result<std::unique_ptr<HttpServer>> start(HttpOptions options, AdminService& service,
                                                   metrics::Registry& metrics);
  ~HttpServer();  // closes everything; later answers of the service are dropped
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;

 private:
  class Impl;
  explicit HttpServer(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace godwit::http
