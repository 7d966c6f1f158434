// Exit codes of godwit-worker: README.md of this folder lists them.
#pragma once

#include "shared/base/errc.h"

namespace godwit::app {

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitUnreachable = 3;
constexpr int kExitInterrupted = 130;

constexpr int exit_code(Errc code) {
  switch (code) {
    case Errc::kConfig:
      return kExitUsage;
    case Errc::kUnavailable:
      return kExitUnreachable;
    default:
      return kExitFailed;
  }
}

}  // namespace godwit::app
