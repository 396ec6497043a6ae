#include "scheduler/core/model/time_limit.h"

#include <algorithm>

#include "scheduler/core/model/service_history.h"
#include "sdk/base/duration_text.h"

namespace glim::core {

TimePoint LimitAt(const Job& job, const Attempt& attempt) {
  const Duration limit = job.spec->time_limit;
  const bool runs = attempt.state == AttemptState::kStarting || attempt.state == AttemptState::kRunning;
  if (limit.ms <= 0 || !runs || attempt.stop != StopCause::kNone) return {};
  const Agreement* agreement = attempt.open_agreement();
  if (agreement && agreement->time_limit) return {};
  const Duration left = std::max(Duration{}, limit - std::max(Duration{}, job.service));
  return {SaturatingSum(attempt.started_at.ms, left.ms)};
}

Duration LimitInPool(const Policy& policy, const std::string& pool, Duration asked) {
  const auto it = policy.time_max.find(pool);
  return asked.ms > 0 || it == policy.time_max.end() ? asked : it->second;
}

Status CheckLimitInPool(const Policy& policy, const JobSpec& spec) {
  const auto it = policy.time_max.find(spec.pool);
  if (it == policy.time_max.end() || (spec.time_limit.ms > 0 && spec.time_limit <= it->second)) return Status::Ok();
  const std::string asked = spec.time_limit.ms > 0 ? WriteDuration(spec.time_limit) : "no limit";
  const std::string most = WriteDuration(it->second);
  return InvalidArgument("limits.time", asked + " is more than jobs of pool " + spec.pool + " may have, " + most,
                         "use at most " + most + " (time_max of the cluster's policy), or another pool");
}

Duration LimitForHolds(const Policy& policy, const Job& job) {
  return policy.enforce_time_limits ? LimitClass(job.spec->time_limit) : Duration{};
}

bool LimitUsedUp(const Policy& policy, const Job& job) {
  const Duration limit = job.spec->time_limit;
  return policy.enforce_time_limits && limit.ms > 0 && job.service >= limit;
}

bool EndsAtLimit(const Policy& policy, const Job& job, const Attempt& attempt, TimePoint now) {
  const Agreement* agreement = attempt.open_agreement();
  if (agreement && agreement->time_limit) return true;
  const Duration limit = job.spec->time_limit;
  if (!policy.enforce_time_limits || limit.ms <= 0 || !attempt.started_at) return false;
  return job.service + (now - attempt.started_at) >= limit;
}

std::string LimitReached(const Job& job) { return "reached its time limit of " + DurationText(job.spec->time_limit); }

}  // namespace glim::core
