#include "scheduler/sim/world/process_truth.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

namespace glim::sim {

using core::AttemptId;
using core::NodeId;
using core::TaskId;

namespace {

std::pair<std::string, std::string> ByName(const std::string& a, const std::string& b) {
  return a < b ? std::pair(a, b) : std::pair(b, a);
}

}  // namespace

void ProcessTruth::Committed(const std::vector<core::Mutation>& mutations) {
  for (const core::Mutation& mutation : mutations) {
    if (const auto* job = std::get_if<std::shared_ptr<const core::Job>>(&mutation)) {
      jobs_[(*job)->id] = {(*job)->spec->pool, (*job)->spec->gpus_per_node};
    }
    if (const auto* node = std::get_if<std::shared_ptr<const core::Node>>(&mutation)) See(**node);
    if (const auto* attempt = std::get_if<std::shared_ptr<const core::Attempt>>(&mutation)) See(**attempt);
    if (const auto* change = std::get_if<core::AccountChange>(&mutation)) See(*change);
  }
}

void ProcessTruth::See(const core::Node& row) {
  NodeTruth& node = nodes_[row.id];
  if (row.state == core::NodeState::kLost || row.state == core::NodeState::kQuarantined) {
    if (node.holder) written_off_.insert({row.id, node.holder});
    if (row.holder) written_off_.insert({row.id, row.holder});
  }
  // Out by its health, or lost before it was cordoned.
  for (const TaskId& task : row.stale_tasks) {
    if (row.cordon) written_off_.insert({row.id, task.attempt});
  }
  node = {row.labels, row.holder};
}

void ProcessTruth::See(const core::Attempt& row) {
  if (row.zones.size() != 2 || row.state == core::AttemptState::kEnded) {
    crossing_.erase(row.id);
    on_lowered_.erase(row.id);
    waited_.erase(row.id);
    return;
  }
  crossing_[row.id] = row.state != core::AttemptState::kClaimed;
}

// Who has a link that carries fewer from now on, or waits for one, may stay. The first link closes all the others.
void ProcessTruth::See(const core::AccountChange& change) {
  const auto* link = std::get_if<core::ZoneLink>(&change.row);
  if (link == nullptr) return;
  const Ends ends = ByName(link->zone_a, link->zone_b);
  const std::uint32_t before = links_.empty() && !change.removed ? core::kLinkAmountMax + 1 : Carries(ends);
  if (change.removed) {
    links_.erase(ends);
  } else {
    links_[ends] = std::min(link->jobs_max, link->pairs_max);
  }
  if (Carries(ends) >= before) return;
  for (const auto& [attempt, begun] : crossing_) {
    on_lowered_.insert(attempt);
    if (begun) {
      waited_.erase(attempt);  // when it was lowered before, and has begun since
    } else {
      waited_.insert(attempt);
    }
  }
}

void ProcessTruth::Begin() {
  zones_.clear();
  newest_.clear();
}

void ProcessTruth::See(NodeId id, const std::vector<TaskId>& running) {
  for (const TaskId& task : running) {
    if (orphans_.contains({id, task.attempt})) continue;
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

void ProcessTruth::End() {
  for (const auto& [attempt, zones] : zones_) {
    if (attempt == newest_.at(attempt.job)) continue;
    violation_("job " + std::to_string(attempt.job.value) + " runs twice: attempt " + core::ToString(attempt) +
               " has processes that nobody wrote off, beside those of " + core::ToString(newest_.at(attempt.job)));
  }
  CheckLinks();
}

// No link is named: one job at a time between any two zones.
std::uint32_t ProcessTruth::Carries(const Ends& ends) const {
  if (links_.empty()) return 1;
  const auto link = links_.find(ends);
  return link == links_.end() ? 0 : link->second;
}

void ProcessTruth::CheckLinks() {
  std::map<Ends, std::vector<AttemptId>> crossing;
  for (const auto& [attempt, zones] : zones_) {
    if (zones.size() == 2) crossing[{*zones.begin(), *zones.rbegin()}].push_back(attempt);
  }
  for (const auto& [link, attempts] : crossing) {
    if (attempts.size() <= Carries(link)) continue;
    // Who waited when it came to carry fewer may begin alone: it had been promised.
    const bool stay = std::all_of(attempts.begin(), attempts.end(), [&, alone = attempts.size() == 1](AttemptId id) {
      return on_lowered_.contains(id) && (alone || !waited_.contains(id));
    });
    if (stay) continue;
    violation_(std::to_string(attempts.size()) + " jobs have processes on both sides of the link " + link.first + "-" +
               link.second);
  }
}

}  // namespace glim::sim
