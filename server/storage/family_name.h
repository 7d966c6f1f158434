// The names under which families are persisted. They are part of the disk format: never renamed,
// and a new family gets a new name.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "server/core/store.h"

namespace godwit {

inline constexpr std::array<Family, kFamilyCount> kFamilies = {
    Family::kLog,      Family::kInputs, Family::kOutbox,  Family::kPushes,
    Family::kSnapshot, Family::kMeta,   Family::kControl,
};

std::string_view name(Family family);

// "log key 0x0000000100000002", "control key \"run/mode\"": text where every byte prints, hex
// elsewhere. Long keys are cut after 64 bytes.
std::string describe_key(Family family, ByteView key);

}  // namespace godwit
