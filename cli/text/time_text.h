// Points in time as people and programs read them; durations are sdk/base/duration_text.h's. Pure: the present is handed in.
#pragma once

#include <string>

#include "sdk/base/time.h"

namespace glim::cli {

// "12 s ago", "3 min ago", "just now"; "-" for a point that never was. A point ahead of `now` (clocks differ) reads
// "just now".
std::string FormatAgo(TimePoint point, TimePoint now);

// RFC 3339 in UTC with milliseconds: "2026-11-20T12:09:07.125Z".
std::string FormatRfc3339(TimePoint point);

}  // namespace glim::cli
