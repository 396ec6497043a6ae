#include "scheduler/sim/world/work_truth.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace glim::sim {
namespace {

using core::Attempt;
using core::AttemptId;
using core::Outcome;

// A pause doubles from the job's backoff on, so that fewer fit.
constexpr Duration kYieldsWithin = Minutes(10);
constexpr std::size_t kYieldsMost = 12;
// Somebody else may be in front by now, who was displaced himself.
constexpr std::size_t kClaimsMost = 2;
// Until a report is taken in, and between two looks; clocks run at different speeds.
constexpr Duration kLookSlack = Seconds(90);
constexpr Duration kReportOnItsWay = Milliseconds(500);

std::string Number(std::int64_t number) { return std::to_string(number); }

// Before that nobody stands still.
Duration LeastLimit(const core::JobSpec& spec, const core::Policy& policy) {
  return spec.no_progress.ms > 0 ? spec.no_progress : policy.health.no_progress_min;
}

}  // namespace

void WorkTruth::Committed(const std::vector<core::Mutation>& mutations, const core::Policy& policy, TimePoint now) {
  for (const core::Mutation& mutation : mutations) {
    if (const auto* attempt = std::get_if<std::shared_ptr<const Attempt>>(&mutation)) See(**attempt, policy, now);
    if (const auto* job = std::get_if<std::shared_ptr<const core::Job>>(&mutation)) SeeSave(**job);
  }
  for (const core::Mutation& mutation : mutations) {
    const auto* entry = std::get_if<core::HistoryEntry>(&mutation);
    if (entry && entry->kind == core::HistoryKind::kAttemptGpusIdle) SeeIdle({entry->job, entry->attempt}, policy, now);
  }
  CheckClaims(mutations);
}

void WorkTruth::SeeSave(const core::Job& row) {
  const AttemptId by{row.id, row.durable.attempt};
  const auto run = runs_.find(by);
  if (row.durable.step < 0 || run == runs_.end() || run->second->HasSaved(row.durable.step)) return;
  Say(by, "its save of step " + Number(row.durable.step) + " is called whole, and lacks shards");
}

void WorkTruth::SeeIdle(AttemptId id, const core::Policy& policy, TimePoint now) {
  const auto run = runs_.find(id);
  const Duration warn = policy.health.idle_gpus.warn_after;
  if (run == runs_.end() || now - run->second->last_busy() >= warn - warn / 50) return;
  Say(id, "its user was warned of idle GPUs, which were busy " + Number((now - run->second->last_busy()).ms) +
              " ms before");
}

// Each pass would give it the nodes, and the next one take them back.
void WorkTruth::CheckClaims(const std::vector<core::Mutation>& mutations) {
  std::map<core::JobId, std::set<std::uint32_t>> dropped;
  for (const core::Mutation& mutation : mutations) {
    const auto* attempt = std::get_if<std::shared_ptr<const Attempt>>(&mutation);
    if (!attempt || (*attempt)->outcome != Outcome::kClaimDropped) continue;
    const Attempt& row = **attempt;
    if (row.claimed_at == row.ended_at) dropped[row.id.job].insert(row.id.number);
  }
  for (const auto& [job, attempts] : dropped) {
    if (attempts.size() > kClaimsMost) {
      Say({job, *attempts.rbegin()}, "its job was given nodes, and lost them at once, " +
                                         Number(static_cast<std::int64_t>(attempts.size())) + " times in a batch");
    }
  }
}

void WorkTruth::See(const Attempt& row, const core::Policy& policy, TimePoint now) {
  Seen& seen = seen_[row.id];
  if (row.open_agreement() != nullptr || row.state != core::AttemptState::kRunning) seen.asked_last = now;
  if (row.stop == core::StopCause::kHang && !std::exchange(seen.hung, true)) SeeHang(row, policy, now);
  if (row.state == core::AttemptState::kEnded && !std::exchange(seen.ended, true)) SeeEnd(row, policy, now);
}

void WorkTruth::SeeEnd(const Attempt& row, const core::Policy& policy, TimePoint now) {
  const auto run = runs_.find(row.id);
  const SimRun* ran = run == runs_.end() ? nullptr : run->second.get();
  if (row.outcome == Outcome::kSucceeded && (!ran || !ran->HasDoneAll())) {
    Say(row.id, "it is called succeeded, and has done " + Number(ran ? ran->done() + 1 : 0) + " steps of " +
                    Number(ran ? ran->steps() : 0));
  }
  SeeSteps(row, ran);
  SeeYield(row, policy, now);
}

void WorkTruth::SeeSteps(const Attempt& row, const SimRun* run) {
  const std::int64_t from = run ? run->began_from() : row.base.step;
  const std::int64_t kept = std::max(from, row.durable_step);
  const std::int64_t done = std::max<std::int64_t>(0, (run ? run->done() : from) - kept);
  if (row.steps_lost > done) {
    Say(row.id, Number(row.steps_lost) + " steps are told as lost, and " + Number(done) + " were done and not saved");
  }
  if (row.outcome == Outcome::kSucceeded || row.last_step < 0) return;
  if (row.steps_lost < row.last_step - kept) {
    Say(row.id, Number(row.steps_lost) + " steps are told as lost, and it had told of step " + Number(row.last_step) +
                    " and had kept " + Number(kept));
  }
}

void WorkTruth::SeeYield(const Attempt& row, const core::Policy& policy, TimePoint now) {
  const bool asked = !row.agreements.empty() && row.agreements.back().state == core::AgreementState::kEnded;
  const bool by_itself = row.outcome == Outcome::kInterrupted && row.stop == core::StopCause::kNone && !asked;
  std::deque<TimePoint>& yields = idle_yields_[row.id.job];
  // Who was there for so long has done something, whatever it says of it.
  const Duration shortest = (policy.default_save_cost + policy.default_restore_cost) * policy.min_run_factor;
  const bool is_short = row.ended_at - row.started_at < std::min(shortest, policy.min_run_max);
  if (!by_itself || row.durable_step > row.base.step || !is_short) return yields.clear();
  yields.push_back(now);
  while (yields.front() + kYieldsWithin < now) yields.pop_front();
  if (yields.size() > kYieldsMost) {
    Say(row.id, Number(static_cast<std::int64_t>(yields.size())) + " attempts in 10 minutes left by themselves");
  }
}

void WorkTruth::SeeHang(const Attempt& row, const core::Policy& policy, TimePoint now) {
  const auto run = runs_.find(row.id);
  if (run == runs_.end()) return Say(row.id, "it was stopped for standing still, and was never there");
  // A sign that is on its way comes too late for a watchdog that has waited for its whole limit.
  const bool in_flight = now - run->second->last_sign() < kReportOnItsWay;
  const Duration stood = now - (in_flight ? run->second->sign_before() : run->second->last_sign());
  const Duration limit = LeastLimit(run->second->script().spec, policy);
  if (stood < limit - limit / 50) {
    Say(row.id, "it was stopped for standing still, " + Number(stood.ms) + " ms after a sign of life");
  }
}

void WorkTruth::CheckStanding(const core::ClusterState& state, const Streams& streams, const core::Policy& policy,
                              TimePoint calm_since, TimePoint now) {
  for (const auto& [id, run] : runs_) {
    const core::JobSpec& spec = run->script().spec;
    const core::IdleGpusPolicy& idle = policy.health.idle_gpus;
    const bool stands = spec.no_progress.ms > 0 && now - run->last_sign() > spec.no_progress;
    const Duration idle_most = idle.suspend_after.ms > 0 ? idle.warn_after + idle.suspend_after : Hours(1'000);
    const bool idles = now - run->last_busy() > idle_most;
    const bool waits = run->HasLeft();
    if (!stands && !idles && !waits) continue;
    const Attempt* row = state.FindAttempt(id);
    const core::Job* job = state.FindJob(id.job);
    if (!row || !job || row->state != core::AttemptState::kRunning || row->stop != core::StopCause::kNone) continue;
    if (row->open_agreement() || job->state != core::JobState::kRunning) continue;
    TimePoint calm = std::max(calm_since, seen_[id].asked_last);
    bool heard = true;
    for (const core::NodeId node : row->nodes) {
      heard = heard && streams.IsUp(node);
      calm = std::max(calm, streams.UpSince(node));
    }
    if (!heard) continue;
    // As long as a restore may take, from when all its tasks were seen running.
    const bool restores = row->base.step >= 0 && row->last_step < 0 && row->durable_step < 0;
    Duration slack = policy.node_lost_after + kLookSlack;
    if (restores) slack = slack + std::max(policy.health.no_progress_min, job->restore_cost * 5);
    const Duration stood = now - std::max(calm, run->last_sign()), unused = now - std::max(calm, run->last_busy());
    if (stands && !row->stalled_since && stood > spec.no_progress + slack) {
      Say(id, "it has stood still for " + Number(stood.ms) + " ms, and nobody has noticed");
    }
    if (waits && stood > slack) {
      Say(id, "a rank of it has left, and the others wait for it for " + Number(stood.ms) + " ms");
    }
    if (idles && !job->validates && unused > idle_most + slack) {
      Say(id, "nobody has used its GPUs for " + Number(unused.ms) + " ms, and it was not suspended");
    }
  }
}

}  // namespace glim::sim
