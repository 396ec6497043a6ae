// The log of the scheduler and of the agents: spdlog's default logger, which main() sets up, without its headers. A
// source that logs by them compiles all of fmt's formatting anew, four seconds. Any thread.
#pragma once

#include <string>

#include <fmt/core.h>

#include "sdk/base/status.h"

namespace glim {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kCritical };

// INVALID_ARGUMENT without a field: it is none of the words trace, debug, info, warning or warn, error, critical, off.
Status CheckLogLevel(const std::string& level);

// For main(): from now on the log goes to standard error, line by line. `pattern` is spdlog's. A level that
// CheckLogLevel refuses stands for info: nothing but the word "off" turns the log off.
void StartLog(const std::string& pattern, const std::string& level);

// Formats `text` only if the logger takes this level.
void WriteLog(LogLevel level, fmt::string_view text, fmt::format_args args);

template <typename... Args>
void LogDebug(fmt::format_string<const Args&...> text, const Args&... args) {
  WriteLog(LogLevel::kDebug, text, fmt::make_format_args(args...));
}
template <typename... Args>
void LogInfo(fmt::format_string<const Args&...> text, const Args&... args) {
  WriteLog(LogLevel::kInfo, text, fmt::make_format_args(args...));
}
template <typename... Args>
void LogWarning(fmt::format_string<const Args&...> text, const Args&... args) {
  WriteLog(LogLevel::kWarning, text, fmt::make_format_args(args...));
}
template <typename... Args>
void LogError(fmt::format_string<const Args&...> text, const Args&... args) {
  WriteLog(LogLevel::kError, text, fmt::make_format_args(args...));
}
template <typename... Args>
void LogCritical(fmt::format_string<const Args&...> text, const Args&... args) {
  WriteLog(LogLevel::kCritical, text, fmt::make_format_args(args...));
}

}  // namespace glim
