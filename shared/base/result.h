// Result<T>: a value or an Error. Expected failure is a value; a bug aborts; exceptions stop at the edge.
// Member names follow std::expected. Dropping a Result is a compile error (with -Werror).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "shared/base/check.h"
#include "shared/base/errc.h"

namespace godwit {

struct Error {
  Errc code = Errc::kInternal;
  std::string context;  // names the cause and, where there is one, the fix

  // "malformed: frame header: bad magic"
  std::string to_string() const;
  bool operator==(const Error&) const = default;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return checked(); }
  const T& value() const& { return const_cast<Result*>(this)->checked(); }
  T&& value() && { return std::move(checked()); }
  T& operator*() & { return checked(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(checked()); }
  T* operator->() { return &checked(); }
  const T* operator->() const { return &value(); }

  const Error& error() const {
    GODWIT_REQUIRE(!has_value(), "error() of a Result that holds a value");
    return std::get<1>(state_);
  }

 private:
  T& checked() {
    if (!has_value()) {
      base::check_failed("REQUIRE", __FILE__, __LINE__, "has_value()", std::get<1>(state_).to_string());
    }
    return std::get<0>(state_);
  }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  const Error& error() const {
    GODWIT_REQUIRE(error_.has_value(), "error() of a Result that holds a value");
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace godwit
