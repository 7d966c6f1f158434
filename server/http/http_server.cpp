#include "server/http/http_server.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <exception>
#include <list>
#include <random>
#include <thread>

#include "server/http/router.h"
#include "shared/base/check.h"
#include "shared/base/log.h"

namespace godwit::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using Parser = beast::http::request_parser<beast::http::string_body>;
using Header = beast::http::response<beast::http::empty_body>;
using Clock = std::chrono::steady_clock;

constexpr auto kWait = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kPieceBytes = 256U << 10U;
constexpr auto kAcceptPause =
    std::chrono::milliseconds(100);  // after accept() failed: out of descriptors

std::string text(beast::string_view view) { return std::string(view.data(), view.size()); }

// Letters, digits, ".", "_" and "-", at most 64: safe to echo and to log.
bool is_request_id(const std::string& id) {
  return !id.empty() && id.size() <= 64 &&
         id.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
             std::string::npos;
}

std::string bounded_method(const std::string& method) {
  return method == "GET" || method == "POST" ? method : "other";
}

// What an unreadable request is answered with; nullopt: nobody waits for an answer.
std::optional<Response> refusal(const boost::system::error_code& failure,
                                const HttpOptions& options) {
  using beast::http::error;
  const std::string header_limit = std::to_string(options.header_bytes_limit);
  const std::string body_limit = std::to_string(options.body_bytes_limit);
  if (failure == error::header_limit) {
    return problem_response(
        {Errc::kTooLarge, "the header is longer than " + header_limit + " bytes"}, "", 431);
  }
  if (failure == error::body_limit) {
    return problem_response({Errc::kTooLarge, "the body is longer than " + body_limit + " bytes"},
                            "");
  }
  const bool spoke_http = failure.category() == make_error_code(error::bad_method).category() &&
                          failure != error::end_of_stream && failure != error::partial_message;
  if (!spoke_http) return std::nullopt;
  return problem_response({Errc::kMalformed, "not an HTTP/1.1 request: " + failure.message()}, "");
}

}  // namespace

class HttpServer::Impl : public std::enable_shared_from_this<HttpServer::Impl> {
 public:
  Impl(HttpOptions options, AdminService& service, metrics::Registry& metrics)
      : options_(std::move(options)), service_(service), metrics_(metrics) {}

  Result<void> listen();
  void run();
  void stop();
  std::uint16_t port() const { return port_; }

 private:
  // What the router's answer and its deadline race for.
  struct Answer {
    explicit Answer(asio::io_context& context) : timer(context) {}
    asio::steady_timer timer;
    std::optional<Response> response;
  };

  asio::awaitable<void> accept();
  // Closes a connection whose request is not there yet. False: there is none.
  bool make_room();
  asio::awaitable<void> serve(beast::tcp_stream stream);
  asio::awaitable<Response> answer(Request request);
  asio::awaitable<bool> send(beast::tcp_stream& stream, const Response& response,
                             const std::string& request_id, bool keep_alive);
  void spawn(asio::awaitable<void> task);
  Request read_request(const Parser& parser);

  const HttpOptions options_;
  AdminService& service_;
  metrics::Registry& metrics_;
  std::unique_ptr<Router> router_;
  std::uint16_t port_ = 0;
  std::size_t connections_ = 0;
  std::list<beast::tcp_stream*> reading_;  // those of which a request is read, the longest-waiting first
  std::uint64_t next_request_ = std::random_device()();
  std::thread thread_;
  asio::io_context context_{1};
  asio::ip::tcp::acceptor acceptor_{context_};
};

Result<void> HttpServer::Impl::listen() {
  boost::system::error_code error;
  asio::ip::tcp::resolver resolver(context_);
  const std::string port = std::to_string(options_.port);
  const auto found = resolver.resolve(options_.host, port, asio::ip::tcp::resolver::passive, error);
  if (error || found.empty()) {
    return Error{Errc::kConfig, "admin address " + options_.host + ": " + error.message() +
                                    "; use one of this machine"};
  }
  const asio::ip::tcp::endpoint endpoint = found.begin()->endpoint();
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return Error{Errc::kIo, "admin address " + options_.host + ":" + port + ": " + error.message() +
                                "; stop what uses it, or change admin in cluster.toml"};
  }
  port_ = acceptor_.local_endpoint().port();
  return {};
}

void HttpServer::Impl::run() {
  const Router::Post post = [weak = weak_from_this()](std::function<void()> work) {
    if (const auto self = weak.lock()) asio::post(self->context_, std::move(work));
  };
  router_ = std::make_unique<Router>(
      service_, metrics_, RouterOptions{options_.token, options_.reads_need_token}, post);
  spawn(accept());
  thread_ = std::thread([this] { context_.run(); });
}

void HttpServer::Impl::stop() {
  context_.stop();
  if (thread_.joinable()) thread_.join();
}

void HttpServer::Impl::spawn(asio::awaitable<void> task) {
  asio::co_spawn(context_, std::move(task), [](const std::exception_ptr& failure) {
    GODWIT_CHECK(!failure, "no exception leaves a connection of the admin port");
  });
}

asio::awaitable<void> HttpServer::Impl::accept() {
  while (true) {
    auto [error, socket] = co_await acceptor_.async_accept(kWait);
    if (error) {
      log::warning("http", "accepting a connection: " + error.message());
      asio::steady_timer pause(context_, kAcceptPause);
      co_await pause.async_wait(kWait);
    } else if (connections_ < options_.connection_limit || make_room()) {
      spawn(serve(beast::tcp_stream(std::move(socket))));
    }
  }
}

bool HttpServer::Impl::make_room() {
  if (reading_.empty()) return false;
  reading_.front()->close();
  reading_.pop_front();
  return true;
}

Request HttpServer::Impl::read_request(const Parser& parser) {
  const auto& message = parser.get();
  const auto header = [&message](auto name) { return text(message[name]); };
  Request request;
  request.method = text(message.method_string());
  request.target = text(message.target());
  request.host = header(beast::http::field::host);
  request.authorization = header(beast::http::field::authorization);
  request.content_type = header(beast::http::field::content_type);
  request.origin = header(beast::http::field::origin);
  request.fetch_site = header("Sec-Fetch-Site");
  request.request_id = header("X-Request-Id");
  if (!is_request_id(request.request_id))
    request.request_id = "r" + std::to_string(next_request_++);
  request.body = message.body();
  return request;
}

asio::awaitable<void> HttpServer::Impl::serve(beast::tcp_stream stream) {
  struct Count {
    explicit Count(std::size_t& connections) : connections(connections) { ++connections; }
    ~Count() { --connections; }
    Count(const Count&) = delete;
    Count& operator=(const Count&) = delete;
    std::size_t& connections;
  };
  const Count count(connections_);
  beast::flat_buffer buffer(options_.header_bytes_limit + options_.body_bytes_limit);
  bool keep_alive = true;
  while (keep_alive) {
    Parser parser;
    parser.header_limit(static_cast<std::uint32_t>(options_.header_bytes_limit));
    parser.body_limit(options_.body_bytes_limit);
    stream.expires_after(options_.request_deadline);
    reading_.push_back(&stream);
    const auto [error, bytes] = co_await beast::http::async_read(stream, buffer, parser, kWait);
    std::erase(reading_, &stream);
    if (error) {
      const std::optional<Response> refused = refusal(error, options_);
      if (refused) co_await send(stream, *refused, "", false);
      break;
    }
    const Clock::time_point started = Clock::now();
    const Request request = read_request(parser);
    const Response response = co_await answer(request);
    metrics_.http_request(response.route, bounded_method(request.method), response.status,
                          Clock::now() - started);
    keep_alive = parser.keep_alive();
    const bool sent = co_await send(stream, response, request.request_id, keep_alive);
    if (!sent) break;
  }
  boost::system::error_code ignored;
  stream.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
}

asio::awaitable<Response> HttpServer::Impl::answer(Request request) {
  const auto answer = std::make_shared<Answer>(context_);
  answer->timer.expires_after(options_.answer_deadline);
  // Weak: the service may hold this longer than the server, and its timer, lives.
  const Router::Done done = [weak = std::weak_ptr(answer)](Response response) {
    const auto waiting = weak.lock();
    if (!waiting) return;
    waiting->response = std::move(response);
    waiting->timer.cancel();
  };
  router_->handle(request, done);
  if (!answer->response) co_await answer->timer.async_wait(kWait);
  if (answer->response) co_return std::move(*answer->response);
  const Error late{Errc::kTimedOut, "the server process did not answer"};
  co_return problem_response(late, request.request_id);
}

// False: the connection is of no more use.
asio::awaitable<bool> HttpServer::Impl::send(beast::tcp_stream& stream, const Response& response,
                                             const std::string& request_id, bool keep_alive) {
  namespace field = beast::http;
  const ByteView body = view(response.body);
  Header header(static_cast<field::status>(response.status), 11);
  header.set(field::field::content_type, response.content_type);
  header.set(field::field::cache_control, "no-store");
  header.set(field::field::date, http_date(std::chrono::system_clock::now()));
  header.set("X-Content-Type-Options", "nosniff");
  if (!request_id.empty()) header.set("X-Request-Id", request_id);
  if (!response.allow.empty()) header.set(field::field::allow, response.allow);
  if (response.status == 401) header.set(field::field::www_authenticate, "Bearer");
  if (response.retry_after_seconds)
    header.set(field::field::retry_after, std::to_string(*response.retry_after_seconds));
  header.content_length(body.size());
  header.keep_alive(keep_alive);
  beast::http::response_serializer<beast::http::empty_body> serializer(header);
  stream.expires_after(options_.write_deadline);
  const auto [error, written] = co_await beast::http::async_write_header(stream, serializer, kWait);
  if (error) co_return false;
  for (std::size_t at = 0; at < body.size(); at += kPieceBytes) {
    const ByteView piece = body.subspan(at, std::min(kPieceBytes, body.size() - at));
    const asio::const_buffer bytes(piece.data(), piece.size());
    stream.expires_after(options_.write_deadline);
    const auto [piece_error, piece_bytes] = co_await asio::async_write(stream, bytes, kWait);
    if (piece_error) co_return false;
  }
  co_return true;
}

HttpServer::HttpServer(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() { impl_->stop(); }
std::uint16_t HttpServer::port() const { return impl_->port(); }

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpOptions options, AdminService& service,
                                                      metrics::Registry& metrics) {
  auto impl = std::make_shared<Impl>(std::move(options), service, metrics);
  if (auto listening = impl->listen(); !listening) return listening.error();
  impl->run();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

}  // namespace godwit::http
