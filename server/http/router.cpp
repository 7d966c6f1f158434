#include "server/http/router.h"

#include <algorithm>
#include <boost/json.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <charconv>
#include <map>

#include "server/http/request_json.h"
#include "server/http/status_json.h"
#include "shared/base/problem.h"

namespace godwit::http {
namespace {

// Public: probes, which send no token. Read: a token where the options ask for it. Change: always.
enum class Access : std::uint8_t { kPublic, kRead, kChange };

Error invalid(std::string what) { return Error{Errc::kInvalid, std::move(what)}; }

// Takes the same time wherever the texts differ.
bool equal_in_constant_time(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    difference |= static_cast<unsigned char>(left[i]) ^ static_cast<unsigned char>(right[i]);
  }
  return difference == 0;
}

bool is_json(std::string_view content_type) {
  return content_type == "application/json" || content_type.starts_with("application/json;");
}

// An address is nobody's name, so no browser can be sent here under it.
bool is_address(std::string_view host) {
  return host.starts_with('[') || host.find_first_not_of("0123456789.") == std::string_view::npos;
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Target {
  std::vector<std::string> segments;
  std::map<std::string, std::string> query;
};

std::optional<Target> parse_target(std::string_view text) {
  const auto parsed =
      boost::urls::parse_origin_form(boost::urls::string_view(text.data(), text.size()));
  if (!parsed) return std::nullopt;
  Target target;
  for (const auto& segment : parsed->segments())
    target.segments.emplace_back(segment.data(), segment.size());
  for (const auto& parameter : parsed->params()) {
    target.query[std::string(parameter.key)] = std::string(parameter.value);
  }
  return target;
}

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> segments;
  for (path.remove_prefix(1); true; path.remove_prefix(path.find('/') + 1)) {
    segments.emplace_back(path.substr(0, path.find('/')));
    if (path.find('/') == std::string_view::npos) return segments;
  }
}

}  // namespace

struct Router::Match {
  Request request;
  Target target;
  std::string parameter;  // what stands for {id}
};

struct Router::Route {
  std::string method;
  std::string path;  // template
  Access access;
  void (Router::*handler)(Match, Done);

  bool matches(const Target& target, std::string& parameter) const {
    const std::vector<std::string> segments = split_path(path);
    if (segments.size() != target.segments.size()) return false;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      if (segments[i] == "{id}")
        parameter = target.segments[i];
      else if (segments[i] != target.segments[i])
        return false;
    }
    return true;
  }
};

const std::vector<Router::Route>& Router::routes() {
  static const std::vector<Route> routes = {
      {"GET", "/livez", Access::kPublic, &Router::livez},
      {"GET", "/readyz", Access::kPublic, &Router::readyz},
      {"GET", "/metrics", Access::kRead, &Router::expose_metrics},
      {"GET", "/api/v1/status", Access::kRead, &Router::status},
      {"GET", "/api/v1/shards/{id}/hashes", Access::kRead, &Router::hashes},
      {"GET", "/api/v1/run/model", Access::kRead, &Router::model},
      {"GET", "/api/v1/checkpoints", Access::kRead, &Router::checkpoints},
      {"POST", "/api/v1/checkpoints", Access::kChange, &Router::create_checkpoint},
      {"DELETE", "/api/v1/checkpoints/{id}", Access::kChange, &Router::remove_checkpoint},
      {"POST", "/api/v1/checkpoints/{id}/pin", Access::kChange, &Router::pin_checkpoint},
      {"POST", "/api/v1/checkpoints/{id}/restore", Access::kChange, &Router::restore_checkpoint},
      {"POST", "/api/v1/mode", Access::kChange, &Router::set_mode},
      {"POST", "/api/v1/promote", Access::kChange, &Router::promote},
      {"POST", "/api/v1/stop", Access::kChange, &Router::stop_workers},
  };
  return routes;
}

Router::Router(AdminService& service, metrics::Registry& metrics, RouterOptions options, Post post)
    : service_(service), metrics_(metrics), options_(std::move(options)), post_(std::move(post)) {}

void Router::handle(const Request& request, Done done) {
  const auto target = parse_target(request.target);
  if (!target) {
    return done(problem_response({Errc::kMalformed, "the request's target is not a path"},
                                 request.request_id));
  }
  std::string allow;
  for (const Route& route : routes()) {
    std::string parameter;
    if (!route.matches(*target, parameter)) continue;
    allow += (allow.empty() ? "" : ", ") + route.method;
    if (route.method != request.method) continue;
    const Done finish = [done, path = route.path](Response response) {
      response.route = path;
      done(std::move(response));
    };
    if (const auto error = forbidden(request, route)) {
      metrics_.auth_failure(name(error->code));
      return finish(problem_response(*error, request.request_id));
    }
    return (this->*route.handler)(Match{request, *target, parameter}, finish);
  }
  if (!allow.empty()) {
    Response response = problem_response(
        {Errc::kInvalid, request.method + " is not a method of this path; it has " + allow},
        request.request_id, 405);
    response.allow = allow;
    return done(std::move(response));
  }
  std::string paths;
  for (const Route& route : routes()) paths += (paths.empty() ? "" : ", ") + route.path;
  done(problem_response({Errc::kNotFound, "no such path; there are " + paths}, request.request_id));
}

std::optional<Error> Router::forbidden(const Request& request, const Route& route) const {
  // A page in a browser whose name was pointed at us afterwards (DNS rebinding) sends that name.
  const std::size_t bracket = request.host.rfind(']');
  const std::string host =
      request.host.substr(0, request.host.find(':', bracket == std::string::npos ? 0 : bracket));
  if (!options_.reads_need_token && host != "localhost" && !is_address(host)) {
    return Error{Errc::kForbidden,
                 "the Host header names \"" + host + "\"; ask for localhost or an address"};
  }
  const bool needs_token = route.access == Access::kChange ||
                           (route.access == Access::kRead && options_.reads_need_token);
  if (needs_token) {
    constexpr std::string_view kScheme = "Bearer ";
    if (!request.authorization.starts_with(kScheme)) {
      return Error{Errc::kUnauthenticated, "this needs the header \"Authorization: Bearer TOKEN\""};
    }
    const std::string_view sent = std::string_view(request.authorization).substr(kScheme.size());
    if (options_.token.empty() || !equal_in_constant_time(sent, options_.token)) {
      return Error{Errc::kUnauthenticated, "the token is not the one in admin.token"};
    }
  }
  if (route.access != Access::kChange) return std::nullopt;
  const bool same_site = request.fetch_site.empty() || request.fetch_site == "same-origin" ||
                         request.fetch_site == "none";
  const bool same_origin = request.origin.empty() || request.origin == "http://" + request.host;
  if (!same_site || !same_origin)
    return Error{Errc::kForbidden, "requests from another site's page are refused"};
  if (!is_json(request.content_type)) {
    return Error{Errc::kUnsupported, "the Content-Type must be application/json"};
  }
  return std::nullopt;
}

void Router::livez(Match /*match*/, Done done) {
  service_.ping([post = post_, done] { post([done] { done(text_response(200, "ok\n")); }); });
}

void Router::readyz(Match match, Done done) {
  const bool verbose = match.target.query.contains("verbose");
  service_.status([post = post_, verbose, done](const StatusReport& status) {
    post([status, verbose, done] {
      const bool ready = is_ready(status);
      std::string text;
      for (const ReadinessCheck& check : status.checks) {
        text += check.ok ? "[+]" + check.name + " ok\n"
                         : "[-]" + check.name + " failed: " + check.message + "\n";
      }
      text += ready ? "readyz check passed\n" : "readyz check failed\n";
      done(text_response(ready ? 200 : 503, ready && !verbose ? "ok\n" : text));
    });
  });
}

void Router::expose_metrics(Match /*match*/, Done done) {
  service_.status([this, post = post_, done](const StatusReport& status) {
    post([this, status, done] {
      measure(status);
      Response response = text_response(200, metrics_.expose());
      response.content_type = "text/plain; version=0.0.4; charset=utf-8";
      done(std::move(response));
    });
  });
}

void Router::measure(const StatusReport& status) {
  for (const ReadinessCheck& check : status.checks) metrics_.set_ready(check.name, check.ok);
  std::map<std::string, std::uint64_t> workers = {
      {"joining", 0}, {"active", 0}, {"lagging", 0}, {"draining", 0}, {"lost", 0}};
  for (const WorkerReport& worker : status.workers) {
    const auto state = workers.find(worker.state);
    if (state != workers.end()) ++state->second;
  }
  for (const auto& [state, count] : workers) metrics_.set_workers(state, count);
  std::uint64_t lag = 0;
  for (const ShardReport& shard : status.shards) {
    metrics_.set_shard(shard.shard, shard.version, shard.parameters, shard.leads);
    lag = std::max(lag, shard.behind_versions);
  }
  metrics_.set_region_lag(status.region, lag);
  for (const LinkReport& link : status.links) {
    metrics_.set_link_up(link.region, link.up);
    for (const TrafficReport& item : link.traffic) {
      metrics_.set_link_bytes(link.region, item.traffic_class, item.sent_bytes,
                              item.received_bytes);
    }
  }
}

void Router::status(Match /*match*/, Done done) {
  service_.status([post = post_, done](const StatusReport& status) {
    post([status, done] { done(json_response(200, to_json(status))); });
  });
}

// The number of that name in the query; nullopt when it is not there.
Result<std::optional<std::uint64_t>> Router::number_of(const Match& match, const std::string& key) {
  const auto given = match.target.query.find(key);
  if (given == match.target.query.end()) return std::optional<std::uint64_t>();
  const auto number = parse_number(given->second);
  if (!number) return invalid(key + "=\"" + given->second + "\" is not a number");
  return std::optional(*number);
}

// Hands a report on, from whatever thread it comes.
template <class Report>
std::function<void(Result<Report>)> Router::reply(const Match& match, Done done) const {
  return [post = post_, id = match.request.request_id, done = std::move(done)](Result<Report> report) {
    post([report = std::move(report), id, done] {
      done(report ? json_response(200, to_json(*report)) : problem_response(report.error(), id));
    });
  };
}

void Router::hashes(Match match, Done done) {
  const std::string& id = match.request.request_id;
  const auto shard = parse_number(match.parameter);
  if (!shard || *shard > UINT32_MAX) {
    return done(
        problem_response(invalid("\"" + match.parameter + "\" is not the number of a shard"), id));
  }
  const auto version = number_of(match, "version");
  if (!version) return done(problem_response(version.error(), id));
  const ShardId shard_id(static_cast<std::uint32_t>(*shard));
  auto finish = reply<BlockHashesReport>(match, std::move(done));
  if (match.target.query.contains("rebuild") && *version)
    return service_.rebuilt_hashes(shard_id, Version(**version), std::move(finish));
  service_.block_hashes(shard_id, *version ? std::optional(Version(**version)) : std::nullopt, std::move(finish));
}

void Router::model(Match match, Done done) {
  const std::string& id = match.request.request_id;
  const auto checkpoint = number_of(match, "checkpoint");
  const auto version = number_of(match, "version");
  if (!checkpoint || !version)
    return done(problem_response(checkpoint ? version.error() : checkpoint.error(), id));
  if (*checkpoint && *version)
    return done(problem_response(invalid("give checkpoint or version, not both"), id));
  if (!export_.expired()) {
    return done(problem_response(
        {Errc::kOverloaded, "a model is being exported from this server already"}, id));
  }
  const auto hold = std::make_shared<char>();
  export_ = hold;
  const ModelRequest request{*checkpoint, *version ? std::optional(Version(**version)) : std::nullopt};
  service_.model(request, [post = post_, id, done, hold](Result<SharedBytes> file) {
    post([file, id, done, hold] {
      if (!file) return done(problem_response(file.error(), id));
      Response response;
      response.content_type = "application/octet-stream";
      response.body = *file;
      response.hold = hold;
      done(std::move(response));
    });
  });
}

void Router::checkpoints(Match match, Done done) {
  service_.checkpoints(reply<CheckpointsReport>(match, std::move(done)));
}

void Router::create_checkpoint(Match match, Done done) {
  auto reason = parse_checkpoint_request(match.request.body);
  if (!reason) return done(problem_response(reason.error(), match.request.request_id));
  service_.create_checkpoint(std::move(*reason), reply<CheckpointReport>(match, std::move(done)));
}

// Of the path; answers when it is none.
std::optional<std::uint64_t> Router::checkpoint_of(const Match& match, const Done& done) {
  const auto number = parse_number(match.parameter);
  if (!number) {
    done(problem_response(invalid("\"" + match.parameter + "\" is not the number of a checkpoint"),
                          match.request.request_id));
  }
  return number;
}

void Router::remove_checkpoint(Match match, Done done) {
  if (const auto checkpoint = checkpoint_of(match, done))
    service_.remove_checkpoint(*checkpoint, reply<CheckpointReport>(match, std::move(done)));
}

void Router::pin_checkpoint(Match match, Done done) {
  const auto checkpoint = checkpoint_of(match, done);
  if (!checkpoint) return;
  const auto pinned = parse_pin_request(match.request.body);
  if (!pinned) return done(problem_response(pinned.error(), match.request.request_id));
  service_.pin_checkpoint(*checkpoint, *pinned, reply<CheckpointReport>(match, std::move(done)));
}

void Router::restore_checkpoint(Match match, Done done) {
  if (const auto checkpoint = checkpoint_of(match, done))
    service_.restore_checkpoint(*checkpoint, reply<RestoreReport>(match, std::move(done)));
}

void Router::set_mode(Match match, Done done) {
  const auto mode = parse_mode_request(match.request.body);
  if (!mode) return done(problem_response(mode.error(), match.request.request_id));
  service_.set_mode(*mode, reply<ModeReport>(match, std::move(done)));
}

void Router::promote(Match match, Done done) {
  const auto promote = parse_promote_request(match.request.body);
  if (!promote) return done(problem_response(promote.error(), match.request.request_id));
  service_.promote(*promote, reply<PromoteReport>(match, std::move(done)));
}

void Router::stop_workers(Match match, Done done) {
  service_.stop_workers([post = post_, id = match.request.request_id, done](Result<void> stopped) {
    post([stopped, id, done] {
      done(stopped ? json_response(200, R"({"schema":"godwit.stop/v1","stopped":true})")
                   : problem_response(stopped.error(), id));
    });
  });
}

}  // namespace godwit::http
