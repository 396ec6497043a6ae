#include "cli/views/idle_gpus_text.h"

#include <fmt/format.h>

#include "cli/text/words.h"
#include "sdk/base/duration_text.h"

namespace glim::cli {

std::string IdleGpusText(const glim::v1::Attempt& attempt, TimePoint now, int indent) {
  if (!LeavesGpusIdle(attempt)) return "";
  const Duration idle = now - TimePoint{attempt.gpus_idle_since_ms()};
  return fmt::format("{:{}}none of its GPUs was busy for {}: use them, or give them back (glim suspend {})\n", "",
                     indent, RoundedDurationText(idle), attempt.ref().job_id());
}

}  // namespace glim::cli
