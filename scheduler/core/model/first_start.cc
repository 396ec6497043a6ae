#include "scheduler/core/model/first_start.h"

#include <algorithm>

#include "scheduler/core/model/spec_limits.h"
#include "sdk/base/duration_text.h"
#include "sdk/base/rfc3339.h"

namespace glim::core {

TimePoint FirstStart(const JobSpec& spec, TimePoint now) {
  return spec.start_after > now ? spec.start_after : TimePoint{};
}

Status CheckFirstStart(const JobSpec& spec, TimePoint now) {
  if (spec.start_after <= now + kSpecStartsWithin) return Status::Ok();
  return InvalidArgument("start_after", FormatRfc3339(spec.start_after) + " is more than a year ahead",
                         "name a moment within a year");
}

Blocker FirstStartBlocker(const Job& job, TimePoint now) {
  const Duration left = std::max(Duration{}, job.not_before - now);
  Blocker blocker;
  blocker.kind = BlockerKind::kStartAfter;
  blocker.message = "its start_after is " + FormatRfc3339(job.spec->start_after) + ", in " +
                    WriteDuration(Seconds((left.ms + 999) / 1000));
  return blocker;
}

}  // namespace glim::core
