#include "server/storage/value_seal.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace godwit {
namespace {

Bytes sealed(Family family, ByteView key, ByteView value) {
  Bytes stored = copy(value);
  const Seal seal = seal_of(family, key, value);
  stored.insert(stored.end(), seal.begin(), seal.end());
  return stored;
}

RC_GTEST_PROP(ValueSeal, OpensUnderItsOwnFamilyAndKey,
              (const std::string& key, const std::string& value)) {
  const Bytes stored = sealed(Family::kLog, view(key), view(value));
  const auto opened = unseal(Family::kLog, view(key), stored);
  RC_ASSERT(opened.has_value());
  RC_ASSERT(text(*opened) == value);
}

RC_GTEST_PROP(ValueSeal, AnyFlippedBitIsCorrupt,
              (const std::string& key, const std::string& value)) {
  Bytes stored = sealed(Family::kLog, view(key), view(value));
  const auto at = *rc::gen::inRange<std::size_t>(0, stored.size());
  stored[at] ^= std::byte{1} << *rc::gen::inRange(0, 8);
  const auto opened = unseal(Family::kLog, view(key), stored);
  RC_ASSERT(!opened.has_value());
  RC_ASSERT(opened.error().code == Errc::kCorrupt);
}

RC_GTEST_PROP(ValueSeal, AnyTruncationIsCorrupt, (const std::string& value)) {
  Bytes stored = sealed(Family::kLog, view("key"), view(value));
  stored.resize(*rc::gen::inRange<std::size_t>(0, stored.size()));
  RC_ASSERT(!unseal(Family::kLog, view("key"), stored).has_value());
}

TEST(ValueSeal, AValueFiledUnderAnotherKeyOrFamilyIsCorruptAndNamed) {
  const Bytes stored = sealed(Family::kLog, view("a"), view("value"));
  EXPECT_EQ(unseal(Family::kLog, view("b"), stored).error().to_string(),
            "corrupt: log key \"b\": the value of 5 bytes fails its checksum");
  EXPECT_EQ(unseal(Family::kOutbox, view("a"), stored).error().to_string(),
            "corrupt: outbox key \"a\": the value of 5 bytes fails its checksum");
}

}  // namespace
}  // namespace godwit
