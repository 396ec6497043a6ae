#include "cli/text/time_text.h"

#include <ctime>

#include <fmt/core.h>

namespace glim::cli {
std::string FormatAgo(TimePoint point, TimePoint now) {
  if (!point) return "-";
  const std::int64_t seconds = (now - point).ms / 1000;
  if (seconds < 1) return "just now";
  if (seconds < 60) return fmt::format("{} s ago", seconds);
  if (seconds < 3600) return fmt::format("{} min ago", seconds / 60);
  if (seconds < 86'400) return fmt::format("{} h ago", seconds / 3600);
  return fmt::format("{} d ago", seconds / 86'400);
}

std::string FormatRfc3339(TimePoint point) {
  std::int64_t seconds = point.ms / 1000;
  std::int64_t ms = point.ms % 1000;
  if (ms < 0) {
    ms += 1000;
    seconds -= 1;
  }
  const std::time_t time = seconds;
  std::tm parts{};
  if (gmtime_r(&time, &parts) == nullptr) return "";
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, ms);
}

}  // namespace glim::cli
