// Reading answers of servers: fields by name; what is missing or of another type is a default,
// since newer servers may add and older ones may lack fields.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace godwit::cli {

class JsonFields {
 public:
  explicit JsonFields(const boost::json::value& value) : object_(value.if_object()) {}

  const boost::json::value* find(std::string_view key) const {
    return object_ ? object_->if_contains(boost::json::string_view(key.data(), key.size()))
                   : nullptr;
  }
  std::string text(std::string_view key) const {
    const auto* const value = find(key);
    const auto* const string = value ? value->if_string() : nullptr;
    return string ? std::string(string->data(), string->size()) : "";
  }
  bool flag(std::string_view key) const {
    const auto* const value = find(key);
    return value && value->is_bool() && value->as_bool();
  }
  double real(std::string_view key) const {
    const auto* const value = find(key);
    return value && value->is_number() ? value->to_number<double>() : 0;
  }
  // A small number, or a 64-bit one written as a string.
  std::uint64_t number(std::string_view key) const;
  // Empty when missing.
  const boost::json::array& list(std::string_view key) const;

 private:
  const boost::json::object* object_;
};

}  // namespace godwit::cli
