// What a measurement prints: a table for people, one JSON object for programs.
#pragma once

#include <string>

#include "bench/link_bench.h"

namespace godwit::bench {

std::string link_table(const LinkPlan& plan, const LinkFigures& figures);
std::string link_json(const LinkPlan& plan, const LinkFigures& figures);

}  // namespace godwit::bench
