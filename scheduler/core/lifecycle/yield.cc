#include "scheduler/core/lifecycle/yield.h"

#include <algorithm>
#include <string>
#include <vector>

#include "scheduler/core/model/interrupt_terms.h"
#include "scheduler/core/model/planted.h"

namespace glim::core {
namespace {

constexpr Duration kPauseLeast = Seconds(1);
constexpr Duration kPauseMost = Minutes(10);

// Before that an attempt that leaves by itself is short. What the job says of itself makes it longer at most.
Duration ShortRun(const Policy& policy, const Job& job) {
  return std::max({MinRunOf(policy, job), DefaultMinRun(policy), kPauseLeast});
}

// Whose job the ended attempt was asked for. An agreement that was opened again has no preemptor: the one that had been
// withdrawn says it (agreement_machine.h).
const std::string& AskedFor(const Attempt& ended) {
  const std::vector<Agreement>& all = ended.agreements;
  const bool again = all.size() > 1 && !all.back().preemptor && all[all.size() - 2].state == AgreementState::kWithdrawn;
  return again ? all[all.size() - 2].preemptor_user : all.back().preemptor_user;
}

// It was opened for the others of a rank that left, and nothing that this store has had asked that rank.
bool IsOfARankUnasked(const std::vector<Agreement>& all) {
  const Agreement& last = all.back();
  const bool of_a_rank = last.swap_aborted && !last.preemptor && !last.suspend && !last.time_limit && !last.by_operator;
  return of_a_rank && (all.size() == 1 || all[all.size() - 2].state != AgreementState::kWithdrawn);
}

}  // namespace

const Agreement* LeftBy(const Attempt& ended) {
  if (ended.agreements.empty()) return nullptr;
  const Agreement& last = ended.agreements.back();
  return last.state == AgreementState::kEnded && !IsOfARankUnasked(ended.agreements) ? &last : nullptr;
}

bool IsYield(const Attempt& ended) {
  return ended.outcome == Outcome::kInterrupted && !LeftBy(ended) && ended.stop == StopCause::kNone;
}

bool WasShort(const Policy& policy, const Job& job, const Attempt& ended) {
  return ended.ended_at - ended.started_at < ShortRun(policy, job);
}

bool DidNothing(const Policy& policy, const Job& job, const Attempt& ended) {
  if (Planted(PlantedBug::kYieldStorm)) return ended.last_step < 0;
  return ended.durable_step <= ended.base.step && WasShort(policy, job, ended);
}

Duration YieldPause(const JobSpec& spec, std::uint32_t idle_yields) {
  Duration pause = std::max(spec.restart_backoff, kPauseLeast);
  const Duration most = std::max(pause, kPauseMost);  // a user may want longer ones
  for (std::uint32_t i = 1; i < idle_yields && pause < most; ++i) pause = pause + pause;
  return std::min(pause, most);
}

TimePoint NextAfterYield(const Policy& policy, const Job& job, const Attempt& ended, const Attempt* before) {
  // Who did nothing has waited for that already.
  const auto is_one = [&](const Attempt& attempt) {
    return IsYield(attempt) && WasShort(policy, job, attempt) && !DidNothing(policy, job, attempt);
  };
  if (!is_one(ended) || !before || !is_one(*before)) return {};
  return ended.started_at + ShortRun(policy, job);
}

bool LostMoreThanItsQuantum(const Policy& policy, const Job& job, const Attempt& ended) {
  const Agreement* agreement = LeftBy(ended);
  if (ended.outcome != Outcome::kInterrupted || !agreement || agreement->suspend) return false;
  if (ended.save == SaveResult::kSaved) return false;
  const TimePoint since = std::max(ended.started_at, ended.durable_at);
  // It may have had the rest of one (QuantumLeft).
  const Duration whole = std::max(ended.quantum, DoubledQuantum(policy.quantum_min, job.quantum_doublings));
  return agreement->left_at - since >= whole;  // at its very end all of it is lost
}

bool ComesFirst(const Job& job, const Attempt& ended) {
  const Agreement* by = LeftBy(ended);
  if (!by) return false;
  return by->moved || (by->swap_aborted && AskedFor(ended) != job.user);
}

Duration QuantumLeft(const Policy& policy, const Attempt* last, Duration quantum, TimePoint now) {
  const Agreement* by = last && last->outcome == Outcome::kInterrupted ? LeftBy(*last) : nullptr;
  if (!by || !by->swap_aborted || by->moved) return quantum;
  if (now - last->ended_at >= policy.quantum_min) return quantum;  // it has waited for this one
  return std::clamp(last->started_at + last->quantum - last->ended_at, Duration{}, quantum);
}

}  // namespace glim::core
