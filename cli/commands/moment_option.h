// A moment on the command line: so long ago, or so far ahead, or a moment.
#pragma once

#include <optional>

#include "cli/commands/syntax.h"
#include "sdk/base/time.h"

namespace glim::cli {

// Reads "7d", "2026-11-01" and "2026-11-01T08:30Z" into `target`.
WordCheck IntoMoment(std::optional<TimePoint>* target);

// Reads "in 2h", "2h", "2026-12-01T08:00Z" and "2026-12-01T10:00+02:00" into `target`.
WordCheck IntoComingMoment(std::optional<TimePoint>* target);

}  // namespace glim::cli
