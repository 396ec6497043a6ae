// What has processes on which machine, held against what the scheduler promised: told by the machines, and of the
// scheduler only by what it committed. It uses no logic of the core.
//
//   - two attempts of a job have processes at one time only where each task of the older one is on a node that was
//     judged lost, or cordoned, while that attempt held it: nothing else lets a job start again beside itself
//   - what runs on a node is of a job of that node's pool, and the node has the GPUs that it asks for
//   - over a link between two zones, which all pools share, not more attempts have processes on both sides than it
//     carries
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/model/policy.h"
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
  void End(const core::Policy& policy);

 private:
  struct NodeTruth {
    core::NodeLabels labels;
    core::AttemptId holder;
  };
  struct JobTruth {
    std::string pool;
    std::uint32_t gpus_per_node = 0;
  };

  void See(const core::Node& row);
  void CheckLinks(const core::Policy& policy);

  const std::function<void(const std::string&)> violation_;
  std::map<core::NodeId, NodeTruth> nodes_;
  std::map<core::JobId, JobTruth> jobs_;
  std::set<std::pair<core::NodeId, core::AttemptId>> written_off_;
  // Of the present round: who has processes that were not written off, and in which zones.
  std::map<core::AttemptId, std::set<std::string>> zones_;
  std::map<core::JobId, core::AttemptId> newest_;  // with processes, written off or not
};

}  // namespace glim::sim
