#include "server/http/request_json.h"

#include <boost/json.hpp>
#include <functional>
#include <optional>

namespace godwit::http {
namespace {

constexpr std::size_t kReasonBytesMax = 200;

// Reads the fields of `body`; `take` says whether a field is known and valid.
Result<void> read_fields(
    std::string_view body, std::string_view example,
    const std::function<bool(std::string_view key, const boost::json::value&)>& take) {
  boost::json::error_code error;
  const boost::json::value parsed =
      boost::json::parse(boost::json::string_view(body.data(), body.size()), error);
  const boost::json::object* const object = error ? nullptr : parsed.if_object();
  const std::string hint = "; for example " + std::string(example);
  if (object == nullptr) return Error{Errc::kMalformed, "the body is not a JSON object" + hint};
  for (const auto& [key, value] : *object) {
    if (take(std::string_view(key.data(), key.size()), value)) continue;
    return Error{Errc::kInvalid,
                 "\"" + std::string(key) + "\": unknown key, or not a valid value" + hint};
  }
  return {};
}

Error missing(std::string_view what, std::string_view example) {
  return {Errc::kInvalid, std::string(what) + " is missing; for example " + std::string(example)};
}

std::optional<std::uint32_t> whole(const boost::json::value& value, std::int64_t low,
                                   std::int64_t high) {
  if (!value.is_int64() || value.as_int64() < low || value.as_int64() > high) return std::nullopt;
  return static_cast<std::uint32_t>(value.as_int64());
}

std::string text_of(const boost::json::value& value) {
  const boost::json::string* const text = value.if_string();
  return text ? std::string(text->data(), text->size()) : "";
}

}  // namespace

Result<ModeRequest> parse_mode_request(std::string_view body) {
  constexpr std::string_view kExample = R"({"mode": "sync", "sync_steps": 16})";
  ModeRequest request;
  bool has_mode = false;
  const Result<void> read =
      read_fields(body, kExample, [&](std::string_view key, const boost::json::value& value) {
        if (key == "sync_steps") {
          const auto steps = whole(value, 1, 1'000'000);
          request.sync_steps = steps.value_or(0);
          return steps.has_value();
        }
        const std::string word = text_of(value);
        has_mode = key == "mode" && (word == "sync" || word == "async");
        request.mode = word == "sync" ? Mode::kSync : Mode::kAsync;
        return has_mode;
      });
  if (!read) return read.error();
  if (!has_mode) return missing("\"mode\"", kExample);
  return request;
}

Result<PromoteRequest> parse_promote_request(std::string_view body) {
  constexpr std::string_view kExample = R"({"shard": 0, "region": "us-west"})";
  std::optional<std::uint32_t> shard;
  PromoteRequest request;
  const Result<void> read =
      read_fields(body, kExample, [&](std::string_view key, const boost::json::value& value) {
        if (key == "shard") shard = whole(value, 0, UINT32_MAX);
        if (key == "region") request.region = text_of(value);
        return key == "shard" ? shard.has_value() : key == "region" && !request.region.empty();
      });
  if (!read) return read.error();
  if (!shard || request.region.empty()) return missing("\"shard\" or \"region\"", kExample);
  request.shard = ShardId(*shard);
  return request;
}

Result<std::string> parse_checkpoint_request(std::string_view body) {
  std::string reason = "by hand";
  if (body.empty()) return reason;
  const Result<void> read =
      read_fields(body, R"({"reason": "before the new data"})",
                  [&](std::string_view key, const boost::json::value& value) {
                    reason = text_of(value);
                    return key == "reason" && !reason.empty() && reason.size() <= kReasonBytesMax;
                  });
  if (!read) return read.error();
  return reason;
}

Result<bool> parse_pin_request(std::string_view body) {
  constexpr std::string_view kExample = R"({"pinned": true})";
  std::optional<bool> pinned;
  const Result<void> read =
      read_fields(body, kExample, [&](std::string_view key, const boost::json::value& value) {
        if (key != "pinned" || !value.is_bool()) return false;
        pinned = value.as_bool();
        return true;
      });
  if (!read) return read.error();
  if (!pinned) return missing("\"pinned\"", kExample);
  return *pinned;
}

}  // namespace godwit::http
