// Points in time as people and programs read them; durations are sdk/base/duration_text.h's. Pure: the present is
// handed in.
#pragma once

#include <string>

#include "sdk/base/rfc3339.h"
#include "sdk/base/time.h"

namespace glim::cli {

// "12 s ago", "3 min ago", "just now"; "-" for a point that never was. A point ahead of `now` (clocks differ) reads
// "just now".
std::string FormatAgo(TimePoint point, TimePoint now);

}  // namespace glim::cli
