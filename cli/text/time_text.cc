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

}  // namespace glim::cli
