#include "scheduler/sim/world/process_truth.h"

#include <algorithm>
#include <memory>
#include <variant>

namespace glim::sim {

using core::AttemptId;
using core::NodeId;
using core::TaskId;

namespace {

// No link is named: one job at a time between any two zones. Else what those between the two carry.
std::uint32_t Carries(const core::Policy& policy, const std::string& a, const std::string& b) {
  if (policy.links.empty()) return 1;
  std::uint32_t jobs = 0;
  for (const core::ZoneLink& link : policy.links) {
    if (std::minmax(link.zone_a, link.zone_b) == std::minmax(a, b)) jobs += std::min(link.jobs_max, link.pairs_max);
  }
  return jobs;
}

}  // namespace

void ProcessTruth::Committed(const std::vector<core::Mutation>& mutations) {
  for (const core::Mutation& mutation : mutations) {
    if (const auto* job = std::get_if<std::shared_ptr<const core::Job>>(&mutation)) {
      jobs_[(*job)->id] = {(*job)->spec->pool, (*job)->spec->gpus_per_node};
    }
    if (const auto* node = std::get_if<std::shared_ptr<const core::Node>>(&mutation)) See(**node);
  }
}

void ProcessTruth::See(const core::Node& row) {
  NodeTruth& node = nodes_[row.id];
  if (row.state == core::NodeState::kLost || row.state == core::NodeState::kQuarantined) {
    if (node.holder) written_off_.insert({row.id, node.holder});
    if (row.holder) written_off_.insert({row.id, row.holder});
  }
  node = {row.labels, row.holder};
}

void ProcessTruth::Begin() {
  zones_.clear();
  newest_.clear();
}

void ProcessTruth::See(NodeId id, const std::vector<TaskId>& running) {
  for (const TaskId& task : running) {
    AttemptId& newest = newest_[task.attempt.job];
    newest = std::max(newest, task.attempt);
    if (written_off_.contains({id, task.attempt})) continue;
    const NodeTruth& node = nodes_[id];
    zones_[task.attempt].insert(node.labels.zone);
    const JobTruth& job = jobs_[task.attempt.job];
    if (node.labels.pool != job.pool) {
      violation_("attempt " + core::ToString(task.attempt) + " asks for pool " + job.pool +
                 ", and runs on a node of pool " + node.labels.pool);
    }
    if (node.labels.gpu_count < job.gpus_per_node) {
      violation_("attempt " + core::ToString(task.attempt) + " runs on a node with fewer GPUs than it asks for");
    }
  }
}

void ProcessTruth::End(const core::Policy& policy) {
  for (const auto& [attempt, zones] : zones_) {
    if (attempt == newest_.at(attempt.job)) continue;
    violation_("job " + std::to_string(attempt.job.value) + " runs twice: attempt " + core::ToString(attempt) +
               " has processes that nobody wrote off, beside those of " + core::ToString(newest_.at(attempt.job)));
  }
  CheckLinks(policy);
}

void ProcessTruth::CheckLinks(const core::Policy& policy) {
  std::map<std::pair<std::string, std::string>, std::uint32_t> crossing;
  for (const auto& [attempt, zones] : zones_) {
    if (zones.size() == 2) ++crossing[{*zones.begin(), *zones.rbegin()}];
  }
  for (const auto& [link, attempts] : crossing) {
    if (attempts <= Carries(policy, link.first, link.second)) continue;
    violation_(std::to_string(attempts) + " jobs have processes on both sides of the link " + link.first + "-" +
               link.second);
  }
}

}  // namespace glim::sim
