#include "shared/wire/capnp_message.h"

#include <cstring>

#include "shared/wire/wire_message.h"

namespace godwit::wire {
namespace {

constexpr int kMaxNesting = 8;

kj::Array<capnp::word> to_words(ByteView control) {
  auto words = kj::heapArray<capnp::word>(control.size() / sizeof(capnp::word));
  std::memcpy(words.begin(), control.data(), control.size());
  return words;
}

// Twice the message: every object is read once or twice, pointers that alias cannot multiply it.
capnp::ReaderOptions limits(std::size_t words) {
  capnp::ReaderOptions options;
  options.traversalLimitInWords = 2 * words + 64;
  options.nestingLimit = kMaxNesting;
  return options;
}

}  // namespace

Bytes flatten(capnp::MessageBuilder& message) {
  const kj::Array<capnp::word> words = capnp::messageToFlatArray(message);
  const auto bytes = words.asBytes();
  return copy(std::as_bytes(std::span(bytes.begin(), bytes.size())));
}

ControlReader::ControlReader(ByteView control)
    : words_(to_words(control)), reader_(words_, limits(words_.size())) {
  KJ_REQUIRE(reader_.getEnd() == words_.end(), "words left over");
}

Result<void> check_control_size(std::string_view name, ByteView control) {
  if (control.size() > kMaxControlBytes) {
    return Error{Errc::kTooLarge, std::string(name) + ": control part of " +
                                      std::to_string(control.size()) + " bytes, at most " +
                                      std::to_string(kMaxControlBytes) + " allowed"};
  }
  if (control.empty() || control.size() % sizeof(capnp::word) != 0) {
    return Error{Errc::kMalformed, std::string(name) + ": control part is not whole words"};
  }
  return {};
}

}  // namespace godwit::wire
