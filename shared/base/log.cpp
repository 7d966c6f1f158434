#include "shared/base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>

namespace godwit::log {
namespace {

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::kDebug: return spdlog::level::debug;
    case Level::kInfo: return spdlog::level::info;
    case Level::kWarning: return spdlog::level::warn;
    case Level::kError: return spdlog::level::err;
  }
  return spdlog::level::info;
}

}  // namespace

void start(std::string_view name, Level level) {
  auto logger = std::make_shared<spdlog::logger>(std::string(name),
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(to_spdlog(level));
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %n %v");
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

void write(Level level, std::string_view module, std::string_view message) {
  std::string line(message);  // it may quote a stranger, who would like to write lines of his own
  std::ranges::replace_if(line, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, '?');
  spdlog::default_logger_raw()->log(to_spdlog(level), "[{}] {}", module, line);
}

}  // namespace godwit::log
