#include "scheduler/sim/world/terms.h"

#include <algorithm>

#include "scheduler/sim/world/aspect.h"

namespace glim::sim {

Terms::Terms(std::uint64_t seed) : terms_(RngOf(seed, Aspect::kTerms)), starts_(RngOf(seed, Aspect::kStarts)) {}

void Terms::Widen(JobScript& script, const core::Policy& policy) {
  if (terms_.OneIn(6)) LongGrace(script, policy);
  if (starts_.OneIn(25)) script.start_fault = StartFault::kOwn;
  if (starts_.OneIn(25)) script.start_fault = StartFault::kPathNowhere;
  if (starts_.OneIn(5)) script.start_fault = StartFault::kPathOfSomeNodes;
}

void Terms::LongGrace(JobScript& script, const core::Policy& policy) {
  core::JobSpec& spec = script.spec;
  const bool is_auto = spec.priority == core::PriorityClass::kAuto;
  const Duration cap = is_auto ? policy.grace_cap.others : policy.grace_cap.For(spec.priority);
  const Duration most = is_auto ? policy.max_grace_cap.others : policy.max_grace_cap.For(spec.priority);
  spec.grace = std::max(Duration{}, cap - Seconds(terms_.Between(0, 5)));  // a reload may cap it at 3 s
  spec.max_grace = std::max(most, spec.grace);
  if (terms_.OneIn(12)) spec.grace = spec.max_grace = std::max(spec.max_grace, Minutes(5)) + Minutes(1);  // refused
  script.save_time = Milliseconds(terms_.Between(cap.ms / 8, cap.ms));
  script.extends = terms_.OneIn(3);
  if (terms_.OneIn(2)) spec.time_limit = Seconds(terms_.Between(20, 400));
}

core::Policy Reloaded(const core::Policy& now, const core::Policy& first, Rng& rng) {
  core::Policy next = now;
  const bool lower = rng.OneIn(2);
  next.grace_cap.others = lower ? Seconds(rng.Between(5, 120)) : first.grace_cap.others;
  next.max_grace_cap.others = lower ? next.grace_cap.others + Seconds(rng.Between(0, 60)) : first.max_grace_cap.others;
  next.grace_cap.by_class.clear();
  if (rng.OneIn(2)) next.grace_cap.by_class[core::PriorityClass::kNormal] = Seconds(rng.Between(3, 200));
  next.quantum_min = rng.OneIn(2) ? Minutes(rng.Between(1, 15)) : first.quantum_min;
  next.starvation_bound = rng.OneIn(2) ? Minutes(rng.Between(1, 8)) : first.starvation_bound;
  return next;
}

}  // namespace glim::sim
