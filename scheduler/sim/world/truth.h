// What the world around the scheduler knows to be true, held against what the scheduler says. It sees every commit that
// was taken, what users were told, and what the machines really do; it decides nothing and uses no logic of the core.
//
//   - a job that was acknowledged is there until it has ended, also after a reload; a reload brings back what was
//     committed, row by row
//   - S, once committed for an agreement, stays
//   - a job's newest save comes from an attempt that has not ended, and goes back only when some of it lies on
//     lost nodes alone and its spec does not wait for them, or when it is damaged and its ranks went on from an earlier
//     step; an attempt goes on from what was its job's newest save when it started, or from such a step, and from
//     nothing else
//   - every GPU-millisecond that a holder had of a node is in the ledger of exactly one job, under the same use
//   - a job starts only when the jobs that it names in `after` have ended as it asks; one that reached its time limit
//     has run for that long, and none starts that has
//   - a node whose agent has released a task is not held for that task any more
//   - an interrupt's grace, when it is asked for, is at most the cap of its class in the policy of that time
//   - a job whose start failed by its own fault, as an agent said, is not started again
//   - what runs on a node is its holder's, or known as a stale task or an orphan: nothing runs on a free node
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/event.h"
#include "scheduler/core/model/policy.h"
#include "scheduler/core/model/transition.h"

namespace glim::sim {

class Truth {
 public:
  // `began_from`: the step that the attempt's ranks really went on from; nothing: it never had any.
  using BeganFrom = std::function<std::optional<std::int64_t>(core::AttemptId)>;
  Truth(std::function<void(const std::string&)> violation, BeganFrom began_from)
      : violation_(std::move(violation)), began_from_(std::move(began_from)) {}

  // Their user has been told their ids. False for an id that had been given out before.
  bool Acknowledged(core::JobId job);
  // It has the number of an orphan, and what is told of the two is mixed up: nothing is expected of it.
  void LeaveOut(core::AttemptId attempt) { left_out_.insert(attempt); }
  // The policy in force from now on.
  void CapsAre(const core::Policy& policy) { caps_ = policy.grace_cap; }
  // A commit was taken, in the order of its mutations, at this time of the scheduler's.
  void Committed(const std::vector<core::Mutation>& mutations, TimePoint now);

  // After each batch, and after a reload.
  void CheckJobs(const core::ClusterState& state);
  void CheckLedger();
  // The batch had this report of a node's present stream.
  void CheckReleases(const core::ClusterState& state, const core::NodeReported& report);
  // These tasks have processes on the node, as its machine knows.
  void CheckRunning(const core::ClusterState& state, core::NodeId node, const std::vector<core::TaskId>& running);
  // `loaded` is what the store gave back; `committed` the rows of the last commit that was taken.
  void CheckReload(const core::Tables& committed, const core::ClusterState& loaded);

  // Acknowledged and not over when they were last checked.
  const std::set<core::JobId>& unfinished() const { return unfinished_; }

 private:
  struct JobTruth {
    core::Checkpoint durable;
    core::UseTotals ledger{};
    std::uint32_t attempts = 0;
    Duration limit;
    Duration ran;           // its ended attempts, from the moment they held all nodes
    bool hopeless = false;  // a start failed by its own fault
  };
  struct AttemptTruth {
    bool started = false;
    bool ended = false;
    bool at_limit = false;  // it was asked to leave at its job's time limit
    core::Checkpoint base;
    std::map<std::uint32_t, std::int64_t> stop_steps;  // by agreement
    std::uint32_t asked = 0;                           // agreements that have been opened
    bool jobs_fault = false;                           // a task could not start, and no node would do better
  };

  void See(const core::Job& row);
  void See(const core::Attempt& row);
  void See(const core::Task& row);
  void See(const core::Node& row);
  // No node that has all of it is left, and one that has a part is lost.
  bool IsLost(const core::Checkpoint& save) const;
  bool IsRemoved(const core::Checkpoint& save) const;
  void SeeDispatch(const core::Job& row, const JobTruth& job);
  void Forget(core::JobId job);
  void Expect(bool holds, const char* what, core::AttemptId attempt);

  const std::function<void(const std::string&)> violation_;
  const BeganFrom began_from_;
  core::ClassDurations caps_;
  TimePoint now_;  // of the newest commit
  std::set<core::AttemptId> left_out_;
  std::set<core::JobId> unfinished_;
  core::JobId newest_;
  std::map<core::JobId, JobTruth> jobs_;
  std::map<core::JobId, core::JobState> ends_;  // of all jobs that are over, forgotten ones included
  std::map<core::AttemptId, AttemptTruth> attempts_;
  std::map<core::NodeId, core::UseTotals> nodes_;
  std::set<core::NodeId> lost_;  // by the newest commit
  std::set<core::NodeId> removed_;
  core::UseTotals of_jobs_{};   // all jobs' ledgers, forgotten ones' included
  core::UseTotals of_nodes_{};  // all nodes' ledgers
};

}  // namespace glim::sim
