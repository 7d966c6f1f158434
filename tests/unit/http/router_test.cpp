#include "server/http/router.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "tests/unit/http/fake_service.h"

namespace godwit::http {
namespace {

constexpr const char* kToken = "secret-token";

Request get(const std::string& target) {
  Request request;
  request.method = "GET";
  request.target = target;
  request.host = "127.0.0.1:7780";
  request.request_id = "test-1";
  return request;
}

Request post(const std::string& target, const std::string& body) {
  Request request = get(target);
  request.method = "POST";
  request.authorization = std::string("Bearer ") + kToken;
  request.content_type = "application/json";
  request.body = body;
  return request;
}

class RouterTest : public testing::Test {
 protected:
  Response ask(const Request& request) {
    std::optional<Response> answer;
    router.handle(request, [&answer](Response response) { answer = std::move(response); });
    GODWIT_CHECK(answer.has_value(), "the fake service answers at once");
    return *answer;
  }
  static std::string body_of(const Response& response) {
    return std::string(text(view(response.body)));
  }
  static boost::json::object json_of(const Response& response) {
    return boost::json::parse(body_of(response)).as_object();
  }

  FakeService service;
  metrics::Registry registry{test_identity()};
  Router::Post at_once = [](const std::function<void()>& work) { work(); };
  Router router{service, registry, RouterOptions{kToken, false}, at_once};
};

TEST_F(RouterTest, ProbesAnswerInText) {
  EXPECT_EQ(body_of(ask(get("/livez"))), "ok\n");
  EXPECT_EQ(body_of(ask(get("/readyz"))), "ok\n");
  EXPECT_EQ(body_of(ask(get("/readyz?verbose"))),
            "[+]store ok\n[+]control ok\nreadyz check passed\n");
  service.report.checks[1] = {"control", false, "us-west is unreachable"};
  const Response failing = ask(get("/readyz"));
  EXPECT_EQ(failing.status, 503);
  EXPECT_EQ(body_of(failing),
            "[+]store ok\n[-]control failed: us-west is unreachable\nreadyz check failed\n");
}

TEST_F(RouterTest, AServerWithoutChecksIsNotReady) {
  service.report.checks.clear();
  EXPECT_EQ(ask(get("/readyz")).status, 503);
}

TEST_F(RouterTest, StatusFollowsTheJsonRules) {
  const auto status = json_of(ask(get("/api/v1/status")));
  EXPECT_EQ(status.at("schema").as_string(), "godwit.status/v1");
  EXPECT_EQ(status.at("mode").at("mode").as_string(), "sync");
  const auto& shard = status.at("shards").as_array().at(0);
  EXPECT_EQ(shard.at("version").as_string(), "1152921504606846976");  // 64-bit: a string
  const auto& link = status.at("links").as_array().at(0);
  EXPECT_EQ(link.at("rtt_seconds").as_double(), 0.08);
  EXPECT_EQ(link.at("traffic").as_array().at(0).at("sent_bytes").as_string(), "500");
}

TEST_F(RouterTest, MetricsShowTheStatus) {
  const Response response = ask(get("/metrics"));
  EXPECT_TRUE(response.content_type.starts_with("text/plain; version=0.0.4"));
  const std::string text = body_of(response);
  EXPECT_NE(text.find(R"(godwit_ready{check="store"} 1)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"(godwit_workers{region="us-west",run="demo",state="active"} 1)"),
            std::string::npos);
  EXPECT_NE(text.find(R"(godwit_region_version_lag{region="us-west",run="demo"} 4)"),
            std::string::npos);
  EXPECT_NE(text.find(R"(godwit_link_sent_bytes_total{class="delta",dst="eu",src="us-west"} 500)"),
            std::string::npos);
}

TEST_F(RouterTest, HashesOfAShardAtAVersion) {
  const auto hashes = json_of(ask(get("/api/v1/shards/1/hashes?version=7")));
  EXPECT_EQ(hashes.at("version").as_string(), "7");
  EXPECT_EQ(hashes.at("entry_hash").as_string(), "0000000000000abc");
  EXPECT_EQ(hashes.at("blocks").as_array().at(1).as_string(), "ffffffffffffffff");
  EXPECT_EQ(json_of(ask(get("/api/v1/shards/1/hashes"))).at("version").as_string(), "9");
  EXPECT_EQ(ask(get("/api/v1/shards/2/hashes")).status, 404);
  EXPECT_EQ(ask(get("/api/v1/shards/x/hashes")).status, 400);
  EXPECT_EQ(ask(get("/api/v1/shards/99999999999/hashes")).status, 400);
  EXPECT_EQ(ask(get("/api/v1/shards/1/hashes?version=-1")).status, 400);
}

TEST_F(RouterTest, OneModelExportAtATime) {
  const Response first = ask(get("/api/v1/run/model"));
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(view(first.body).size(), 10U);
  Response second = ask(get("/api/v1/run/model"));
  EXPECT_EQ(second.status, 503);
  EXPECT_TRUE(second.retry_after_seconds.has_value());
}

TEST_F(RouterTest, AnExportThatFailsFreesThePlace) {
  service.set_model(Error{Errc::kUnavailable, "no model yet"});
  EXPECT_EQ(ask(get("/api/v1/run/model")).status, 503);
  service.set_model(share(Bytes(1)));
  EXPECT_EQ(ask(get("/api/v1/run/model")).status, 200);
}

TEST_F(RouterTest, TheModeIsSet) {
  const auto mode = json_of(ask(post("/api/v1/mode", R"({"mode":"sync","sync_steps":8})")));
  EXPECT_EQ(mode.at("mode_epoch").as_string(), "4");
  ASSERT_TRUE(service.asked);
  EXPECT_EQ(service.asked->mode, Mode::kSync);
  EXPECT_EQ(service.asked->sync_steps, 8U);
}

TEST_F(RouterTest, BadModeRequestsChangeNothing) {
  for (const char* body :
       {"", "[]", "{", "{}", R"({"mode":"both"})", R"({"mode":"sync","sync_steps":0})",
        R"({"mode":"sync","steps":1})", R"({"mode":"sync","sync_steps":"16"})"}) {
    const Response response = ask(post("/api/v1/mode", body));
    EXPECT_EQ(response.status, 400) << body;
    EXPECT_EQ(response.content_type, "application/problem+json");
  }
  EXPECT_FALSE(service.asked);
}

TEST_F(RouterTest, PromotesByShardAndRegion) {
  const auto promoted = json_of(ask(post("/api/v1/promote", R"({"shard":3,"region":"eu"})")));
  EXPECT_EQ(promoted.at("shard").as_int64(), 3);
  EXPECT_EQ(promoted.at("region").as_string(), "eu");
  EXPECT_EQ(promoted.at("epoch").as_string(), "7");
  EXPECT_EQ(ask(post("/api/v1/promote", R"({"shard":0,"region":"mars"})")).status, 400);
  for (const std::string body :
       {"", "[]", "{}", R"({"shard":0})", R"({"region":"eu"})", R"({"shard":-1,"region":"eu"})",
        R"({"shard":"0","region":"eu"})", R"({"shard":0,"region":""})",
        R"({"shard":0,"region":"eu","force":true})"}) {
    const Response response = ask(post("/api/v1/promote", body));
    EXPECT_EQ(response.status, 400) << body;
  }
}

TEST_F(RouterTest, ChangesNeedTheTokenAndJsonAndNoForeignPage) {
  const auto refused = [&](auto change) {
    Request request = post("/api/v1/stop", "");
    change(request);
    return ask(request).status;
  };
  EXPECT_EQ(refused([](Request& request) { request.authorization = ""; }), 401);
  EXPECT_EQ(refused([](Request& request) { request.authorization = "Bearer secret-tokeN"; }), 401);
  EXPECT_EQ(refused([](Request& request) { request.authorization = "Bearer secret-token1"; }), 401);
  EXPECT_EQ(refused([](Request& request) { request.content_type = "text/plain"; }), 415);
  EXPECT_EQ(refused([](Request& request) { request.origin = "http://evil.example"; }), 403);
  EXPECT_EQ(refused([](Request& request) { request.fetch_site = "cross-site"; }), 403);
  EXPECT_EQ(refused([](Request& request) { request.host = "evil.example"; }), 403);
  EXPECT_EQ(service.stops, 0);
  EXPECT_EQ(refused([](Request& /*request*/) {}), 200);
  EXPECT_EQ(service.stops, 1);
}

TEST_F(RouterTest, WithoutATokenNothingCanBeChanged) {
  Router closed{service, registry, RouterOptions{"", false}, at_once};
  Request request = post("/api/v1/stop", "");
  request.authorization = "Bearer ";
  int status = 0;
  closed.handle(request, [&status](const Response& response) { status = response.status; });
  EXPECT_EQ(status, 401);
}

TEST_F(RouterTest, BeyondLoopbackReadsNeedTheTokenAndProbesDoNot) {
  Router open{service, registry, RouterOptions{kToken, true}, at_once};
  const auto status_of = [&](Request request) {
    int status = 0;
    open.handle(request, [&status](const Response& response) { status = response.status; });
    return status;
  };
  EXPECT_EQ(status_of(get("/api/v1/status")), 401);
  EXPECT_EQ(status_of(get("/metrics")), 401);
  EXPECT_EQ(status_of(get("/livez")), 200);
  Request known = get("/api/v1/status");
  known.authorization = std::string("Bearer ") + kToken;
  known.host = "us-west.example:7780";
  EXPECT_EQ(status_of(known), 200);
}

TEST_F(RouterTest, LocalHostNamesAreKnown) {
  for (const char* host : {"localhost", "localhost:7780", "127.0.0.1", "[::1]:7780"}) {
    Request request = get("/api/v1/status");
    request.host = host;
    EXPECT_EQ(ask(request).status, 200) << host;
  }
}

TEST_F(RouterTest, ProblemsNameCodeHintAndRequest) {
  const Response response = ask(get("/api/v1/nothing"));
  EXPECT_EQ(response.status, 404);
  const auto problem = json_of(response);
  EXPECT_EQ(problem.at("code").as_string(), "GODWIT-E4002");
  EXPECT_EQ(problem.at("request_id").as_string(), "test-1");
  EXPECT_FALSE(problem.at("retryable").as_bool());
  EXPECT_FALSE(problem.at("hint").as_string().empty());
}

TEST_F(RouterTest, AProblemThatQuotesOddBytesIsStillJson) {
  const auto problem = json_of(ask(get("/api/v1/shards/%ff%00/hashes")));
  EXPECT_EQ(problem.at("detail").as_string(), "\"??\" is not the number of a shard");
}

TEST_F(RouterTest, AWrongMethodSaysWhichOnesThereAre) {
  const Response response = ask(get("/api/v1/mode"));
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(response.allow, "POST");
}

TEST_F(RouterTest, OddTargetsAreRefused) {
  for (const char* target :
       {"", "livez", "/%zz", "http://x/livez", "/livez/", "//livez", "/", "*"}) {
    const int status = ask(get(target)).status;
    EXPECT_TRUE(status == 400 || status == 404) << target << " " << status;
  }
}

TEST_F(RouterTest, CheckpointsAreListedWithWhatIsKeptHere) {
  const auto list = json_of(ask(get("/api/v1/checkpoints")));
  EXPECT_EQ(list.at("schema").as_string(), "godwit.checkpoints/v1");
  EXPECT_EQ(list.at("region").as_string(), "us-west");
  const auto& item = list.at("items").at(0);
  EXPECT_EQ(item.at("id").as_string(), "4");
  EXPECT_EQ(item.at("shards").at(0).at("version").as_string(), "812");
  EXPECT_TRUE(item.at("shards").at(0).at("kept").as_bool());
}

TEST_F(RouterTest, CheckpointsAreMadePinnedRestoredAndRemovedByWhoeverHasTheToken) {
  const auto made = json_of(ask(post("/api/v1/checkpoints", R"({"reason": "new data"})")));
  EXPECT_EQ(made.at("reason").as_string(), "new data");
  EXPECT_EQ(json_of(ask(post("/api/v1/checkpoints", ""))).at("reason").as_string(), "by hand");
  EXPECT_TRUE(json_of(ask(post("/api/v1/checkpoints/4/pin", R"({"pinned": true})"))).at("pinned").as_bool());
  EXPECT_EQ(json_of(ask(post("/api/v1/checkpoints/4/restore", ""))).at("restore_epoch").as_string(), "5");
  Request remove = post("/api/v1/checkpoints/4", "");
  remove.method = "DELETE";
  EXPECT_EQ(ask(remove).status, 200);
  EXPECT_EQ(service.removals, 1);
  remove.authorization.clear();
  EXPECT_EQ(ask(remove).status, 401);
  EXPECT_EQ(service.removals, 1);
}

TEST_F(RouterTest, AWrongCheckpointRequestNamesTheMistake) {
  EXPECT_EQ(ask(post("/api/v1/checkpoints/9/pin", R"({"pinned": true})")).status, 404);
  EXPECT_EQ(ask(post("/api/v1/checkpoints/x/restore", "")).status, 400);
  const Response wrong = ask(post("/api/v1/checkpoints/4/pin", R"({"pin": true})"));
  EXPECT_EQ(wrong.status, 400);
  EXPECT_NE(body_of(wrong).find("pinned"), std::string::npos) << body_of(wrong);
}

TEST_F(RouterTest, AnyVersionOfTheModelCanBeAskedFor) {
  EXPECT_EQ(ask(get("/api/v1/run/model?version=12")).status, 200);
  EXPECT_EQ(service.asked_model->version, Version(12));
  EXPECT_EQ(ask(get("/api/v1/run/model?checkpoint=4")).status, 200);
  EXPECT_EQ(service.asked_model->checkpoint, 4U);
  EXPECT_EQ(ask(get("/api/v1/run/model?checkpoint=4&version=12")).status, 400);
  EXPECT_EQ(ask(get("/api/v1/run/model?version=new")).status, 400);
  EXPECT_EQ(json_of(ask(get("/api/v1/shards/1/hashes?version=7&rebuild"))).at("entry_hash").as_string(),
            "0000000000000eeb");
}

}  // namespace
}  // namespace godwit::http
