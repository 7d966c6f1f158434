#include "worker/app/stop_signals.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include "worker/app/exit_codes.h"

namespace godwit::app {
namespace {

std::atomic<int> received = 0;
static_assert(std::atomic<int>::is_always_lock_free, "usable in a signal handler");

void on_signal(int) {
  if (received.fetch_add(1) > 0) _exit(kExitInterrupted);
}

}  // namespace

void watch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
}

bool stop_requested() { return received.load() > 0; }

}  // namespace godwit::app
