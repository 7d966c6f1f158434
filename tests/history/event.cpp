#include "tests/history/event.h"

#include <boost/json.hpp>
#include <stdexcept>

namespace godwit::history {
namespace {

using boost::json::object;

Number number(const object& line, const char* name) { return line.at(name).to_number<Number>(); }

std::string text(const object& line, const char* name) {
  const boost::json::string& value = line.at(name).as_string();
  return std::string(value.data(), value.size());
}

std::string verdict(const object& line) {
  std::string verdict = text(line, "verdict");
  if (verdict != "applied" && verdict != "refused" && verdict != "discarded") throw std::invalid_argument(verdict);
  return verdict;
}

Seen seen(const object& line, bool snapshot) {
  Entry entry{number(line, "shard"), number(line, "version"), number(line, "epoch"),   text(line, "kind"),
              text(line, "hash"),    text(line, "previous"),  std::vector<NamedPush>()};
  for (const boost::json::value& push : line.at("pushes").as_array()) {
    const object& named = push.as_object();
    const PushName name{text(named, "worker"), number(named, "incarnation"), number(named, "sequence")};
    entry.pushes.push_back({name, verdict(named)});
  }
  return {std::move(entry), snapshot, line.at("merged").as_bool()};
}

Event event_of(const object& line) {
  const std::string kind = text(line, "event");
  if (kind == "start") {
    return Start{text(line, "name"), text(line, "worker"), number(line, "incarnation"), text(line, "manifest")};
  }
  if (kind == "push") {
    const auto weight = line.at("weight").to_number<double>();
    return Push{number(line, "shard"), number(line, "sequence"), text(line, "kind"),     number(line, "base"),
                number(line, "round"), number(line, "steps"),    number(line, "tokens"), weight};
  }
  if (kind == "acknowledged" || kind == "refused") {
    return Answer{kind == "refused", number(line, "shard"), number(line, "incarnation"), number(line, "sequence")};
  }
  if (kind == "entry" || kind == "snapshot") return seen(line, kind == "snapshot");
  if (kind == "named") {
    return Told{number(line, "shard"), number(line, "incarnation"), number(line, "sequence"), number(line, "version"),
                verdict(line)};
  }
  if (kind == "end") return End{line.at("drained").as_bool()};
  throw std::invalid_argument(kind);
}

}  // namespace

std::optional<Event> parse_event(std::string_view line) {
  try {
    const boost::json::value value = boost::json::parse(boost::json::string_view(line.data(), line.size()));
    return event_of(value.as_object());
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace godwit::history
