// LinkProxies: the wires between regions, as TCP proxies in this process, so that they can be cut. One per ordered
// pair: the first region's server dials the second one's through it. Certificates name servers, not ports, so
// neither side notices.
//
// Any thread; the bytes move on a thread inside.
#pragma once

#include <cstdint>
#include <memory>

#include "shared/base/result.h"

namespace godwit::bench {

enum class LinkState : unsigned char {
  kWhole,
  kCut,   // open connections end, new ones are closed at once
  kHeld,  // what arrives is taken and delivered when the link is whole again; new connections hang
};

class LinkProxies {
 public:
  LinkProxies();
  ~LinkProxies();
  LinkProxies(const LinkProxies&) = delete;
  LinkProxies& operator=(const LinkProxies&) = delete;

  // A whole link to a port of this machine. The port to dial instead. Errors: kIo.
  Result<std::uint16_t> add(std::size_t from, std::size_t to, std::uint16_t target);
  // Both directions of the pair.
  void set(std::size_t one, std::size_t other, LinkState state);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace godwit::bench
