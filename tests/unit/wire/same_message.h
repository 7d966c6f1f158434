// Comparison of messages, field by field: a field added to a message is covered without a line here.
// Payloads are compared by content.
#pragma once

#include <boost/pfr.hpp>
#include <concepts>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "shared/protocol/messages.h"

namespace godwit::generate {

inline bool same(const SharedBytes& one, const SharedBytes& two) { return *one == *two; }
inline bool same(const Leave&, const Leave&) { return true; }
template <class T>
bool same(const T& one, const T& two);
template <class T>
bool same(const std::vector<T>& one, const std::vector<T>& two) {
  if (one.size() != two.size()) return false;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (!same(one[i], two[i])) return false;
  }
  return true;
}
template <class T>
bool same(const std::optional<T>& one, const std::optional<T>& two) {
  return one.has_value() == two.has_value() && (!one || same(*one, *two));
}
template <class T>
bool same_fields(const T& one, const T& two) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (same(boost::pfr::get<I>(one), boost::pfr::get<I>(two)) && ...);
  }
  (std::make_index_sequence<boost::pfr::tuple_size_v<T>>());
}
template <class T>
bool same(const T& one, const T& two) {
  if constexpr (std::equality_comparable<T>) {
    return one == two;
  } else {
    return same_fields(one, two);
  }
}
inline bool same_message(const Message& one, const Message& two) {
  if (one.index() != two.index()) return false;
  return std::visit(
      [&](const auto& value) { return same(value, std::get<std::decay_t<decltype(value)>>(two)); },
      one);
}

}  // namespace godwit::generate
