// Bytes: owned byte strings and shared immutable payloads. An entry is encoded once; every later owner
// (log, follower stream, worker pull) holds a SharedBytes to the same buffer.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace godwit {

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;
using SharedBytes = std::shared_ptr<const Bytes>;

inline SharedBytes share(Bytes bytes) { return std::make_shared<const Bytes>(std::move(bytes)); }
inline ByteView view(const SharedBytes& bytes) { return bytes ? ByteView(*bytes) : ByteView(); }
inline ByteView view(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }
inline Bytes copy(ByteView view) { return Bytes(view.begin(), view.end()); }
inline std::string_view text(ByteView bytes) {
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace godwit
