#include "tests/integration/machine.h"

#include <unistd.h>

#include <filesystem>

namespace godwit::integration {
namespace {

constexpr std::size_t kMachines = 3;
constexpr auto kNamespaceLimit = std::chrono::seconds(10);

std::string program(const std::string& name) {
  for (const char* folder : {"/usr/bin/", "/usr/sbin/", "/bin/", "/sbin/"}) {
    if (std::filesystem::exists(folder + name)) return folder + name;
  }
  return "";
}

std::string network_of(const std::string& process) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/" + process + "/ns/net", error).string();
}

Error lacks(const std::string& what) { return Error{Errc::kUnavailable, what}; }

}  // namespace

NetworkNamespace::NetworkNamespace()
    : holder_({program("unshare"), "--net", program("sleep"), "infinity"}) {}

Result<std::unique_ptr<NetworkNamespace>> NetworkNamespace::make() {
  if (::geteuid() != 0) return lacks("network namespaces need root");
  for (const char* needed : {"unshare", "nsenter", "sleep", "ip"}) {
    if (program(needed).empty())
      return lacks(std::string("the program ") + needed + " is not installed");
  }
  std::unique_ptr<NetworkNamespace> made(new NetworkNamespace());
  const std::string own = network_of("self");
  const bool separate = support::eventually(kNamespaceLimit, [&] {
    if (!made->holder_.running()) return true;
    const std::string theirs = network_of(std::to_string(made->holder()));
    return !theirs.empty() && theirs != own;
  });
  if (!separate || !made->holder_.running())
    return lacks("no network namespace can be made here (CAP_SYS_ADMIN?)");
  if (auto up = made->ip({"link", "set", "lo", "up"}); !up) return up.error();
  return made;
}

Arguments NetworkNamespace::inside(const Arguments& arguments) const {
  Arguments all = {program("nsenter"), "--net=/proc/" + std::to_string(holder()) + "/ns/net"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

Result<void> NetworkNamespace::ip(Arguments arguments) const {
  std::string words = "ip";
  for (const std::string& argument : arguments) words += " " + argument;
  arguments.insert(arguments.begin(), program("ip"));
  const support::Output output = run(arguments);
  return output.exit_code == 0 ? Result<void>()
                               : lacks("`" + words + "` failed here: " + output.text);
}

Result<std::unique_ptr<ThreeMachines>> ThreeMachines::make() {
  std::unique_ptr<ThreeMachines> all(new ThreeMachines());
  auto wire = NetworkNamespace::make();
  if (!wire) return wire.error();
  all->wire_ = std::move(*wire);
  if (auto made = all->wire_->ip({"link", "add", "switch", "type", "bridge"}); !made)
    return made.error();
  if (auto up = all->wire_->ip({"link", "set", "switch", "up"}); !up) return up.error();
  for (std::size_t index = 0; index < kMachines; ++index) {
    auto machine = NetworkNamespace::make();
    if (!machine) return machine.error();
    all->machines_.push_back(std::move(*machine));
    if (auto plugged = all->plug_in(index); !plugged) return plugged.error();
  }
  return all;
}

Result<void> ThreeMachines::plug_in(std::size_t index) {
  const std::string port = "port" + std::to_string(index);
  const NetworkNamespace& machine = *machines_[index];
  const std::vector<Arguments> in_machine = {
      {"link", "add", "eth0", "type", "veth", "peer", "name", port, "netns",
       std::to_string(wire_->holder())},
      {"address", "add", address(index) + "/24", "dev", "eth0"},
      {"link", "set", "eth0", "up"}};
  for (const Arguments& arguments : in_machine) {
    if (auto done = machine.ip(arguments); !done) return done;
  }
  return wire_->ip({"link", "set", port, "master", "switch", "up"});
}

Result<void> ThreeMachines::set_plugged(std::size_t index, bool plugged) const {
  return wire_->ip({"link", "set", "port" + std::to_string(index), plugged ? "up" : "down"});
}

}  // namespace godwit::integration
