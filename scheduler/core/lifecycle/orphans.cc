#include "scheduler/core/lifecycle/orphans.h"

#include <cstdint>
#include <set>
#include <string>

#include "scheduler/core/lifecycle/claims.h"
#include "scheduler/core/lifecycle/job_machine.h"
#include "scheduler/core/lifecycle/save_place.h"
#include "scheduler/core/model/save_reach.h"

namespace glim::core {
namespace {

// No store is older by more attempts of a job: a number beyond that is an agent's fault, and would use up the others.
constexpr std::uint32_t kSkippedMost = 10'000;

void MakeWay(Changes& changes, const Attempt& live, const Node& node) {
  const AttemptId id = live.id;
  const std::string why = "an attempt of this job runs on node " + node.name + " that the store does not know";
  const bool claimed = live.state == AttemptState::kClaimed;
  StopAttempt(changes, id, StopCause::kDeadline, why);
  if (claimed) Requeue(changes, id.job, {});
}

void SettleJob(Changes& changes, JobId id) {
  const Job* job = changes.state().FindJob(id);
  if (!job) return;
  const Attempt* live = changes.state().LiveAttempt(*job);
  if (!live) return SettleSave(changes, id);
  const NodeId node = OrphanOf(changes.state(), id);
  if (node && live->durable_step < 0) MakeWay(changes, *live, changes.node(node));
}

// Neither the job nor one of ours gets an orphan's number: it would find its checkpoints and logs.
void SkipNumber(Changes& changes, AttemptId orphan) {
  changes.SkipJobIds(orphan.job);
  const Job* job = changes.state().FindJob(orphan.job);
  if (!job || IsTerminal(job->state) || changes.state().LiveAttempt(*job)) return;
  if (orphan.number <= job->attempts || orphan.number - job->attempts > kSkippedMost) return;
  changes.EditJob(job->id, [&](Job& row) { row.attempts = orphan.number; });
}

}  // namespace

namespace {

void SeeUnproven(Changes& changes, NodeId node, const std::vector<AttemptId>& unproven) {
  if (changes.node(node).unproven == unproven) return;
  for (const AttemptId orphan : unproven) {
    changes.Note(HistoryKind::kOrphan, orphan, node,
                 "without a receipt of this scheduler's: the node takes no job, and the job is not touched");
  }
  changes.EditNode(node, [&](Node& row) { row.unproven = unproven; });
}

}  // namespace

void SeeOrphans(Changes& changes, NodeId node, const OrphansSeen& seen) {
  SeeUnproven(changes, node, seen.unproven);
  const std::vector<AttemptId>& orphans = seen.proven;
  const std::vector<AttemptId> before = changes.node(node).orphans;
  if (orphans.empty() && before.empty()) return;
  if (orphans != before) {
    for (const AttemptId orphan : orphans) {
      SkipNumber(changes, orphan);
      changes.Note(HistoryKind::kOrphan, orphan, node);
    }
    changes.EditNode(node, [&](Node& row) { row.orphans = orphans; });
  }
  // Also where it tells the same: its node may have been lost meanwhile, and its job have gone on.
  std::set<JobId> jobs;
  for (const auto& told : {before, orphans}) {
    for (const AttemptId orphan : told) jobs.insert(orphan.job);
  }
  for (const JobId job : jobs) SettleJob(changes, job);
}

}  // namespace glim::core
