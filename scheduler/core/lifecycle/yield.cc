#include "scheduler/core/lifecycle/yield.h"

#include <algorithm>

#include "scheduler/core/model/interrupt_terms.h"

namespace glim::core {
namespace {

constexpr Duration kPauseLeast = Seconds(1);
constexpr Duration kPauseMost = Minutes(10);

// The agreement by which the attempt left; null: it left by itself.
const Agreement* LeftBy(const Attempt& ended) {
  if (ended.agreements.empty()) return nullptr;
  const Agreement& last = ended.agreements.back();
  return last.state == AgreementState::kEnded ? &last : nullptr;  // a withdrawn one asks nobody to leave
}

}  // namespace

bool IsYield(const Attempt& ended) {
  return ended.outcome == Outcome::kInterrupted && !LeftBy(ended) && ended.stop == StopCause::kNone;
}

bool DidNothing(const Policy& policy, const Job& job, const Attempt& ended) {
  if (ended.last_step > ended.base.step || ended.durable_step >= 0) return false;
  return ended.ended_at - ended.started_at < MinRunOf(policy, job);
}

Duration YieldPause(const JobSpec& spec, std::uint32_t idle_yields) {
  Duration pause = std::max(spec.restart_backoff, kPauseLeast);
  const Duration most = std::max(pause, kPauseMost);  // a user may want longer ones
  for (std::uint32_t i = 1; i < idle_yields && pause < most; ++i) pause = pause + pause;
  return std::min(pause, most);
}

bool LostMoreThanItsQuantum(const Attempt& ended) {
  const Agreement* agreement = LeftBy(ended);
  if (ended.outcome != Outcome::kInterrupted || !agreement || agreement->suspend) return false;
  if (ended.save == SaveResult::kSaved) return false;
  const TimePoint since = std::max(ended.started_at, ended.durable_at);
  return agreement->left_at - since >= std::max(ended.quantum, kQuantumLeast);  // at its very end all of it is lost
}

}  // namespace glim::core
