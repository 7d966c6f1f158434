#include "server/http/http_message.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <ctime>

#include "shared/base/problem.h"

namespace godwit::http {
namespace {

// A reason may quote the request, which holds any bytes; JSON is UTF-8.
std::string printable(std::string_view text) {
  std::string shown(text);
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

}  // namespace

Response text_response(int status, std::string_view text) {
  Response response;
  response.status = status;
  response.body = share(copy(view(text)));
  return response;
}

Response json_response(int status, std::string_view json) {
  Response response = text_response(status, json);
  response.content_type = "application/json";
  return response;
}

Response problem_response(const Error& error, std::string_view request_id, int status) {
  constexpr int kRetryAfterSeconds = 1;
  const Problem& problem = problem_of(error.code);
  boost::json::object body;
  const int shown = status != 0 ? status : problem.http_status;
  body["type"] = "about:blank";
  body["title"] = problem.title;
  body["status"] = shown;
  body["detail"] = printable(error.context);
  body["code"] = problem.code;
  body["hint"] = problem.fix;
  body["retryable"] = problem.retryable;
  body["request_id"] = printable(request_id);
  Response response = json_response(shown, boost::json::serialize(body));
  response.content_type = "application/problem+json";
  if (problem.retryable) response.retry_after_seconds = kRetryAfterSeconds;
  return response;
}

std::string http_date(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 40> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return std::string(text.data(), size);
}

}  // namespace godwit::http
