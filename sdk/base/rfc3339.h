// A point in time as RFC 3339 writes it. Pure: the calendar is reckoned here, no library's time zone has a say.
#pragma once

#include <cstdint>
#include <string>

#include "sdk/base/time.h"

namespace glim {

// In UTC with milliseconds: "2026-11-20T12:09:07.125Z".
inline std::string FormatRfc3339(TimePoint point) {
  constexpr std::int64_t kDayMs = Hours(24).ms;
  std::int64_t days = point.ms / kDayMs;
  std::int64_t ms = point.ms % kDayMs;
  if (ms < 0) {
    ms += kDayMs;
    --days;
  }
  // Years begin in March here, so that the leap day is a year's last; 400 years repeat after 146,097 days.
  days += 719'468;
  const std::int64_t era = (days >= 0 ? days : days - 146'096) / 146'097;
  const std::int64_t day_of_era = days - era * 146'097;
  const std::int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t month_from_march = (5 * day_of_year + 2) / 153;
  const std::int64_t day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
  const std::int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  const std::int64_t year = era * 400 + year_of_era + (month <= 2 ? 1 : 0);

  const auto padded = [](std::int64_t number, std::size_t width) {
    const std::string digits = std::to_string(number);
    return digits.size() < width ? std::string(width - digits.size(), '0') + digits : digits;
  };
  return padded(year, 4) + "-" + padded(month, 2) + "-" + padded(day, 2) + "T" + padded(ms / 3'600'000, 2) + ":" +
         padded(ms / 60'000 % 60, 2) + ":" + padded(ms / 1000 % 60, 2) + "." + padded(ms % 1000, 3) + "Z";
}

}  // namespace glim
