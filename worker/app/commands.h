// What each command of godwit-worker does. Returns the exit code; says on stderr what went wrong.
#pragma once

#include "worker/app/command_line.h"

namespace godwit::app {

int run(const TrainCommand& command);
int run(const EvaluateCommand& command);
int run(const VersionCommand& command);
int run(const Usage& usage);

}  // namespace godwit::app
