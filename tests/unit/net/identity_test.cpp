#include "shared/net/identity.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace godwit::net {
namespace {

rc::Gen<std::string> any_part() {
  const auto character = rc::gen::element('a', 'z', 'A', 'Z', '0', '9', '.', '_', '-');
  // nonEmpty() tries again with a larger size, hence only half of the maximum.
  return rc::gen::resize(static_cast<int>(kMaxIdentityPart / 2),
                         rc::gen::nonEmpty(rc::gen::container<std::string>(character)));
}

RC_GTEST_PROP(Identity, ParsesWhatItFormats, ()) {
  Identity identity;
  identity.cluster = *any_part();
  identity.region = *any_part();
  identity.role = *rc::gen::element(Role::kServer, Role::kWorker, Role::kOperator);
  identity.name = *any_part();
  const Result<Identity> parsed = parse_identity(format_identity(identity));
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(*parsed == identity);
}

RC_GTEST_PROP(Identity, WhatParsesIsWrittenInOneWayOnly, ()) {
  const auto piece = rc::gen::element<std::string>("godwit://", "/", "a", "server", "worker", ".",
                                                   "..", " ", "%2f", "é", std::string(1, '\0'));
  std::string text;
  for (const std::string& part : *rc::gen::container<std::vector<std::string>>(piece)) text += part;
  if (*rc::gen::arbitrary<bool>()) text = "godwit://c/r/server/" + text;
  const Result<Identity> parsed = parse_identity(text);
  if (parsed) RC_ASSERT(format_identity(*parsed) == text);
}

TEST(Identity, RefusesEverythingElseAndSaysWhy) {
  const std::string long_part(kMaxIdentityPart + 1, 'a');
  const std::vector<std::string> wrong = {
      "",
      "https://c/r/server/n",
      "GODWIT://c/r/server/n",
      "godwit://c/r/server",
      "godwit://c/r/server/n/",
      "godwit://c/r/server/n/m",
      "godwit:///r/server/n",
      "godwit://c//server/n",
      "godwit://c/r/server/",
      "godwit://c/r/root/n",
      "godwit://c/r/Server/n",
      "godwit://c/r /server/n",
      "godwit://c/r/server/n?x",
      "godwit://" + long_part + "/r/server/n",
      std::string("godwit://c/r/server/n\0", 22),
  };
  for (const std::string& uri : wrong) {
    const Result<Identity> parsed = parse_identity(uri);
    ASSERT_FALSE(parsed) << uri;
    EXPECT_EQ(parsed.error().code, Errc::kInvalid) << uri;
    EXPECT_NE(parsed.error().context.find("wanted godwit://"), std::string::npos);
  }
  EXPECT_TRUE(parse_identity("godwit://" + long_part.substr(1) + "/r/server/n"));
}

TEST(Identity, APeerIsWhoItShouldBe) {
  const Identity peer{"c", "eu", Role::kServer, "eu-0"};
  EXPECT_TRUE(check_peer(peer, ExpectedPeer{"c", "", Role::kServer}));
  EXPECT_TRUE(check_peer(peer, ExpectedPeer{"c", "eu", Role::kServer}));
  EXPECT_EQ(check_peer(peer, ExpectedPeer{"c", "us", Role::kServer}).error().code,
            Errc::kForbidden);
  EXPECT_EQ(check_peer(peer, ExpectedPeer{"d", "", Role::kServer}).error().code, Errc::kForbidden);
  EXPECT_EQ(check_peer(peer, ExpectedPeer{"c", "", Role::kWorker}).error().code, Errc::kForbidden);
}

}  // namespace
}  // namespace godwit::net
