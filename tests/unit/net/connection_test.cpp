#include "shared/net/connection.h"

#include "tests/unit/net/loopback.h"

namespace godwit::net {
namespace {

class Connections : public Loopback {
 protected:
  static Frame data(std::size_t control_bytes, std::size_t payload_bytes,
                    std::uint32_t stream = 0) {
    Frame frame;
    frame.kind = kData;
    frame.stream = stream;
    frame.control = Bytes(control_bytes);
    for (std::size_t i = 0; i < control_bytes; ++i) frame.control[i] = static_cast<std::byte>(i);
    Bytes payload(payload_bytes);
    for (std::size_t i = 0; i < payload_bytes; ++i)
      payload[i] = static_cast<std::byte>(i * 7 + i / 251);
    if (payload_bytes != 0) frame.payload.push_back(slice(share(std::move(payload))));
    return frame;
  }
  std::shared_ptr<Connection> connect(ConnectionOptions options = {}) {
    Result<Dialed> dialed = dial(std::move(options));
    EXPECT_TRUE(dialed) << dialed.error().to_string();
    return dialed->connection;
  }
  // A server whose sessions do not read, so that a sender meets resistance.
  void serve_deaf() {
    ListenHandlers handlers;
    handlers.session = [this](std::shared_ptr<Connection> connection) {
      return welcome_only(std::move(connection));
    };
    const Identity identity{"demo", "eu", Role::kServer, "eu-0"};
    auto listener = Listener::start(group_, io_.get_executor(), context(TlsSide::kServer, identity),
                                    {}, std::move(handlers));
    ASSERT_TRUE(listener);
    listener_ = std::move(*listener);
  }
  asio::awaitable<void> welcome_only(std::shared_ptr<Connection> connection) {
    server_side_ = connection;
    const Result<Frame> hello = co_await connection->read(now() + kTestDeadline);
    EXPECT_TRUE(hello);
    Frame welcome;
    welcome.kind = MessageKind::kWelcome;
    EXPECT_TRUE(connection->try_send(std::move(welcome)));
  }
  asio::awaitable<void> count_frames(std::shared_ptr<Connection> connection, int& count) {
    while (true) {
      const Result<Frame> frame = co_await connection->read(kNoDeadline);
      if (!frame) break;
      ++count;
    }
  }
};

TEST_F(Connections, FramesOfManySizesComeBackEqual) {
  serve();
  const auto connection = connect();
  const std::vector<std::size_t> sizes = {0,      1,      24,      1000,      16'384,
                                          16'385, 32'768, 262'144, 1'000'000, kMaxPayloadBytes};
  std::uint32_t stream = 0;
  for (const std::size_t control :
       {std::size_t{0}, std::size_t{17}, std::size_t{kMaxControlBytes}}) {
    for (const std::size_t payload : sizes) {
      const Frame sent = data(control, payload, ++stream);
      ASSERT_TRUE(connection->try_send(sent));
      const Result<Frame> got = read(connection);
      ASSERT_TRUE(got) << got.error().to_string();
      EXPECT_EQ(got->kind, kData);
      EXPECT_EQ(got->stream, stream);
      EXPECT_EQ(got->control, sent.control);
      EXPECT_EQ(got->payload_bytes(), payload);
      if (payload != 0) {
        EXPECT_EQ(*got->received_payload(), *sent.received_payload());
      }
    }
  }
  const ConnectionCounters counters = connection->counters();
  EXPECT_GE(counters.frames_sent, 30u);
  EXPECT_GE(counters.frames_received, 30u);
  EXPECT_GT(counters.bytes_sent, std::uint64_t{kMaxPayloadBytes});
  EXPECT_GT(counters.bytes_received, std::uint64_t{kMaxPayloadBytes});
}

TEST_F(Connections, SlicesOfManyBuffersArriveAsOnePayload) {
  serve();
  const auto connection = connect();
  const SharedBytes buffer = share(Bytes(300'000, std::byte{7}));
  Frame frame = data(5, 100);
  frame.payload.push_back(slice(buffer, 1000, 200'000));
  frame.payload.push_back(slice(buffer, 0, 10));
  ASSERT_TRUE(connection->try_send(frame));
  const Result<Frame> got = read(connection);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->payload.size(), 1u);
  EXPECT_EQ(got->payload_bytes(), 200'110u);
  EXPECT_EQ(got->received_payload()->back(), std::byte{7});
}

TEST_F(Connections, KeepOrderWhilePipelined) {
  serve();
  const auto connection = connect();
  int written = 0;
  for (std::uint32_t i = 0; i < 200; ++i) {
    ASSERT_TRUE(connection->try_send(data(i % 50, (i % 7) * 9000, i), [&written] { ++written; }));
  }
  for (std::uint32_t i = 0; i < 200; ++i) {
    const Result<Frame> got = read(connection);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->stream, i);
  }
  EXPECT_EQ(written, 200);
  EXPECT_TRUE(run_until([&connection] { return connection->queued_bytes() == 0; }));
}

TEST_F(Connections, KeysAreRenewedUnderTraffic) {
  ListenOptions options;
  options.connection.key_update_bytes = 100'000;
  serve(options);
  ConnectionOptions client;
  client.key_update_bytes = 70'000;
  const auto connection = connect(client);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(connection->try_send(data(10, 400'000)));
    const Result<Frame> got = read(connection);
    ASSERT_TRUE(got) << got.error().to_string();
  }
}

TEST_F(Connections, AReadThatTimesOutLosesNothing) {
  serve();
  const auto connection = connect();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(read(connection, milliseconds(5)).error().code, Errc::kTimedOut);
    EXPECT_FALSE(connection->ended());
  }
  ASSERT_TRUE(connection->try_send(data(1, 3'000'000)));
  Result<Frame> got = read(connection, Duration(1));
  while (!got && got.error().code == Errc::kTimedOut) got = read(connection, Duration(1));
  ASSERT_TRUE(got) << got.error().to_string();
  EXPECT_EQ(got->payload_bytes(), 3'000'000u);
}

TEST_F(Connections, AFullQueueIsOverloadedAndSendWaitsForRoom) {
  serve_deaf();
  ConnectionOptions options;
  options.send_queue_bytes = 1u << 20;
  const auto connection = connect(options);
  int accepted = 0;
  bool full = false;  // the sockets' buffers too
  while (!full) {
    const Result<void> sent = connection->try_send(data(0, 1u << 20));
    if (sent) {
      ++accepted;
      continue;
    }
    ASSERT_EQ(sent.error().code, Errc::kOverloaded);
    const TimePoint until = now() + milliseconds(50);
    run_until([&] { return now() > until || connection->queued_bytes() == 0; });
    full = connection->queued_bytes() != 0;
    ASSERT_LT(accepted, 1000);
  }
  EXPECT_LE(connection->queued_bytes(), options.send_queue_bytes + kFrameHeaderBytes);
  EXPECT_EQ(await(connection->send(data(0, 1u << 20), now() + milliseconds(5))).error().code,
            Errc::kTimedOut);

  int got = 0;  // now the server reads: room comes
  group_.spawn(count_frames(server_side_, got));
  EXPECT_TRUE(await(connection->send(data(0, 1u << 20), now() + kTestDeadline)));
  EXPECT_TRUE(run_until([&] { return got == accepted + 1; }));
}

TEST_F(Connections, APeerThatDoesNotReadIsGivenUp) {
  serve_deaf();
  ConnectionOptions options;
  options.stall_deadline = milliseconds(50);
  options.send_queue_bytes = 64u << 20;
  const auto connection = connect(options);
  while (connection->try_send(data(0, kMaxPayloadBytes))) continue;
  ASSERT_TRUE(run_until([&connection] { return connection->ended(); }));
  const Result<Frame> got = read(connection);
  EXPECT_EQ(got.error().code, Errc::kTimedOut);
  EXPECT_NE(got.error().context.find("does not read"), std::string::npos);
}

TEST_F(Connections, GoodbyeNamesTheReasonToBothSides) {
  serve();
  const auto connection = connect();
  connection->close(Error{Errc::kConflict, "manifest differs"});
  const Result<Frame> got = read(connection);
  EXPECT_EQ(got.error().to_string(), "conflict: manifest differs");
  EXPECT_EQ(connection->try_send(data(0, 1)).error().code, Errc::kConflict);
  ASSERT_TRUE(run_until([this] { return !session_ends_.empty(); }));
  EXPECT_EQ(session_ends_[0].to_string(), "conflict: the peer closed: manifest differs");
  EXPECT_TRUE(run_until([this] { return listener_->session_count() == 0; }));
}

TEST_F(Connections, GoodbyeFinishesTheFrameInProgressAndDropsTheRest) {
  serve();
  const auto connection = connect();
  const std::size_t before = echoed_;
  int written = 0;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(connection->try_send(data(0, kMaxPayloadBytes), [&connection, &written] {
      if (++written == 1) connection->close(Error{Errc::kInvalid, "enough"});
    }));
  }
  ASSERT_TRUE(run_until([this] { return !session_ends_.empty(); }));
  EXPECT_EQ(session_ends_[0].to_string(), "invalid: the peer closed: enough");
  EXPECT_GE(echoed_, before + 1);
  EXPECT_LE(echoed_, before + 2);
}

TEST_F(Connections, DroppingTheLastReferenceCloses) {
  serve();
  auto connection = connect();
  connection.reset();
  ASSERT_TRUE(run_until([this] { return !session_ends_.empty(); }));
  EXPECT_EQ(session_ends_[0].code, Errc::kClosed);
}

TEST_F(Connections, HeartbeatsKeepAQuietConnectionAndMeasureIt) {
  ListenOptions options;
  options.connection.heartbeat_interval = milliseconds(10);
  serve(options);
  ConnectionOptions client;
  client.heartbeat_interval = milliseconds(10);
  client.silence_deadline = milliseconds(1000);
  const auto connection = connect(client);
  EXPECT_EQ(read(connection, milliseconds(1500)).error().code, Errc::kTimedOut);
  EXPECT_FALSE(connection->ended());
  EXPECT_GT(connection->counters().frames_received, 10u);
  EXPECT_GT(connection->round_trip_time(), Duration(0));
  EXPECT_LT(connection->round_trip_time(), seconds(1));
}

TEST_F(Connections, SilenceIsTimedOutAndNamed) {
  ListenOptions options;
  options.connection.heartbeat_interval = seconds(100);
  serve(options);
  ConnectionOptions client;
  client.heartbeat_interval = seconds(100);
  client.silence_deadline = milliseconds(30);
  const auto connection = connect(client);
  const Result<Frame> got = read(connection);
  EXPECT_EQ(got.error().code, Errc::kTimedOut);
  EXPECT_NE(got.error().context.find("not even a heartbeat"), std::string::npos);
  EXPECT_TRUE(connection->ended());
}

TEST_F(Connections, AShapedLinkDelaysWithoutLimitingThroughput) {
  ConnectionOptions client;
  client.shaper = std::make_shared<Shaper>(LinkShape{milliseconds(60), 400'000'000});
  serve();
  const auto connection = connect(client);

  const TimePoint start = now();  // delay: one way
  ASSERT_TRUE(connection->try_send(data(0, 1)));
  ASSERT_TRUE(read(connection));
  EXPECT_GE(now() - start, milliseconds(60));

  // 5 MB at 50 MB/s: 100 ms, and 60 ms to arrive. One piece after another would take 80 x 60 ms.
  const TimePoint burst = now();
  int written = 0;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(connection->try_send(data(0, 500'000), [&written] { ++written; }));
  }
  ASSERT_TRUE(run_until([&written] { return written == 10; }));
  EXPECT_GE(now() - burst, milliseconds(150)) << "on_written means: through the link";
  EXPECT_LE(now() - burst, milliseconds(2000));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(read(connection));
}

TEST_F(Connections, GoodbyeCrossesAShapedLink) {
  ConnectionOptions client;
  client.shaper = std::make_shared<Shaper>(LinkShape{milliseconds(20), 100'000'000});
  serve();
  const auto connection = connect(client);
  ASSERT_TRUE(connection->try_send(data(0, 100'000)));
  connection->close(Error{Errc::kWrongEpoch, "epoch 4, not 3"});
  ASSERT_TRUE(run_until([this] { return !session_ends_.empty(); }));
  EXPECT_EQ(session_ends_[0].to_string(), "wrong-epoch: the peer closed: epoch 4, not 3");
}

}  // namespace
}  // namespace godwit::net
