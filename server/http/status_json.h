// Reports as JSON. 64-bit numbers are strings (JavaScript loses them above 2^53), units are in the
// names, and fields are only ever added within v1.
#pragma once

#include <string>

#include "server/http/admin_service.h"

namespace godwit::http {

std::string to_json(const StatusReport& status);       // godwit.status/v1
std::string to_json(const BlockHashesReport& report);  // godwit.hashes/v1
std::string to_json(const ModeReport& report);         // godwit.mode/v1
std::string to_json(const PromoteReport& report);      // godwit.promote/v1

std::string_view name(Mode mode);  // "async", "sync"
bool is_ready(const StatusReport& status);

std::string to_json(const CheckpointReport& report);
std::string to_json(const CheckpointsReport& report);
std::string to_json(const RestoreReport& report);

}  // namespace godwit::http
