// SIGTERM and SIGINT: the first asks the training loop to finish politely, the second ends the
// process at once with exit code 130.
#pragma once

namespace godwit::app {

void watch_stop_signals();
bool stop_requested();

}  // namespace godwit::app
