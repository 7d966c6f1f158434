// The JSON bodies of requests that change something. Strict: an unknown key is an error, which
// shows an example.
#pragma once

#include <string>
#include <string_view>

#include "server/http/admin_service.h"

namespace godwit::http {

// Errors: kMalformed (not a JSON object), kInvalid.
Result<ModeRequest> parse_mode_request(std::string_view body);
Result<PromoteRequest> parse_promote_request(std::string_view body);
// The reason; an empty body or one without it: "by hand".
Result<std::string> parse_checkpoint_request(std::string_view body);
Result<bool> parse_pin_request(std::string_view body);

}  // namespace godwit::http
