// Besieged: a cluster that trains, with everything that a hostile peer needs to know about it. After each test its
// server must live and train on.
#pragma once

#include <gtest/gtest.h>

#include "shared/net/frame.h"
#include "shared/wire/hello.h"
#include "tests/integration/impostor.h"
#include "tests/support/local_cluster.h"
#include "tests/unit/net/stranger.h"

namespace godwit::integration {

class Besieged : public ::testing::Test {
 protected:
  static constexpr auto kLimit = std::chrono::seconds(20);
  static constexpr const char *kHome = "home", *kAway = "away", *kAbsent = "absent";  // kAbsent's server never runs

  Besieged();
  void SetUp() override;
  void TearDown() override;

  const ClusterConfig& config() const { return cluster_.config(); }
  const ServerConfig& home() const { return *config().find_server(kHome); }

  // Two versions more than now, on both shards, at home.
  bool trains_on() const;
  std::size_t resident_kib(const std::string& region);
  // Files and sockets that the server holds open.
  std::size_t open_files(const std::string& region);

  net::Identity identity(const std::string& region, net::Role role, const std::string& name) const {
    return {config().name, region, role, name};
  }
  static Bytes frame(MessageKind kind, const Bytes& control);
  Bytes hello(const net::Identity& as) const;
  // At the data port of that region's server.
  net::Stranger stranger(const std::string& region, const std::optional<net::CertifiedKey>& own,
                         Bytes send = {}) const;
  // Whether somebody who belongs here is welcomed there.
  bool welcomes(const std::string& region, const net::Identity& as) const;

  support::LocalCluster cluster_;
  const net::Identity own_worker_;
  const net::CertifiedKey worker_;  // may converse at home
  const net::CertifiedKey server_;  // may, too: of kAbsent
};

// What came back: the header of the first frame, if there is one, and whether GOODBYE is all there is.
std::optional<net::FrameHeader> first_frame(const Bytes& received);
bool is_goodbye(const Bytes& received);

}  // namespace godwit::integration
