// ModeSetting: the run's mode as the control store holds it.
#pragma once

#include <cstdint>

#include "shared/base/bytes.h"
#include "shared/base/result.h"
#include "shared/protocol/push.h"

namespace godwit {

struct ModeSetting {
  Mode mode = Mode::kAsync;
  ModeEpoch mode_epoch;          // 0: never set; the default mode holds
  std::uint32_t sync_steps = 0;  // H

  Bytes encode() const;
  // Errors: kCorrupt.
  static Result<ModeSetting> decode(ByteView bytes);
};

}  // namespace godwit
