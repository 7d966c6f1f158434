// FieldReader: a ByteReader for one kind of record that remembers the first thing that was wrong,
// by name. After a failure every read still returns, with zeroes; finish() reports it once. One
// thread.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "shared/base/byte_stream.h"
#include "shared/base/result.h"
#include "shared/codec/codec_ids.h"

namespace godwit {

inline bool is_amount(double value) { return std::isfinite(value) && value >= 0; }

class FieldReader {
 public:
  // `record` names the record in errors and outlives the reader. Reads the leading format byte.
  FieldReader(std::string_view record, std::uint8_t format, ByteView bytes);

  template <class T>
  requires(!std::is_enum_v<T> && !std::floating_point<T>) void get(T& value) { in_.get(value); }
  template <class E>
  void get_enum(std::string_view field, E& value, E first, E last) {
    in_.get(value);
    if (!in_.failed() && (value < first || value > last)) {
      reject(Errc::kMalformed,
             "unknown " + std::string(field) + " " + std::to_string(static_cast<unsigned>(value)));
      value = first;
    }
  }
  // Finite and not negative: weights, rates, durations.
  template <std::floating_point T>
  void get_amount(std::string_view field, T& value) {
    in_.get(value);
    if (!is_amount(value)) {
      reject(Errc::kMalformed, std::string(field) + " is negative or not finite");
      value = 0;
    }
  }
  void get_flag(std::string_view field, bool& value);
  void get_codec(CodecSpec& codec);
  std::uint32_t get_count(std::size_t min_item_bytes) { return in_.get_count(min_item_bytes); }
  std::string get_string() { return in_.get_string(); }

  ByteReader& in() { return in_; }
  // The first reason stays.
  void reject(Errc code, std::string why);
  bool ok() const { return !in_.failed() && reason_.empty(); }
  // Fails when anything was rejected, missing or left over.
  Result<void> finish() const;

 private:
  std::string_view record_;
  ByteReader in_;
  Errc code_ = Errc::kMalformed;
  std::string reason_;
};

}  // namespace godwit
