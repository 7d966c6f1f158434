// Requests to the admin port: a line for each header that the router looks at, then the body.
#include <boost/json.hpp>

#include "server/http/router.h"
#include "tests/fuzz/targets.h"
#include "tests/unit/http/fake_service.h"

namespace godwit::fuzz {
namespace {

constexpr std::string_view kToken = "secret";

std::string take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string line(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

http::Request request_of(std::string_view text) {
  http::Request request;
  for (std::string* field : {&request.method, &request.target, &request.host,
                             &request.authorization, &request.content_type, &request.origin,
                             &request.fetch_site, &request.request_id}) {
    *field = take_line(text);
  }
  request.body = text;
  return request;
}

void check(const http::Response& response) {
  GODWIT_CHECK(response.status >= 200 && response.status < 600, "a status of HTTP");
  GODWIT_CHECK(response.body != nullptr, "every answer has a body");
  GODWIT_CHECK(response.route == "other" || response.route.starts_with('/'), "a known route");
  if (response.content_type.find("json") == std::string::npos) return;
  boost::json::error_code failure;
  boost::json::parse(boost::json::string_view(text(*response.body)), failure);
  GODWIT_CHECK(!failure, "what says that it is JSON is JSON");
}

}  // namespace

bool http_request(ByteView input) {
  std::string_view rest = text(input);
  const bool reads_need_token = take_line(rest) == "closed";
  const http::Request request = request_of(rest);
  http::FakeService service;
  metrics::Registry metrics(http::test_identity());
  http::Router router(service, metrics, {std::string(kToken), reads_need_token},
                      [](const std::function<void()>& run) { run(); });
  std::vector<http::Response> responses;
  router.handle(request, [&](http::Response response) { responses.push_back(std::move(response)); });

  GODWIT_CHECK(responses.size() == 1, "every request has one answer");
  check(responses.front());
  if (service.asked || service.stops > 0 || service.removals > 0) {
    GODWIT_CHECK(request.method == "POST" || request.method == "DELETE", "only these change anything");
    GODWIT_CHECK(request.authorization == "Bearer " + std::string(kToken), "changes need the token");
    GODWIT_CHECK(request.content_type.starts_with("application/json"), "and name their type");
  }
  return responses.front().status == 200;
}

}  // namespace godwit::fuzz
