#include "scheduler/core/planner_pass.h"

#include <algorithm>

#include "scheduler/core/feasibility.h"

namespace glim::core {
namespace {

std::pair<std::string, std::string> LinkKey(const std::string& a, const std::string& b) {
  return a < b ? std::pair(a, b) : std::pair(b, a);
}

const Quota& QuotaOf(const Policy& policy, const std::string& user) {
  const auto own = policy.user_quota.find(user);
  return own == policy.user_quota.end() ? policy.default_user_quota : own->second;
}

}  // namespace

Pass::Pass(const ClusterState& state, const Policy& policy, TimePoint now) : state_(state), policy_(policy), now_(now) {
  for (const auto& [pool, attempts] : state.index().live) {
    for (const AttemptId id : attempts) {
      const Attempt& attempt = *state.FindAttempt(id);
      const Job& job = *state.FindJob(id.job);
      usage_[{job.user, attempt.charged}] += static_cast<std::uint32_t>(attempt.nodes.size());
      if (attempt.zones.size() == 2) links_[LinkKey(attempt.zones[0], attempt.zones[1])].insert(id);
    }
  }
}

const std::vector<PassNode>& Pass::NodesOf(const std::string& pool) {
  const auto known = nodes_.find(pool);
  if (known != nodes_.end()) return known->second;
  std::vector<PassNode>& nodes = nodes_[pool];
  const auto ids = state_.index().nodes_by_pool.find(pool);
  if (ids == state_.index().nodes_by_pool.end()) return nodes;
  std::set<std::string> zones, leaves;
  for (const NodeId id : ids->second) {
    const NodeLabels& labels = state_.FindNode(id)->labels;
    zones.insert(labels.zone);
    leaves.insert(labels.zone + "/" + labels.leaf);
  }
  // Indexes follow the order of the names within a pool: ties break alike in every pass.
  for (const std::string& zone : zones) {
    if (zone_index_.emplace(zone, zone_names_.size()).second) zone_names_.push_back(zone);
  }
  for (const std::string& leaf : leaves) leaf_index_.emplace(leaf, leaf_index_.size());
  for (const NodeId id : ids->second) {
    const Node* row = state_.FindNode(id);
    nodes.push_back({id, row, zone_index_[row->labels.zone], leaf_index_[row->labels.zone + "/" + row->labels.leaf]});
  }
  return nodes;
}

std::uint32_t Pass::QuotaLeft(const std::string& user, PriorityClass priority) const {
  const std::uint32_t quota = QuotaOf(policy_, user).For(priority);
  if (quota == kUnlimited) return kUnlimited;
  const auto used = usage_.find({user, priority});
  const std::uint32_t now_used = used == usage_.end() ? 0 : used->second;
  return quota > now_used ? quota - now_used : 0;
}

bool Pass::WithinQuota(const Job& job, PriorityClass priority) const {
  return QuotaLeft(job.user, priority) >= job.spec->nodes;
}

PriorityClass Pass::ClassOf(const Job& job) const {
  if (job.spec->priority != PriorityClass::kAuto) return job.spec->priority;
  // The highest class of which the user was given a share and has enough left; without shares, normal.
  const auto& quota = QuotaOf(policy_, job.user).nodes;
  for (auto it = quota.rbegin(); it != quota.rend(); ++it) {
    if (it->second != kUnlimited && QuotaLeft(job.user, it->first) >= job.spec->nodes) return it->first;
  }
  return quota.empty() ? PriorityClass::kNormal : PriorityClass::kLow;
}

std::int64_t Pass::Debt(AttemptId attempt) const { return DebtOf(state_, policy_, *state_.FindAttempt(attempt), now_); }

Pass::Standing Pass::StandingOf(const Attempt& holder, PriorityClass priority, Field& field) const {
  if (holder.state != AttemptState::kStarting && holder.state != AttemptState::kRunning) return Standing::kNo;
  const bool lower = holder.charged < priority || (holder.borrowed && holder.charged <= priority);
  if (!lower || doomed_.contains(holder.id)) return Standing::kNo;
  const TimePoint until = ProtectedUntil(state_, policy_, holder);
  if (priority == PriorityClass::kExtremeHigh || now_ >= until) return Standing::kVictim;
  if (!field.protected_until || until < field.protected_until) field.protected_until = until;
  return Standing::kProtected;
}

void Pass::AddNode(const PassNode& node, const Job& job, PriorityClass priority, bool may_interrupt, Field& field) {
  const Node& row = *node.row;
  if (!Fits(row.labels, *job.spec)) return;
  ++field.fitting;
  ++field.fitting_by_zone[node.zone];
  if (row.state != NodeState::kReady || !row.zombies.empty() || !row.orphans.empty() || taken_.contains(node.id)) return;
  Candidate candidate{node.id, node.zone, node.leaf, row.suspect, Tier::kFree, {}};
  const auto refuse = [&](AttemptId by) { field.holders.insert(by.job); };
  if (row.claim || (row.holder && state_.FindAttempt(row.holder)->state == AttemptState::kClaimed)) {
    const AttemptId claimant = row.claim ? row.claim : row.holder;
    const bool lower = state_.FindAttempt(claimant)->charged < priority;
    if (!may_interrupt || !lower || doomed_.contains(claimant)) return refuse(claimant);
    candidate.tier = Tier::kDisplaced;
    candidate.holder = claimant;
  } else if (row.holder) {
    const Attempt& holder = *state_.FindAttempt(row.holder);
    const Round* round = holder.open_round();
    if (holder.stop != StopCause::kNone || round) {
      // It left for a successor that went away: unless somebody is more urgent, it has the first claim on its nodes.
      if (round && round->swap_aborted && priority <= holder.charged) return refuse(row.holder);
      candidate.tier = Tier::kEmptying;
    } else {
      if (!may_interrupt || StandingOf(holder, priority, field) != Standing::kVictim) return refuse(row.holder);
      candidate.tier = Tier::kVictim;
    }
    candidate.holder = row.holder;
  } else if (reserved_.contains(node.id)) {
    ++field.reserved;
    return;
  }
  field.candidates.push_back(candidate);
}

Field Pass::FieldFor(const Job& job, PriorityClass priority, bool may_interrupt) {
  Field field;
  for (const PassNode& node : NodesOf(job.spec->pool)) AddNode(node, job, priority, may_interrupt, field);
  return field;
}

bool Pass::LinkFree(std::uint32_t zone_a, std::uint32_t zone_b, const std::vector<AttemptId>& leaving) const {
  const auto key = LinkKey(zone_names_[zone_a], zone_names_[zone_b]);
  const std::uint32_t jobs_max = LinkJobsMax(policy_, key.first, key.second);
  std::uint32_t used = 0;
  if (const auto it = links_.find(key); it != links_.end()) {
    for (const AttemptId id : it->second) {
      const Attempt& attempt = *state_.FindAttempt(id);
      // Victims of other jobs' swaps are not among them: their rounds may yet be withdrawn.
      const bool displaced = attempt.state == AttemptState::kClaimed && doomed_.contains(id);
      const bool going = LeavesItsLink(attempt) || displaced ||
                         std::find(leaving.begin(), leaving.end(), id) != leaving.end();
      if (!going) ++used;
    }
  }
  const auto planned = links_planned_.find(key);
  if (planned != links_planned_.end()) used += planned->second;
  return used < jobs_max;
}

void Pass::Take(const PlannedStart& start, const Job& job) {
  taken_.insert(start.nodes.begin(), start.nodes.end());
  doomed_.insert(start.victims.begin(), start.victims.end());
  doomed_.insert(start.displaced.begin(), start.displaced.end());
  usage_[{job.user, start.charged}] += static_cast<std::uint32_t>(start.nodes.size());
  std::set<std::string> zones;
  for (const NodeId node : start.nodes) zones.insert(state_.FindNode(node)->labels.zone);
  if (zones.size() == 2) ++links_planned_[LinkKey(*zones.begin(), *zones.rbegin())];
}

void Pass::Reserve(const Field& field, std::uint32_t nodes, std::uint32_t zone) {
  for (const Candidate& c : field.candidates) {
    if (nodes == 0) return;
    if (c.zone != zone || c.tier != Tier::kFree) continue;
    reserved_.insert(c.node);
    --nodes;
  }
}

}  // namespace glim::core
