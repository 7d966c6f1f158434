// Logging: one line a fact, to stderr, "time level [module] message". Shells log, cores return reasons.
#pragma once

#include <string>
#include <string_view>

namespace godwit::log {

enum class Level { kDebug, kInfo, kWarning, kError };

// `name` goes into every line (a region, a worker). Call once, from main.
void start(std::string_view name, Level level);
void write(Level level, std::string_view module, std::string_view message);
inline void debug(std::string_view module, std::string_view message) { write(Level::kDebug, module, message); }
inline void info(std::string_view module, std::string_view message) { write(Level::kInfo, module, message); }
inline void warning(std::string_view module, std::string_view message) { write(Level::kWarning, module, message); }
inline void error(std::string_view module, std::string_view message) { write(Level::kError, module, message); }

}  // namespace godwit::log
