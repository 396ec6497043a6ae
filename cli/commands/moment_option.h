// A moment on the command line: so long ago, or a moment.
#pragma once

#include <optional>

#include "cli/commands/syntax.h"
#include "sdk/base/time.h"

namespace glim::cli {

// Reads "7d", "2026-11-01" and "2026-11-01T08:30Z" into `target`.
WordCheck IntoMoment(std::optional<TimePoint>* target);

}  // namespace glim::cli
