#include "scheduler/core/lifecycle/orphans.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "scheduler/core/lifecycle/claims.h"
#include "scheduler/core/lifecycle/job_machine.h"
#include "scheduler/core/lifecycle/save_place.h"
#include "scheduler/core/model/interrupt_terms.h"
#include "scheduler/core/model/save_reach.h"

namespace glim::core {
namespace {

// No store is older by more attempts of a job: a number beyond that is an agent's fault, and would use up the others.
constexpr std::uint32_t kSkippedMost = 10'000;

// Who reports no steps shows what it has done by the time alone: a protection's length (min_run) of it is no start any
// more, nor is the time in which every node is heard that is not lost.
bool HasLostNothingButItsStart(const Changes& changes, const Attempt& live) {
  if (live.durable_step >= 0 || live.last_step > live.base.step) return false;
  const Duration start =
      std::max(MinRunOf(changes.policy(), changes.job(live.id.job)), changes.policy().node_lost_after);
  return !live.running_at || changes.now() - live.running_at < start;
}

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
  if (node && HasLostNothingButItsStart(changes, *live)) MakeWay(changes, *live, changes.node(node));
}

// Neither the job nor one of ours gets an orphan's number: it would find its checkpoints and logs. The job may run
// meanwhile, and the orphan be gone before its next attempt: the row keeps the number.
void SkipNumber(Changes& changes, AttemptId orphan) {
  changes.SkipJobIds(orphan.job);
  const Job* job = changes.state().FindJob(orphan.job);
  if (!job || IsTerminal(job->state)) return;
  if (orphan.number > job->attempts && orphan.number - job->attempts > kSkippedMost) return;
  changes.EditJob(job->id, [&](Job& row) { row.orphan_attempts = std::max(row.orphan_attempts, orphan.number); });
}

// By our own rows that attempt was there, and is over: its job has gone on without it, as the job of any lost node. The
// node may have another row by now: an operator removed the one that the attempt names.
bool IsOver(const ClusterState& state, NodeId node, AttemptId orphan) {
  const Job* job = state.FindJob(orphan.job);
  if (!job) return false;
  if (orphan.number < OldestKept(job->attempts)) return true;
  const Attempt* row = state.FindAttempt(orphan);
  if (!row || row->state != AttemptState::kEnded) return false;
  return std::any_of(row->nodes.begin(), row->nodes.end(),
                     [&](NodeId of) { return of == node || !state.FindNode(of); });
}

// What touches no job, and why.
void SeeUnproven(Changes& changes, NodeId node, const std::vector<AttemptId>& over,
                 const std::vector<AttemptId>& unproven) {
  std::vector<AttemptId> all = unproven;
  all.insert(all.end(), over.begin(), over.end());
  if (changes.node(node).unproven == all) return;
  for (std::size_t i = 0; i < all.size(); ++i) {
    changes.Note(
        HistoryKind::kOrphan, all[i], node,
        i < unproven.size()
            ? "without a receipt of this scheduler's: the node takes no job, and the job is not touched"
            : "that attempt is over, and its job has gone on: the node takes no job, and the job is not touched");
  }
  changes.EditNode(node, [&](Node& row) { row.unproven = std::move(all); });
}

}  // namespace

void SeeOrphans(Changes& changes, NodeId node, const OrphansSeen& seen) {
  std::vector<AttemptId> orphans, over;
  for (const AttemptId orphan : seen.proven) {
    (IsOver(changes.state(), node, orphan) ? over : orphans).push_back(orphan);
  }
  SeeUnproven(changes, node, over, seen.unproven);
  const std::vector<AttemptId> before = changes.node(node).orphans;
  if (orphans.empty() && before.empty()) return;
  for (const AttemptId orphan : orphans) SkipNumber(changes, orphan);
  if (orphans != before) {
    for (const AttemptId orphan : orphans) changes.Note(HistoryKind::kOrphan, orphan, node);
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
