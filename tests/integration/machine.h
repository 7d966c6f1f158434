// Machine: a network namespace of its own on a common wire, and a folder: what a server or a
// training machine is to its processes. Nothing has a name that outlives the test: a namespace,
// with its interfaces, goes with the process that holds it, and that goes with the test, even by
// SIGKILL. Needs root. One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "shared/base/result.h"
#include "tests/support/process.h"

namespace godwit::integration {

using Arguments = std::vector<std::string>;

class NetworkNamespace {
 public:
  // kUnavailable says what this machine lacks: root, unshare, namespaces.
  static Result<std::unique_ptr<NetworkNamespace>> make();
  // `arguments` with what makes them run in here.
  Arguments inside(const Arguments& arguments) const;
  support::Output run(const Arguments& arguments,
                      std::chrono::seconds limit = std::chrono::seconds(60)) const {
    return support::run(inside(arguments), limit);
  }
  // `ip ARGUMENTS` in here. kUnavailable: it failed.
  Result<void> ip(Arguments arguments) const;
  pid_t holder() const { return holder_.pid(); }

 private:
  NetworkNamespace();
  support::Background holder_;
};

// A switch with three machines, 10.77.0.1 to 10.77.0.3.
class ThreeMachines {
 public:
  static Result<std::unique_ptr<ThreeMachines>> make();
  static std::string address(std::size_t index) { return "10.77.0." + std::to_string(index + 1); }
  const NetworkNamespace& machine(std::size_t index) const { return *machines_[index]; }
  // Pulls its plug, or plugs it in again.
  Result<void> set_plugged(std::size_t index, bool plugged) const;

 private:
  Result<void> plug_in(std::size_t index);

  std::unique_ptr<NetworkNamespace> wire_;
  std::vector<std::unique_ptr<NetworkNamespace>> machines_;
};

}  // namespace godwit::integration
