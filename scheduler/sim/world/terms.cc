#include "scheduler/sim/world/terms.h"

#include <algorithm>

#include "scheduler/sim/world/aspect.h"

namespace glim::sim {

Terms::Terms(std::uint64_t seed)
    : terms_(RngOf(seed, Aspect::kTerms)),
      starts_(RngOf(seed, Aspect::kStarts)),
      ranks_(RngOf(seed, Aspect::kRanks)),
      shards_(RngOf(seed, Aspect::kShards)) {}

void Terms::Widen(JobScript& script, const core::Policy& policy) {
  if (terms_.OneIn(6)) LongGrace(script, policy);
  if (starts_.OneIn(25)) script.start_fault = StartFault::kOwn;
  if (starts_.OneIn(25)) script.start_fault = StartFault::kPathNowhere;
  if (starts_.OneIn(5)) script.start_fault = StartFault::kPathOfSomeNodes;
  if (ranks_.OneIn(3)) Odd(script, policy);
  script.sharded = shards_.OneIn(3);
  if (shards_.OneIn(4) && !script.plain && script.hangs_at_step == kGoesOn) {
    script.spec.no_progress = Seconds(shards_.Between(10, 40));
    script.spec.restart_on.push_back("hang");
  }
}

void Terms::Odd(JobScript& script, const core::Policy& policy) {
  if (script.plain) return;  // it says nothing, and so nothing odd
  core::JobSpec& spec = script.spec;
  script.odd_attempts = static_cast<std::uint32_t>(ranks_.Between(1, 3));
  switch (ranks_.Between(0, 7)) {
    case 0:
    case 1: script.leaves_at_once = spec.interrupt_mode != core::InterruptMode::kSignal; break;
    case 2:
      script.yields_after = ranks_.Between(1, 8);
      script.yields_saved = ranks_.OneIn(3);
      script.odd_attempts = static_cast<std::uint32_t>(ranks_.Between(1, 15));
      if (ranks_.OneIn(2)) spec.restart_backoff = Seconds(ranks_.Between(0, 5));
      break;
    case 3:
    case 4:
      script.hangs_at_step = ranks_.OneIn(2) ? kBeforeSteps : ranks_.Between(0, script.steps);
      spec.no_progress = Seconds(ranks_.Between(5, 120));
      spec.restart_on.push_back("hang");
      break;
    case 5:  // only who is suspended for it comes to an end
      script.talks = policy.health.idle_gpus.suspend_after.ms > 0;
      if (script.talks) script.hangs_at_step = ranks_.OneIn(2) ? kBeforeSteps : ranks_.Between(0, script.steps);
      break;
    case 6: script.restores_short = ranks_.Between(1, 6); break;
    default: script.boasts = true;
  }
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
  next.quantum_min = std::min(rng.OneIn(2) ? Minutes(rng.Between(1, 15)) : first.quantum_min, next.quantum_max);
  next.starvation_bound = rng.OneIn(2) ? Minutes(rng.Between(1, 8)) : first.starvation_bound;
  return next;
}

}  // namespace glim::sim
