// Request and Response: HTTP as the router sees it, without a socket.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "shared/base/bytes.h"
#include "shared/base/result.h"

namespace godwit::http {

// Absent headers are empty.
struct Request {
  std::string method;
  std::string target;  // path and query, as sent
  std::string host;
  std::string authorization;
  std::string content_type;
  std::string origin;      // only browsers send these two
  std::string fetch_site;  // Sec-Fetch-Site
  std::string request_id;
  std::string body;
};

struct Response {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  SharedBytes body;
  std::string route = "other";  // template, for metrics: its values are bounded
  std::string allow;            // 405: the methods that the path has
  std::optional<int> retry_after_seconds;
  std::shared_ptr<void> hold;  // released when the last byte is sent
};

Response text_response(int status, std::string_view text);
Response json_response(int status, std::string_view json);
// RFC 9457, with code, hint and retryable of the error's Problem. `status` overrides that of the
// Problem.
Response problem_response(const Error& error, std::string_view request_id, int status = 0);

// As the Date header writes it: "Sun, 06 Nov 1994 08:49:37 GMT".
std::string http_date(std::chrono::system_clock::time_point time);

}  // namespace godwit::http
