// The inverse of rfc3339.h: a point in time from what people and programs write. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sdk/base/time.h"

namespace glim {

namespace internal {

// So many digits at `at`; -1: they are none.
inline std::int64_t DigitsAt(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return -1;
  std::int64_t number = 0;
  for (const char c : text.substr(at, count)) {
    if (c < '0' || c > '9') return -1;
    number = number * 10 + (c - '0');
  }
  return number;
}

// Days since 1970. Years begin in March here, as in FormatRfc3339.
inline std::int64_t DaysOf(std::int64_t year, std::int64_t month, std::int64_t day) {
  const std::int64_t from_march = month > 2 ? month - 3 : month + 9;
  const std::int64_t shifted = month > 2 ? year : year - 1;
  const std::int64_t era = (shifted >= 0 ? shifted : shifted - 399) / 400;
  const std::int64_t year_of_era = shifted - era * 400;
  const std::int64_t day_of_era =
      year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + (153 * from_march + 2) / 5 + day - 1;
  return era * 146'097 + day_of_era - 719'468;
}

inline std::int64_t DaysOfMonth(std::int64_t year, std::int64_t month) {
  if (month == 2) return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

// "Z", "+02:00", "-05:30" in minutes.
inline std::optional<std::int64_t> OffsetOf(std::string_view text) {
  if (text == "Z") return 0;
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  const std::int64_t hours = DigitsAt(text, 1, 2), minutes = DigitsAt(text, 4, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  return (text[0] == '-' ? -1 : 1) * (hours * 60 + minutes);
}

}  // namespace internal

// "2026-11-20T12:09:07Z", with up to nine digits of a second behind a point (those beyond milliseconds are cut), in any
// zone that is said. None: it is not that. No leap seconds.
inline std::optional<TimePoint> ParseRfc3339(std::string_view text) {
  using internal::DigitsAt;
  constexpr std::size_t kSeconds = 19;  // "2026-11-20T12:09:07"
  if (text.size() <= kSeconds || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
      text[16] != ':') {
    return std::nullopt;
  }
  const std::int64_t year = DigitsAt(text, 0, 4), month = DigitsAt(text, 5, 2), day = DigitsAt(text, 8, 2);
  const std::int64_t hour = DigitsAt(text, 11, 2), minute = DigitsAt(text, 14, 2), second = DigitsAt(text, 17, 2);
  if (year < 0 || month < 1 || month > 12 || day < 1 || day > internal::DaysOfMonth(year, month)) return std::nullopt;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return std::nullopt;
  std::string_view rest = text.substr(kSeconds);
  std::int64_t ms = 0;
  if (rest[0] == '.') {
    std::size_t digits = 0;
    while (1 + digits < rest.size() && DigitsAt(rest, 1 + digits, 1) >= 0) ++digits;
    if (digits == 0 || digits > 9) return std::nullopt;
    for (std::size_t i = 0; i < 3; ++i) ms = ms * 10 + (i < digits ? DigitsAt(rest, 1 + i, 1) : 0);
    rest.remove_prefix(1 + digits);
  }
  const auto offset = internal::OffsetOf(rest);
  if (!offset) return std::nullopt;
  const std::int64_t minutes = (internal::DaysOf(year, month, day) * 24 + hour) * 60 + minute - *offset;
  return TimePoint{(minutes * 60 + second) * 1000 + ms};
}

}  // namespace glim
