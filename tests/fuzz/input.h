// Input and InputWriter: how a target cuts its bytes into parts, and how a seed is made of parts.
// Every input can be cut: what is missing at the end is zero or empty.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>

#include "shared/base/byte_stream.h"

namespace godwit::fuzz {

class Input {
 public:
  explicit Input(ByteView bytes) : left_(bytes) {}

  template <std::unsigned_integral T>
  T number() {
    T value = 0;
    const ByteView bytes = take(sizeof(T));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      value = static_cast<T>(value | static_cast<T>(static_cast<T>(bytes[i]) << (8 * i)));
    return value;
  }
  // u16 length, then the bytes, as many of them as there are.
  ByteView part() { return take(number<std::uint16_t>()); }
  ByteView rest() { return take(left_.size()); }
  bool empty() const { return left_.empty(); }

 private:
  ByteView take(std::size_t count) {
    const ByteView head = left_.first(std::min(count, left_.size()));
    left_ = left_.subspan(head.size());
    return head;
  }
  ByteView left_;
};

class InputWriter {
 public:
  template <std::unsigned_integral T>
  InputWriter& number(T value) {
    out_.put(value);
    return *this;
  }
  InputWriter& part(ByteView bytes) {
    out_.put(static_cast<std::uint16_t>(bytes.size()));
    out_.put_raw(bytes);
    return *this;
  }
  InputWriter& rest(ByteView bytes) {
    out_.put_raw(bytes);
    return *this;
  }
  Bytes take() { return out_.take(); }

 private:
  ByteWriter out_;
};

}  // namespace godwit::fuzz
