#include "cli/text/time_text.h"

#include <chrono>
#include <cstdint>
#include <string_view>

#include <fmt/core.h>

namespace glim::cli {
namespace {

// Two or four digits, no more and no less; -1: they are not.
int Digits(std::string_view text) {
  int number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    number = number * 10 + (c - '0');
  }
  return number;
}

struct Zone {
  std::int64_t seconds = 0;  // ahead of UTC
  std::size_t length = 1;    // of its word
};

// At the end of the text: "Z", "+02:00", "-05:30".
std::optional<Zone> ReadZone(std::string_view text) {
  constexpr std::size_t kOffsetLength = 6;
  constexpr int kHoursMax = 14;
  if (text.ends_with('Z')) return Zone();
  if (text.size() < kOffsetLength) return std::nullopt;
  const std::string_view word = text.substr(text.size() - kOffsetLength);
  const int hours = Digits(word.substr(1, 2)), minutes = Digits(word.substr(4, 2));
  const bool shaped = (word[0] == '+' || word[0] == '-') && word[3] == ':';
  if (!shaped || hours < 0 || hours > kHoursMax || minutes < 0 || minutes > 59) return std::nullopt;
  const std::int64_t seconds = hours * 3'600 + minutes * 60;
  return Zone{word[0] == '+' ? seconds : -seconds, kOffsetLength};
}

}  // namespace

std::string FormatAgo(TimePoint point, TimePoint now) {
  if (!point) return "-";
  const std::int64_t seconds = (now - point).ms / 1000;
  if (seconds < 1) return "just now";
  if (seconds < 60) return fmt::format("{} s ago", seconds);
  if (seconds < 3600) return fmt::format("{} min ago", seconds / 60);
  if (seconds < 86'400) return fmt::format("{} h ago", seconds / 3600);
  return fmt::format("{} d ago", seconds / 86'400);
}

std::optional<TimePoint> ParseMoment(const std::string& text) {
  const std::string_view all(text);
  if (all.size() < 10 || all[4] != '-' || all[7] != '-') return std::nullopt;
  const int year = Digits(all.substr(0, 4)), month = Digits(all.substr(5, 2)), day = Digits(all.substr(8, 2));
  if (year < 1970 || month < 1 || day < 1) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  std::int64_t seconds = std::chrono::sys_days(date).time_since_epoch().count() * 86'400;
  if (all.size() > 10) {
    const auto ahead = ReadZone(all.substr(10));
    if (!ahead) return std::nullopt;
    const std::string_view clock = all.substr(10, all.size() - 10 - ahead->length);
    const bool exact = clock.size() == 9 && clock[6] == ':';
    const bool shaped = (exact || clock.size() == 6) && clock[0] == 'T' && clock[3] == ':';
    if (!shaped) return std::nullopt;
    const int hour = Digits(clock.substr(1, 2)), minute = Digits(clock.substr(4, 2));
    const int second = exact ? Digits(clock.substr(7, 2)) : 0;
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return std::nullopt;
    seconds += hour * 3'600 + minute * 60 + second - ahead->seconds;
  }
  return TimePoint{seconds * 1000};
}

}  // namespace glim::cli
