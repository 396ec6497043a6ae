#include "sdk/base/duration_text.h"

#include <array>
#include <charconv>

namespace glim {
namespace {

struct DurationUnit {
  std::string_view written;
  std::string_view said;
  std::int64_t ms;
};
constexpr std::array<DurationUnit, 5> kDurationUnits = {
    {{"d", "d", 86'400'000}, {"h", "h", 3'600'000}, {"m", "min", 60'000}, {"s", "s", 1000}, {"ms", "ms", 1}}};
constexpr std::int64_t kDurationMaxMs = 100LL * 365 * 86'400'000;

std::string Amount(std::int64_t count, std::string_view unit) {
  return std::to_string(count) + " " + std::string(unit);
}

}  // namespace

std::optional<Duration> ParseDuration(std::string_view text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return std::nullopt;
  const std::string_view word(rest, static_cast<std::size_t>(end - rest));
  for (const DurationUnit& unit : kDurationUnits) {
    if (word == unit.written && number <= kDurationMaxMs / unit.ms) return Duration{number * unit.ms};
  }
  return std::nullopt;
}

std::string WriteDuration(Duration duration) {
  if (duration.ms == 0) return "0s";
  for (const DurationUnit& unit : kDurationUnits) {
    if (duration.ms % unit.ms == 0) return std::to_string(duration.ms / unit.ms) + std::string(unit.written);
  }
  return "";  // not reached: every amount is a whole number of milliseconds
}

std::string DurationText(Duration duration) {
  if (duration.ms <= 0) return "0 s";
  std::string text;
  std::int64_t left = duration.ms;
  for (const DurationUnit& unit : kDurationUnits) {
    if (left < unit.ms) continue;
    text += (text.empty() ? "" : " ") + Amount(left / unit.ms, unit.said);
    left %= unit.ms;
  }
  return text;
}

std::string RoundedDurationText(Duration duration) {
  const std::int64_t ms = duration.ms;
  if (ms < 0) return "-";
  if (ms < 1000) return Amount(ms, "ms");
  if (ms < 60'000) {
    const std::int64_t tenths = ms % 1000 / 100;
    return tenths == 0 ? Amount(ms / 1000, "s") : std::to_string(ms / 1000) + "." + Amount(tenths, "s");
  }
  std::size_t i = 0;
  while (ms < kDurationUnits[i].ms) ++i;
  return DurationText({ms - ms % kDurationUnits[i + 1].ms});
}

}  // namespace glim
