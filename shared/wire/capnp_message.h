// Cap'n Proto for shared/wire only: builds and reads one control message. Its exceptions end here.
#pragma once

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <string>
#include <string_view>
#include <type_traits>

#include "shared/base/bytes.h"
#include "shared/base/result.h"

namespace godwit::wire {

Bytes flatten(capnp::MessageBuilder& message);

template <class Schema, class Fill>
Bytes build_control(Fill fill) {
  capnp::MallocMessageBuilder message;
  fill(message.initRoot<Schema>());
  return flatten(message);
}

// A control message in memory of its own, word-aligned and of bounded cost to read.
class ControlReader {
 public:
  // Throws kj::Exception on bytes that are no message, or with bytes left over.
  explicit ControlReader(ByteView control);
  template <class Schema>
  typename Schema::Reader root() {
    return reader_.getRoot<Schema>();
  }

 private:
  kj::Array<capnp::word> words_;
  capnp::FlatArrayMessageReader reader_;
};

Result<void> check_control_size(std::string_view name, ByteView control);

// Calls convert(reader) and returns its Result; a broken message is kMalformed, by name.
template <class Schema, class Convert>
auto read_control(std::string_view name, ByteView control, Convert convert)
    -> std::invoke_result_t<Convert, typename Schema::Reader> {
  if (const auto size = check_control_size(name, control); !size) return size.error();
  try {
    ControlReader reader(control);
    return convert(reader.root<Schema>());
  } catch (const kj::Exception& broken) {
    return Error{Errc::kMalformed, std::string(name) + ": " + broken.getDescription().cStr()};
  }
}

}  // namespace godwit::wire
