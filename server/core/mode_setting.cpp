#include "server/core/mode_setting.h"

#include "shared/base/byte_stream.h"

namespace godwit {

Bytes ModeSetting::encode() const {
  ByteWriter out;
  out.put(mode);
  out.put(mode_epoch);
  out.put(sync_steps);
  return out.take();
}

Result<ModeSetting> ModeSetting::decode(ByteView bytes) {
  ByteReader in(bytes);
  ModeSetting setting;
  in.get(setting.mode);
  in.get(setting.mode_epoch);
  in.get(setting.sync_steps);
  const bool known = setting.mode == Mode::kAsync || setting.mode == Mode::kSync;
  if (!in.finished() || !known) return Error{Errc::kCorrupt, "control store: run/mode"};
  return setting;
}

}  // namespace godwit
