// Points in time as people and programs read them; durations are sdk/base/duration_text.h's. Pure: the present is
// handed in.
#pragma once

#include <optional>
#include <string>

#include "sdk/base/rfc3339.h"
#include "sdk/base/time.h"

namespace glim::cli {

// "12 s ago", "3 min ago", "just now"; "-" for a point that never was. A point ahead of `now` (clocks differ) reads
// "just now".
std::string FormatAgo(TimePoint point, TimePoint now);

// A moment: "2026-11-01" (in UTC), "2026-11-01T08:30Z", "2026-11-01T08:30:15Z", and with another zone than UTC
// "2026-11-01T10:30+02:00"; nullopt for anything else, also for one without a zone.
std::optional<TimePoint> ParseMoment(const std::string& text);

}  // namespace glim::cli
