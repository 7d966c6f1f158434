#include "worker/client/link.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <charconv>

#include "shared/base/log.h"

namespace godwit::client {
namespace {

constexpr Duration kDialDeadline = seconds(5);
constexpr Duration kBackOffFirst = milliseconds(100);
constexpr Duration kBackOffLast = milliseconds(500);
constexpr std::size_t kQueueBytes = 512U << 20;        // pushes that wait for the wire
constexpr std::uint64_t kMaxMessageBytes = 8ULL << 30;  // the server, which we trust, sends whole shards

bool is_fatal(const Error& error) {
  return error.code == Errc::kUnauthenticated || error.code == Errc::kForbidden || error.code == Errc::kConfig ||
         error.code == Errc::kUnsupported || error.code == Errc::kConflict;
}

Result<net::DialTarget> parse_target(const std::string& server, const std::string& cluster, const std::string& region) {
  const std::size_t colon = server.rfind(':');
  std::uint16_t port = 0;
  if (colon != std::string::npos) std::from_chars(server.data() + colon + 1, server.data() + server.size(), port);
  if (colon == std::string::npos || colon == 0 || port == 0) {
    return Error{Errc::kConfig, "server '" + server + "' is not HOST:PORT, such as 127.0.0.1:7700"};
  }
  net::DialTarget target{server.substr(0, colon), port, {cluster, region, net::Role::kServer}};
  return target;
}

}  // namespace

Result<void> Link::start() {
  Result<net::TlsOptions> tls =
      net::load_tls_options(options_.authority_file, options_.certificate_file, options_.key_file);
  if (!tls) return tls.error();
  Result<net::TlsContext> context = net::TlsContext::create(net::TlsSide::kClient, *tls);
  if (!context) return context.error();
  const net::Identity& own = context->own_identity();
  if (own.role != net::Role::kWorker || own.region != options_.region || own.name != options_.name) {
    return Error{Errc::kConfig, "the certificate is of " + net::format_identity(own) + ", not of worker '" +
                                    options_.name + "' in region '" + options_.region + "'"};
  }
  Result<net::DialTarget> target = parse_target(options_.server, own.cluster, options_.region);
  if (!target) return target.error();
  group_ = std::make_unique<net::TaskGroup>(io_.get_executor());
  group_->spawn(dial_forever(std::move(*context), std::move(*target)));
  thread_ = std::thread([this] { io_.run(); });
  return {};
}

void Link::stop() {
  if (!thread_.joinable()) return;
  asio::co_spawn(io_, shut_down(), [](const std::exception_ptr&) {});
  thread_.join();
  group_.reset();
}

asio::awaitable<void> Link::shut_down() {
  co_await group_->stop();
  std::lock_guard lock(mutex_);
  stream_.reset();
}

asio::awaitable<void> Link::dial_forever(net::TlsContext context, net::DialTarget target) {
  Duration back_off = kBackOffFirst;
  for (;;) {
    net::ConnectionOptions options;
    options.send_queue_bytes = kQueueBytes;
    const net::Identity& own = context.own_identity();
    const wire::Hello greeting{wire::kConversationVersion, own.cluster, std::string(net::name(own.role)), own.region,
                               own.name, Hash()};
    Bytes hello = wire::encode(greeting);
    Result<net::Dialed> dialed =
        co_await net::dial(*group_, context, target, std::move(hello), options, net::now() + kDialDeadline);
    Error why;
    if (dialed) {
      back_off = kBackOffFirst;
      Result<wire::Welcome> welcome = wire::decode_welcome(dialed->welcome.control);
      if (welcome) {
        Connected connected{std::move(*welcome)};
        {
          std::lock_guard lock(mutex_);
          stream_ = std::make_shared<net::MessageStream>(dialed->connection);
          stream_->set_max_message_bytes(kMaxMessageBytes);
        }
        arrive(std::move(connected));
        why = co_await converse();
      } else {
        why = welcome.error();
      }
    } else {
      why = dialed.error();
    }
    const bool fatal = is_fatal(why);
    arrive(Disconnected{why, fatal});
    if (fatal) co_return;
    const Result<void> slept = co_await net::sleep_for(back_off);
    if (!slept) co_return;
    back_off = std::min(back_off * 2, kBackOffLast);
  }
}

asio::awaitable<Error> Link::converse() {
  std::shared_ptr<net::MessageStream> stream;
  {
    std::lock_guard lock(mutex_);
    stream = stream_;
  }
  for (;;) {
    Result<net::Incoming> incoming = co_await stream->receive();
    if (incoming) {
      if (auto* message = std::get_if<Message>(&*incoming)) arrive(std::move(*message));
      continue;
    }
    std::lock_guard lock(mutex_);
    stream_.reset();
    co_return incoming.error();
  }
}

void Link::arrive(Arrival arrival) {
  {
    std::lock_guard lock(mutex_);
    arrivals_.push_back(std::move(arrival));
  }
  arrived_.notify_one();
}

void Link::send(const Message& message) {
  std::shared_ptr<net::MessageStream> stream;
  {
    std::lock_guard lock(mutex_);
    stream = stream_;
  }
  if (!stream) return;
  if (const Result<void> sent = stream->send(message); !sent) stream->connection().close(sent.error());
}

std::optional<Arrival> Link::next_arrival() {
  std::lock_guard lock(mutex_);
  if (arrivals_.empty()) return std::nullopt;
  Arrival first = std::move(arrivals_.front());
  arrivals_.pop_front();
  return first;
}

void Link::wait_for_arrival(TimePoint deadline) {
  std::unique_lock lock(mutex_);
  arrived_.wait_until(lock, net::to_steady(deadline), [this] { return !arrivals_.empty(); });
}

}  // namespace godwit::client
