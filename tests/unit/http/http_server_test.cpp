// The admin port over real sockets: slow, large, broken and too many clients.
#include "server/http/http_server.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <thread>

#include "server/http/http_message.h"
#include "tests/unit/http/fake_service.h"

namespace godwit::http {
namespace {

namespace asio = boost::asio;

class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(context_) {
    socket_.connect({asio::ip::address_v4::loopback(), port});
  }
  void send(const std::string& text) {
    boost::system::error_code ignored;  // the server may have closed already
    asio::write(socket_, asio::buffer(text), ignored);
  }
  // Everything until the server closes.
  std::string read_all() {
    std::string text;
    boost::system::error_code end;
    asio::read(socket_, asio::dynamic_buffer(text), end);
    return text;
  }
  // One answer, by its Content-Length.
  std::string read_answer() {
    boost::system::error_code error;
    while (whole_answer() == 0 && !error) {
      char piece[4096];
      received_.append(piece, socket_.read_some(asio::buffer(piece), error));
    }
    const std::string answer = received_.substr(0, whole_answer());
    received_.erase(0, answer.size());
    return answer;
  }

 private:
  std::size_t whole_answer() const {
    const std::size_t body = received_.find("\r\n\r\n");
    const std::size_t length = received_.find("Content-Length: ");
    if (body == std::string::npos || length == std::string::npos) return 0;
    const std::size_t size = body + 4 + std::stoul(received_.substr(length + 16));
    return received_.size() >= size ? size : 0;
  }

  asio::io_context context_;
  asio::ip::tcp::socket socket_;
  std::string received_;
};

std::string request(const std::string& target, const std::string& more = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + more + "\r\n";
}

class HttpServerTest : public testing::Test {
 protected:
  void start(HttpOptions options = {}) {
    auto started = HttpServer::start(std::move(options), service, registry);
    ASSERT_TRUE(started) << started.error().context;
    server = std::move(*started);
  }
  std::string ask(const std::string& text) const {
    Client client(server->port());
    client.send(text);
    return client.read_answer();
  }

  FakeService service;
  metrics::Registry registry{test_identity()};
  std::unique_ptr<HttpServer> server;
};

TEST(HttpDate, IsWrittenAsTheStandardSays) {
  EXPECT_EQ(http_date(std::chrono::system_clock::from_time_t(784111777)), "Sun, 06 Nov 1994 08:49:37 GMT");
}

TEST_F(HttpServerTest, SaysWhatTimeItIs) {
  start();
  const std::string date = "\r\nDate: " + http_date(std::chrono::system_clock::now()).substr(0, 16);
  EXPECT_NE(ask(request("/livez")).find(date), std::string::npos);
}

TEST_F(HttpServerTest, AnswersAndKeepsTheConnection) {
  start();
  Client client(server->port());
  for (int i = 0; i < 3; ++i) {
    client.send(request("/livez", "X-Request-Id: mine-" + std::to_string(i) + "\r\n"));
    const std::string answer = client.read_answer();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
    EXPECT_TRUE(answer.ends_with("\r\n\r\nok\n")) << answer;
    EXPECT_NE(answer.find("X-Request-Id: mine-" + std::to_string(i)), std::string::npos);
  }
}

TEST_F(HttpServerTest, ClosesWhenAskedTo) {
  start();
  Client client(server->port());
  client.send(request("/livez", "Connection: close\r\n"));
  EXPECT_TRUE(client.read_all().ends_with("ok\n"));
}

TEST_F(HttpServerTest, ARequestIdThatCouldHarmIsReplaced) {
  start();
  const std::string answer = ask(request("/nothing", "X-Request-Id: a b<script>\r\n"));
  EXPECT_EQ(answer.find("script"), std::string::npos) << answer;
  EXPECT_NE(answer.find("\"request_id\":\"r"), std::string::npos) << answer;
}

TEST_F(HttpServerTest, CountsRequestsByRoute) {
  start();
  ask(request("/api/v1/shards/1/hashes"));
  ask(request("/some/where"));
  const std::string text = registry.expose();
  EXPECT_NE(
      text.find(
          R"(http_requests_total{code="200",method="GET",route="/api/v1/shards/{id}/hashes"} 1)"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find(R"(http_requests_total{code="404",method="GET",route="other"} 1)"),
            std::string::npos);
}

TEST_F(HttpServerTest, NonsenseAndExcessAreRefusedAndTheServerLives) {
  start();
  EXPECT_TRUE(ask("nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
  EXPECT_TRUE(ask(request("/livez", "X-Long: " + std::string(20'000, 'x') + "\r\n"))
                  .starts_with("HTTP/1.1 431"));
  EXPECT_TRUE(ask("POST /api/v1/mode HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n")
                  .starts_with("HTTP/1.1 413"));
  EXPECT_TRUE(ask("POST /api/v1/mode HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
                  "chunked\r\n\r\nfffff\r\n" +
                  std::string(70'000, 'x'))
                  .starts_with("HTTP/1.1 413"));
  EXPECT_TRUE(ask(request("/livez")).starts_with("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, ASlowRequestIsDroppedAndHoldsUpNobody) {
  HttpOptions options;
  options.request_deadline = milliseconds(100);
  start(options);
  Client slow(server->port());
  slow.send("GET /livez HT");
  EXPECT_TRUE(ask(request("/livez")).starts_with("HTTP/1.1 200"));
  EXPECT_EQ(slow.read_all(), "");
}

TEST_F(HttpServerTest, ASlowReaderIsDropped) {
  HttpOptions options;
  options.write_deadline = milliseconds(100);
  start(options);
  service.set_model(share(Bytes(64U << 20U)));
  Client slow(server->port());
  slow.send(request("/api/v1/run/model"));
  // Until it is dropped, its export is the only one; then the next one may start.
  service.set_model(share(Bytes(100)));
  std::string answer;
  while (!answer.starts_with("HTTP/1.1 200")) answer = ask(request("/api/v1/run/model"));
  EXPECT_LT(slow.read_all().size(), 64U << 20U);
}

TEST_F(HttpServerTest, ALargeModelArrivesWhole) {
  start();
  Bytes model(5'000'001);
  for (std::size_t i = 0; i < model.size(); ++i) model[i] = static_cast<std::byte>(i % 251);
  service.set_model(share(model));
  const std::string answer = ask(request("/api/v1/run/model"));
  EXPECT_TRUE(answer.ends_with(text(model)));
}

TEST_F(HttpServerTest, OneConnectionTooManyTakesThePlaceOfTheLongestIdle) {
  HttpOptions options;
  options.connection_limit = 2;
  start(options);
  Client first(server->port());
  Client second(server->port());
  for (Client* client : {&first, &second}) {
    client->send(request("/livez"));
    EXPECT_NE(client->read_answer(), "");
  }
  EXPECT_TRUE(ask(request("/livez")).starts_with("HTTP/1.1 200"));
  EXPECT_EQ(first.read_all(), "");
  second.send(request("/livez"));
  EXPECT_TRUE(second.read_answer().starts_with("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, WhoIsAnsweredKeepsItsPlace) {
  HttpOptions options;
  options.connection_limit = 1;
  start(options);
  service.hold = true;
  Client first(server->port());
  first.send(request("/livez"));
  while (service.held() == 0) std::this_thread::yield();
  EXPECT_EQ(Client(server->port()).read_all(), "");
  service.release();
  EXPECT_TRUE(first.read_answer().starts_with("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, ALengthBombCostsNothing) {
  start();
  for (const std::string length : {"18446744073709551615", "18446744073709551616", "-1", "4294967296"}) {
    const std::string answer =
        ask("POST /api/v1/mode HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + length + "\r\n\r\n");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 413") || answer.starts_with("HTTP/1.1 400")) << length << answer;
  }
  EXPECT_TRUE(ask("POST /api/v1/mode HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "ffffffffffffffff\r\n")
                  .starts_with("HTTP/1.1 4"));
  EXPECT_TRUE(ask(request("/livez")).starts_with("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, AProcessThatHangsIsReported) {
  HttpOptions options;
  options.answer_deadline = milliseconds(50);
  start(options);
  service.hold = true;
  EXPECT_TRUE(ask(request("/livez")).starts_with("HTTP/1.1 504"));
  service.release();  // too late: dropped
  service.hold = false;
  EXPECT_TRUE(ask(request("/livez")).starts_with("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, AnAnswerAfterTheEndIsDropped) {
  start();
  service.hold = true;
  Client client(server->port());
  client.send(request("/api/v1/status"));
  while (service.held() == 0) std::this_thread::yield();
  server.reset();
  service.release();
  EXPECT_EQ(client.read_all(), "");
}

TEST_F(HttpServerTest, ATakenPortIsNamed) {
  start();
  HttpOptions options;
  options.port = server->port();
  const auto again = HttpServer::start(options, service, registry);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::kIo);
  EXPECT_NE(again.error().context.find(std::to_string(options.port)), std::string::npos);
}

}  // namespace
}  // namespace godwit::http
