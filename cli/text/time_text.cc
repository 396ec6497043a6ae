#include "cli/text/time_text.h"

#include <charconv>

#include <fmt/core.h>

namespace glim::cli {
namespace {

constexpr std::int64_t kDurationMaxMs = 100LL * 365 * 24 * 3'600'000;

std::optional<std::int64_t> UnitMs(std::string_view unit) {
  if (unit == "ms") return 1;
  if (unit == "s") return 1000;
  if (unit == "m") return 60'000;
  if (unit == "h") return 3'600'000;
  if (unit == "d") return 86'400'000;
  return std::nullopt;
}

std::string TwoUnits(std::int64_t value, std::int64_t per, const char* big, const char* small) {
  const std::int64_t rest = value % per;
  if (rest == 0) return fmt::format("{} {}", value / per, big);
  return fmt::format("{} {} {} {}", value / per, big, rest, small);
}

}  // namespace

std::optional<Duration> ParseDuration(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return std::nullopt;
  const auto unit = UnitMs(std::string_view(rest, static_cast<std::size_t>(end - rest)));
  if (!unit || number > kDurationMaxMs / *unit) return std::nullopt;
  return Duration{number * *unit};
}

std::string FormatDuration(Duration duration) {
  const std::int64_t ms = duration.ms;
  if (ms < 0) return "-";
  if (ms < 1000) return fmt::format("{} ms", ms);
  if (ms < 60'000) {
    const std::int64_t tenths = ms / 100;
    return tenths % 10 == 0 ? fmt::format("{} s", tenths / 10) : fmt::format("{}.{} s", tenths / 10, tenths % 10);
  }
  const std::int64_t seconds = ms / 1000;
  if (seconds < 3600) return TwoUnits(seconds, 60, "min", "s");
  if (seconds < 86'400) return TwoUnits(seconds / 60, 60, "h", "min");
  return TwoUnits(seconds / 3600, 24, "d", "h");
}

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
