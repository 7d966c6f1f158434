// The fuzz targets: functions that any bytes may be given to. One that finds a promise broken aborts
// (GODWIT_CHECK); everything else is for the sanitizers to notice. Pure: equal bytes, equal run.
#pragma once

#include <span>
#include <string_view>

#include "shared/base/bytes.h"
#include "shared/base/check.h"

namespace godwit::fuzz {

// Each returns whether the input was a good one: it decoded, and what came of it held its promises.
// Seeds are good inputs, so that a format that moved away from them is noticed.
bool frame(ByteView input);
bool transfer(ByteView input);
bool opening(ByteView input);
bool message(ByteView input);
bool control_message(ByteView input);
bool block(ByteView input);
bool manifest(ByteView input);
bool header(ByteView input);
bool record(ByteView input);
bool safetensors_file(ByteView input);
bool cluster_file(ByteView input);
bool http_request(ByteView input);
bool recovery(ByteView input);

struct Target {
  std::string_view name;
  bool (*run)(ByteView input);
};
std::span<const Target> all_targets();

}  // namespace godwit::fuzz
