// Coroutine traps that compilers are silent about.
//
// GCC 12 destroys some temporaries of a co_await expression twice (aggregates with a destructor,
// lambdas with captures), so neither braces nor lambdas stand inside one: name them first. A
// lambda's captures live in the lambda, which is often gone when its coroutine resumes. co_await
// inside a catch block is ill-formed. And nothing is spawned that nobody waits for.
#pragma once

#include "tests/tidy/source_tree.h"

namespace godwit::tidy {

Violations check_coroutines(const SourceFile& file);

}  // namespace godwit::tidy
