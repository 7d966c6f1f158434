#include "server/cli/admin_client.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/json.hpp>
#include <ctime>
#include <fstream>
#include <limits>

namespace godwit::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using Request = beast::http::request<beast::http::string_body>;
using boost::system::error_code;

constexpr std::uint64_t kBodyBytesLimit = 256ULL << 20U;  // of what is held in memory

// One request over one connection. Asynchronous inside, since only that way every step has a
// deadline.
class Exchange {
  static auto keep(error_code& error) {
    return [&error](error_code result, std::size_t /*bytes*/) { error = result; };
  }

 public:
  Exchange(const HostPort& address, Duration deadline) : address_(address), deadline_(deadline) {}

  Result<void> connect();
  Result<void> send(const Request& request);
  template <class Body>
  Result<void> read_header(beast::http::response_parser<Body>& parser) {
    error_code error;
    arm();
    beast::http::async_read_header(stream_, buffer_, parser, keep(error));
    return run(error, "reading the answer");
  }
  template <class Body>
  Result<void> read(beast::http::response_parser<Body>& parser) {
    error_code error;
    arm();
    beast::http::async_read(stream_, buffer_, parser, keep(error));
    return run(error, "reading the answer");
  }
  template <class Body>
  Result<void> read_some(beast::http::response_parser<Body>& parser) {
    error_code error;
    arm();
    beast::http::async_read_some(stream_, buffer_, parser, keep(error));
    return run(error, "reading the answer");
  }

 private:
  void arm() { stream_.expires_after(deadline_); }
  Result<void> run(const error_code& error, const char* what);

  HostPort address_;
  Duration deadline_;
  asio::io_context context_;
  beast::tcp_stream stream_{context_};
  beast::flat_buffer buffer_;
};

Result<void> Exchange::run(const error_code& error, const char* what) {
  context_.restart();
  context_.run();
  if (!error) return {};
  const std::string text = "http://" + to_string(address_) + ": " + what + ": " + error.message();
  if (error == beast::error::timeout) return Error{Errc::kTimedOut, text};
  const bool spoke_http =
      error.category() == make_error_code(beast::http::error::bad_version).category();
  const bool ended =
      error == beast::http::error::end_of_stream || error == beast::http::error::partial_message;
  return Error{spoke_http && !ended ? Errc::kMalformed : Errc::kUnavailable, text};
}

Result<void> Exchange::connect() {
  asio::ip::tcp::resolver resolver(context_);
  error_code error;
  const auto found = resolver.resolve(address_.host, std::to_string(address_.port), error);
  if (error)
    return Error{Errc::kUnavailable, "http://" + to_string(address_) + ": " + error.message()};
  arm();
  stream_.async_connect(found,
                        [&error](error_code result, const auto& /*endpoint*/) { error = result; });
  return run(error, "connecting");
}

Result<void> Exchange::send(const Request& request) {
  error_code error;
  arm();
  beast::http::async_write(stream_, request, keep(error));
  return run(error, "sending the request");
}

Request make_request(const HostPort& address, const std::string& token, beast::http::verb method,
                     const std::string& target) {
  Request request(method, target, 11);
  request.set(beast::http::field::host, to_string(address));
  request.set(beast::http::field::user_agent, "godwit");
  request.set(beast::http::field::connection, "close");
  if (!token.empty()) request.set(beast::http::field::authorization, "Bearer " + token);
  return request;
}

std::optional<std::chrono::system_clock::time_point> parse_date(const std::string& header) {
  std::tm parts{};
  if (::strptime(header.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts) == nullptr) return std::nullopt;
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

Result<Answer> ask(const HostPort& address, const Request& request, Duration deadline) {
  Exchange exchange(address, deadline);
  if (auto connected = exchange.connect(); !connected) return connected.error();
  if (auto sent = exchange.send(request); !sent) return sent.error();
  beast::http::response_parser<beast::http::string_body> parser;
  parser.body_limit(kBodyBytesLimit);
  if (auto read = exchange.read(parser); !read) return read.error();
  const auto date = parser.get()[beast::http::field::date];
  return Answer{static_cast<int>(parser.get().result_int()), parser.get().body(),
                parse_date(std::string(date.data(), date.size()))};
}

// The rest of a body, piece by piece, to a file.
Result<void> save_body(Exchange& exchange,
                       beast::http::response_parser<beast::http::buffer_body>& parser,
                       std::ofstream& out) {
  std::vector<char> piece(256U << 10U);
  while (!parser.is_done()) {
    parser.get().body().data = piece.data();
    parser.get().body().size = piece.size();
    const auto read = exchange.read_some(parser);
    const std::size_t count = piece.size() - parser.get().body().size;
    out.write(piece.data(), static_cast<std::streamsize>(count));
    if (!read) return read.error();
  }
  return {};
}

}  // namespace

Result<Answer> AdminClient::get(const std::string& target, Duration deadline) const {
  return ask(address_, make_request(address_, token_, beast::http::verb::get, target), deadline);
}

Result<Answer> AdminClient::post(const std::string& target, const std::string& json,
                                 Duration deadline) const {
  Request request = make_request(address_, token_, beast::http::verb::post, target);
  request.set(beast::http::field::content_type, "application/json");
  request.body() = json;
  request.prepare_payload();
  return ask(address_, request, deadline);
}

Result<Answer> AdminClient::remove(const std::string& target, Duration deadline) const {
  Request request = make_request(address_, token_, beast::http::verb::delete_, target);
  request.set(beast::http::field::content_type, "application/json");
  return ask(address_, request, deadline);
}

Result<Answer> AdminClient::download(const std::string& target, const std::filesystem::path& file,
                                     Duration deadline) const {
  Exchange exchange(address_, deadline);
  if (auto connected = exchange.connect(); !connected) return connected.error();
  const Request request = make_request(address_, token_, beast::http::verb::get, target);
  if (auto sent = exchange.send(request); !sent) return sent.error();
  beast::http::response_parser<beast::http::buffer_body> header;
  header.body_limit(std::numeric_limits<std::uint64_t>::max());
  if (auto read = exchange.read_header(header); !read) return read.error();
  Answer answer{static_cast<int>(header.get().result_int()), ""};
  if (answer.status != 200) {
    beast::http::response_parser<beast::http::string_body> parser(std::move(header));
    parser.body_limit(kBodyBytesLimit);
    if (auto read = exchange.read(parser); !read) return read.error();
    answer.body = parser.get().body();
    return answer;
  }
  std::filesystem::path partial = file;
  partial += ".partial";
  std::ofstream out(partial, std::ios::binary | std::ios::trunc);
  Result<void> saved = save_body(exchange, header, out);
  out.close();
  if (saved && !out)
    saved = Error{Errc::kIo, "writing " + partial.string() + ": check space and permissions"};
  std::error_code error;
  if (saved) std::filesystem::rename(partial, file, error);
  if (saved && error)
    saved = Error{Errc::kIo, "renaming to " + file.string() + ": " + error.message()};
  if (saved) return answer;
  std::filesystem::remove(partial, error);
  return saved.error();
}

Failure failure_of(const Answer& answer) {
  boost::json::error_code error;
  const boost::json::value parsed = boost::json::parse(answer.body, error);
  const boost::json::object* const object = error ? nullptr : parsed.if_object();
  const auto field = [object](const char* key) -> std::string {
    const boost::json::value* const value = object ? object->if_contains(key) : nullptr;
    const boost::json::string* const text = value ? value->if_string() : nullptr;
    return text ? std::string(text->data(), text->size()) : "";
  };
  if (find_problem(field("code")) != nullptr) return Failure(field("code"), field("detail"));
  return Failure(Error{Errc::kUnsupported,
                       "the server answered with status " + std::to_string(answer.status)});
}

std::string read_admin_token(const ClusterConfig& config) {
  std::ifstream in(config.admin_token_file());
  std::string token;
  std::getline(in, token);
  return token;
}

}  // namespace godwit::cli
