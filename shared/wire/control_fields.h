// ControlFields: turns the raw fields of a control message into our types and remembers the first
// one that is wrong, by name.
#pragma once

#include <capnp/blob.h>

#include <cmath>
#include <string>
#include <string_view>

#include "shared/base/result.h"
#include "shared/wire/wire_message.h"

namespace godwit::wire {

// `text` outlives the result.
inline capnp::Text::Reader text_field(const std::string& text) {
  return capnp::Text::Reader(text.c_str(), text.size());
}

// As much of a reason as travels.
inline std::string cut_text(const std::string& text) { return text.substr(0, kMaxTextBytes); }

class ControlFields {
 public:
  explicit ControlFields(std::string_view message) : message_(message) {}

  template <class E, class Raw>
  E member(std::string_view field, Raw raw, E first, E last) {
    const E value = static_cast<E>(raw);
    if (value >= first && value <= last) return value;
    reject("unknown " + std::string(field) + " " + std::to_string(raw));
    return first;
  }
  template <class T>
  T amount(std::string_view field, T value) {
    if (std::isfinite(value) && value >= 0) return value;
    reject(std::string(field) + " is negative or not finite");
    return 0;
  }
  std::string text(std::string_view field, capnp::Text::Reader value,
                   std::size_t max_bytes = kMaxTextBytes) {
    if (value.size() <= max_bytes) return std::string(value.begin(), value.size());
    reject(std::string(field) + " has more than " + std::to_string(max_bytes) + " bytes");
    return {};
  }
  Errc error_code(std::string_view field, std::uint16_t raw) {
    const Errc code = static_cast<Errc>(raw);
    if (name(code) != "unknown") return code;
    reject("unknown " + std::string(field) + " " + std::to_string(raw));
    return Errc::kInternal;
  }
  void reject(std::string why) {
    if (reason_.empty()) reason_ = std::move(why);
  }
  bool ok() const { return reason_.empty(); }
  Error error() const { return Error{Errc::kMalformed, std::string(message_) + ": " + reason_}; }
  // `value`, unless a field was wrong.
  template <class R, class T>
  Result<R> done(T value) const {
    if (!ok()) return error();
    return R(std::move(value));
  }

 private:
  std::string_view message_;
  std::string reason_;
};

}  // namespace godwit::wire
