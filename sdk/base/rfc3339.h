// A point in time as RFC 3339 writes it. Pure.
#pragma once

#include <cstdio>
#include <ctime>
#include <string>

#include "sdk/base/time.h"

namespace glim {

// In UTC with milliseconds: "2026-11-20T12:09:07.125Z". Empty for a point whose year does not fit an int.
inline std::string FormatRfc3339(TimePoint point) {
  std::int64_t seconds = point.ms / 1000;
  std::int64_t ms = point.ms % 1000;
  if (ms < 0) {
    ms += 1000;
    seconds -= 1;
  }
  const std::time_t time = seconds;
  std::tm parts{};
  if (gmtime_r(&time, &parts) == nullptr) return "";
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, static_cast<int>(ms));
  return text;
}

}  // namespace glim
