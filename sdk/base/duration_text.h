// Durations as text: read as people write them, and written for files and for people. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sdk/base/time.h"

namespace glim {

// "500ms", "60s", "5m", "12h", "7d": one whole number and one unit. nullopt for anything else, a bare number and
// what does not fit 100 years included.
std::optional<Duration> ParseDuration(std::string_view text);

// As ParseDuration reads it, in the largest unit that leaves a whole number: "10m", "90s", "0s". Not negative.
std::string WriteDuration(Duration duration);

// In words, nothing rounded away: "2 h", "1 h 30 min", "1 s 500 ms"; "0 s" for nothing and for less.
std::string DurationText(Duration duration);

// In words, the two largest units: "250 ms", "12.3 s", "5 min 3 s", "2 h 5 min", "3 d 4 h". Negative: "-".
std::string RoundedDurationText(Duration duration);

}  // namespace glim
