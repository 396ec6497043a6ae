#include "scheduler/server/metrics/commit_figures.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <variant>

#include "glim/v1/job.pb.h"
#include "scheduler/server/convert/row_convert.h"

namespace glim::server {
namespace {

using core::Agreement;
using core::Attempt;
using core::AttemptState;
using core::Outcome;

InterruptCause CauseOf(const Agreement& agreement) {
  if (agreement.suspend) return InterruptCause::kSuspend;
  if (agreement.time_limit) return InterruptCause::kTimeLimit;
  if (agreement.by_operator) return InterruptCause::kOperator;
  return agreement.moved ? InterruptCause::kMove : InterruptCause::kPreempt;
}

// The agreement that the attempt's end closed; null: it was not being asked.
const Agreement* ClosedBy(const Attempt& ended) {
  if (ended.agreements.empty()) return nullptr;
  const Agreement& last = ended.agreements.back();
  return last.state == core::AgreementState::kEnded && last.released_at == ended.ended_at ? &last : nullptr;
}

std::int64_t GpusOf(const core::Tables& before, const Attempt& attempt) {
  std::int64_t gpus = 0;
  for (const core::NodeId id : attempt.nodes) {
    const core::Node* const node = before.nodes.Find(id);
    gpus += node ? node->labels.gpu_count : 0;
  }
  return gpus;
}

std::optional<Interrupted> InterruptOf(const core::Tables& before, const Attempt& ended, const core::Policy& policy) {
  const Agreement* const agreement = ClosedBy(ended);
  const bool at_limit = ended.outcome == Outcome::kTimeout && agreement != nullptr;
  if (ended.outcome != Outcome::kInterrupted && !at_limit) return std::nullopt;
  if (!agreement && ended.stop != core::StopCause::kNone) return std::nullopt;  // nobody asked, and it did not yield
  Interrupted interrupt;
  interrupt.left = ended.save;
  interrupt.cause = agreement ? CauseOf(*agreement) : InterruptCause::kYield;
  if (!agreement) return interrupt;
  v1::AgreementTimes times;
  AgreementTimesToProto(*agreement, &times);
  interrupt.phases_ms = {times.notify_ms(), times.agree_ms(), times.save_ms(), times.leave_ms(), times.release_ms()};
  interrupt.took = agreement->released_at - agreement->requested_at;
  interrupt.leave_gpu_ms = GpusOf(before, ended) * interrupt.took.ms;
  interrupt.asked = true;
  interrupt.grace_kept = ended.save != core::SaveResult::kKilled;
  const Duration after_deadline = policy.kill_after_term + policy.release_max;
  interrupt.release_kept = agreement->released_at <= agreement->deadline + after_deadline;
  return interrupt;
}

std::int64_t LostOf(const core::Job* job) { return job ? job->ledger[static_cast<std::size_t>(core::Use::kLost)] : 0; }

// What these jobs' ledgers have more of what was lost, by job.
std::map<core::JobId, std::int64_t> LossesOf(const core::Tables& before, const std::vector<core::Mutation>& mutations) {
  std::map<core::JobId, std::int64_t> losses;
  for (const core::Mutation& mutation : mutations) {
    if (const auto* job = std::get_if<std::shared_ptr<const core::Job>>(&mutation)) {
      const std::int64_t lost = LostOf(job->get()) - LostOf(before.jobs.Find((*job)->id));
      if (lost > 0) losses[(*job)->id] = lost;
    }
  }
  return losses;
}

class Reader {
 public:
  Reader(const core::Tables& before, const std::vector<core::Mutation>& mutations, const core::Policy& policy)
      : before_(before), mutations_(mutations), policy_(policy) {}

  CommitFigures Read() {
    for (const core::Mutation& mutation : mutations_) {
      const auto* row = std::get_if<std::shared_ptr<const Attempt>>(&mutation);
      if (row) Look(**row);
    }
    return std::move(figures_);
  }

 private:
  // Of a row that is written several times in a commit, the last says how it ended.
  void Look(const Attempt& row) {
    const Attempt* const old = before_.attempts.Find(row.id);
    if (row.started_at && !(old && old->started_at) && started_.insert(row.id).second) {
      const Duration waited = row.started_at - row.queued_at;
      figures_.started.push_back({row.charged, row.nodes.size(), waited, waited <= policy_.starvation_bound});
    }
    if (row.running_at && row.started_at && !(old && old->running_at) && running_.insert(row.id).second) {
      figures_.starting.push_back(row.running_at - row.started_at);
    }
    const bool ends = row.state == AttemptState::kEnded && !(old && old->state == AttemptState::kEnded);
    if (!ends || row.outcome == Outcome::kClaimDropped || !ended_.insert(row.id).second) return;
    Ended ended;
    ended.outcome = row.outcome;
    ended.interrupt = InterruptOf(before_, row, policy_);
    if (!losses_) losses_ = LossesOf(before_, mutations_);
    if (const auto loss = losses_->find(row.id.job); loss != losses_->end()) {
      ended.lost_gpu_ms = loss->second;
      losses_->erase(loss);
    }
    figures_.ended.push_back(std::move(ended));
  }

  const core::Tables& before_;
  const std::vector<core::Mutation>& mutations_;
  const core::Policy& policy_;
  CommitFigures figures_;
  std::set<core::AttemptId> started_, running_, ended_;
  std::optional<std::map<core::JobId, std::int64_t>> losses_;  // read when the first attempt has ended
};

}  // namespace

const char* ToString(InterruptCause cause) {
  switch (cause) {
    case InterruptCause::kPreempt: return "preempt";
    case InterruptCause::kMove: return "move";
    case InterruptCause::kOperator: return "operator";
    case InterruptCause::kSuspend: return "suspend";
    case InterruptCause::kTimeLimit: return "time_limit";
    case InterruptCause::kYield: break;
  }
  return "yield";
}

const char* ToString(InterruptPhase phase) {
  switch (phase) {
    case InterruptPhase::kNotify: return "notify";
    case InterruptPhase::kAgree: return "agree";
    case InterruptPhase::kSave: return "save";
    case InterruptPhase::kLeave: return "leave";
    case InterruptPhase::kRelease: break;
  }
  return "release";
}

CommitFigures FiguresOf(const core::Tables& before, const std::vector<core::Mutation>& mutations,
                        const core::Policy& policy) {
  return Reader(before, mutations, policy).Read();
}

const char* LossCause(const Ended& ended) {
  if (ended.interrupt)
    return ended.interrupt->left == core::SaveResult::kKilled ? "interrupt_killed" : "interrupt_unsaved";
  return ended.outcome == Outcome::kNone ? "other" : core::ToString(ended.outcome);
}

}  // namespace glim::server
