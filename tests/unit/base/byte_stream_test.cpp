#include "shared/base/byte_stream.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace godwit {
namespace {

RC_GTEST_PROP(ByteStream, ReadsBackWhatWasWritten, (std::uint64_t a, std::uint16_t b, const std::string& text)) {
  ByteWriter writer;
  writer.put(a);
  writer.put(b);
  writer.put(1.5F);
  writer.put_string(text);
  writer.put(Version(a));
  ByteReader reader(writer.bytes());
  RC_ASSERT(reader.get<std::uint64_t>() == a);
  RC_ASSERT(reader.get<std::uint16_t>() == b);
  RC_ASSERT(reader.get<float>() == 1.5F);
  RC_ASSERT(reader.get_string() == text);
  RC_ASSERT(reader.get<Version>() == Version(a));
  RC_ASSERT(reader.finished());
}

RC_GTEST_PROP(ByteStream, EveryTruncationFailsAndStaysFailed, (std::uint64_t a, const std::string& text)) {
  ByteWriter writer;
  writer.put(a);
  writer.put_string(text);
  const auto length = *rc::gen::inRange<std::size_t>(0, writer.bytes().size());
  ByteReader reader(ByteView(writer.bytes()).first(length));
  reader.get<std::uint64_t>();
  reader.get_string();
  RC_ASSERT(reader.failed());
  RC_ASSERT(reader.get<std::uint64_t>() == 0U);
  RC_ASSERT(!reader.finished());
}

TEST(ByteStream, ACountThatCannotFitFailsBeforeAnyAllocation) {
  ByteWriter writer;
  writer.put(std::uint32_t{0xFFFFFFFF});
  writer.put(std::uint64_t{1});
  ByteReader reader(writer.bytes());
  EXPECT_EQ(reader.get_count(8), 0U);
  EXPECT_TRUE(reader.failed());
}

}  // namespace
}  // namespace godwit
