// The trainer's Sync on a real Session: a thin adapter.
#pragma once

#include <memory>

#include "shared/base/result.h"
#include "worker/client/session.h"
#include "worker/trainer/trainer.h"

namespace godwit::app {

// Connects to the region's server. Errors: those of Session::connect().
Result<std::unique_ptr<trainer::Sync>> connect_session(SessionOptions options);

}  // namespace godwit::app
