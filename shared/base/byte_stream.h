// ByteWriter and ByteReader: little-endian fields for records that are hashed, stored and sent as they
// are. A reader never trusts a length: running past the end sets failed(), and every later read gives 0.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "shared/base/bytes.h"
#include "shared/base/strong_id.h"

namespace godwit {

class ByteWriter {
 public:
  void reserve(std::size_t bytes) { out_.reserve(bytes); }
  template <std::unsigned_integral T>
  void put(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) out_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  void put(float value) { put(std::bit_cast<std::uint32_t>(value)); }
  void put(double value) { put(std::bit_cast<std::uint64_t>(value)); }
  template <class Tag, class Rep>
  void put(StrongId<Tag, Rep> id) { put(id.value()); }
  template <class E>
    requires std::is_enum_v<E>
  void put(E value) { put(static_cast<std::underlying_type_t<E>>(value)); }
  void put_raw(ByteView bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  // u32 length, then the bytes
  void put_bytes(ByteView bytes);
  void put_string(std::string_view text) { put_bytes(view(text)); }
  Bytes take() { return std::move(out_); }
  const Bytes& bytes() const { return out_; }

 private:
  Bytes out_;
};

class ByteReader {
 public:
  explicit ByteReader(ByteView in) : in_(in) {}
  template <std::unsigned_integral T>
  void get(T& value) {
    const ByteView raw = take(sizeof(T));
    value = 0;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      value = static_cast<T>(value | static_cast<T>(static_cast<T>(raw[i]) << (8 * i)));
    }
  }
  void get(float& value);
  void get(double& value);
  template <class Tag, class Rep>
  void get(StrongId<Tag, Rep>& id) {
    Rep raw = 0;
    get(raw);
    id = StrongId<Tag, Rep>(raw);
  }
  // The caller checks that the number names a member of E.
  template <class E>
    requires std::is_enum_v<E>
  void get(E& value) {
    std::underlying_type_t<E> raw = 0;
    get(raw);
    value = static_cast<E>(raw);
  }
  template <class T>
  T get() {
    T value{};
    get(value);
    return value;
  }
  ByteView take(std::size_t count);  // empty and failed() when fewer are left
  ByteView get_bytes();              // u32 length, then the bytes
  std::string get_string() { return std::string(text(get_bytes())); }
  // A count of items that each need at least `min_item_bytes`: fails before anything is allocated.
  std::uint32_t get_count(std::size_t min_item_bytes);
  std::size_t remaining() const { return in_.size(); }
  bool failed() const { return failed_; }
  // All read, nothing left over, nothing failed.
  bool finished() const { return !failed_ && in_.empty(); }

 private:
  ByteView in_;
  bool failed_ = false;
};

}  // namespace godwit
