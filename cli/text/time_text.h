// Times and durations as people and programs read them. Pure: the present is handed in.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sdk/base/rfc3339.h"
#include "sdk/base/time.h"

namespace glim::cli {

// "500ms", "60s", "5m", "12h", "7d": one whole number and one unit. nullopt for anything else, a bare number and
// what does not fit 100 years included.
std::optional<Duration> ParseDuration(std::string_view text);

// "250 ms", "12.3 s", "5 min 3 s", "2 h 5 min", "3 d 4 h". Negative: "-".
std::string FormatDuration(Duration duration);

// "12 s ago", "3 min ago", "just now"; "-" for a point that never was. A point ahead of `now` (clocks differ) reads
// "just now".
std::string FormatAgo(TimePoint point, TimePoint now);

}  // namespace glim::cli
