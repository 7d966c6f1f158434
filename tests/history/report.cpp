#include <boost/json.hpp>

#include "tests/history/checker.h"

namespace godwit::history {

std::string to_string(const Violation& violation) {
  return violation.place.file + ":" + std::to_string(violation.place.line) + ": " + violation.rule + ": " +
         violation.what;
}

std::string summary(const Report& report) {
  const auto count = [](std::size_t number, const char* what) { return std::to_string(number) + " " + what; };
  return count(report.events, "events of ") + count(report.processes, "processes of ") +
         count(report.workers, "workers") + (report.closed ? ", closed; " : ", not closed; ") +
         count(report.shards, "shards, ") + count(report.versions, "versions, ") + count(report.unseen, "unseen, ") +
         count(report.truncated, "truncated; pushes: ") + count(report.pushes_made, "made, ") +
         count(report.pushes_acknowledged, "acknowledged, ") + count(report.pushes_refused, "refused, ") +
         count(report.pushes_open, "open; named: ") + count(report.named_applied, "applied, ") +
         count(report.named_refused, "refused, ") + count(report.named_discarded, "discarded; ") +
         count(report.violations.size(), report.violations.size() == 1 ? "violation" : "violations");
}

std::string report_json(const Report& report) {
  boost::json::object all{{"history_violations", report.violations.size()},
                          {"events", report.events},
                          {"processes", report.processes},
                          {"workers", report.workers},
                          {"torn_lines", report.torn_lines},
                          {"closed", report.closed},
                          {"shards", report.shards},
                          {"versions", report.versions},
                          {"unseen", report.unseen},
                          {"truncated", report.truncated},
                          {"pushes_made", report.pushes_made},
                          {"pushes_acknowledged", report.pushes_acknowledged},
                          {"pushes_refused", report.pushes_refused},
                          {"pushes_open", report.pushes_open},
                          {"named_applied", report.named_applied},
                          {"named_refused", report.named_refused},
                          {"named_discarded", report.named_discarded}};
  boost::json::array violations;
  for (const Violation& violation : report.violations) {
    violations.push_back(boost::json::object{{"rule", violation.rule},
                                             {"file", violation.place.file},
                                             {"line", violation.place.line},
                                             {"what", violation.what}});
  }
  all["violations"] = std::move(violations);
  return boost::json::serialize(all);
}

}  // namespace godwit::history
