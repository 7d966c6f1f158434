#include "tests/fuzz/targets.h"

#include <array>

namespace godwit::fuzz {

std::span<const Target> all_targets() {
  static constexpr std::array kTargets = {
      Target{"frame", frame},
      Target{"transfer", transfer},
      Target{"opening", opening},
      Target{"message", message},
      Target{"control_message", control_message},
      Target{"block", block},
      Target{"manifest", manifest},
      Target{"header", header},
      Target{"record", record},
      Target{"safetensors_file", safetensors_file},
      Target{"cluster_file", cluster_file},
      Target{"http_request", http_request},
      Target{"recovery", recovery},
  };
  return kTargets;
}

}  // namespace godwit::fuzz
