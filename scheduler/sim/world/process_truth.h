// What has processes on which machine, held against what the scheduler promised: told by the machines, and of the
// scheduler only by what it committed. It uses no logic of the core.
//
//   - two attempts of a job have processes at one time only where each task of the older one is on a node that was
//     judged lost, quarantined, or taken out for its health, while that attempt held it: nothing else lets a job start
//     again beside itself
//   - what runs on a node is of a job of that node's pool, and the node has the GPUs that it asks for
//   - over a link between two zones, which all pools share, not more attempts have processes on both sides than it
//     carries; those that were there when an operator made it carry fewer stay, and nobody joins them
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/model/accounts.h"
#include "scheduler/core/model/rows.h"
#include "scheduler/core/model/transition.h"

namespace glim::sim {

class ProcessTruth {
 public:
  explicit ProcessTruth(std::function<void(const std::string&)> violation) : violation_(std::move(violation)) {}

  // A commit was taken, in the order of its mutations.
  void Committed(const std::vector<core::Mutation>& mutations);

  // To be called after each batch: Begin, then each machine, then End.
  void Begin();
  void See(core::NodeId node, const std::vector<core::TaskId>& running);
  void End();

  // The store has forgotten it: its job may begin until that node is heard, and it is of no pool and no link.
  void IsOrphan(core::NodeId node, core::AttemptId attempt) { orphans_.insert({node, attempt}); }
  // Takes what was written off over.
  void AddWrittenOff(const ProcessTruth& other) {
    written_off_.insert(other.written_off_.begin(), other.written_off_.end());
  }

  // Attempts that crossed a link, or had claimed it, when it came to carry fewer jobs.
  const std::set<core::AttemptId>& on_lowered() const { return on_lowered_; }

 private:
  struct NodeTruth {
    core::NodeLabels labels;
    core::AttemptId holder;
  };
  struct JobTruth {
    std::string pool;
    std::uint32_t gpus_per_node = 0;
  };

  using Ends = std::pair<std::string, std::string>;

  void See(const core::Node& row);
  void See(const core::Attempt& row);
  void See(const core::AccountChange& change);
  std::uint32_t Carries(const Ends& ends) const;
  void CheckLinks();

  const std::function<void(const std::string&)> violation_;
  std::map<core::NodeId, NodeTruth> nodes_;
  std::map<core::JobId, JobTruth> jobs_;
  std::set<std::pair<core::NodeId, core::AttemptId>> written_off_, orphans_;
  std::map<Ends, std::uint32_t> links_;            // by name, what operators said of them
  std::map<core::AttemptId, bool> crossing_;       // attempts in two zones that have not ended: have they begun?
  std::set<core::AttemptId> on_lowered_, waited_;  // waited_: of these, those that had not
  // Of the present round: who has processes that were not written off, and in which zones.
  std::map<core::AttemptId, std::set<std::string>> zones_;
  std::map<core::JobId, core::AttemptId> newest_;  // with processes, written off or not
};

}  // namespace glim::sim
