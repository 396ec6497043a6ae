// What operators do in some worlds: they take nodes out, empty them and give them back, reserve them, move jobs, give
// them other classes, and end all that a user has.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/sim/world/world.h"

namespace glim::sim {

void World::BeginOperating() {
  if (operate_rng_.OneIn(2)) timeline_.After(Seconds(operate_rng_.Between(5, 120)), [this] { OperateNodes(); });
  if (operate_rng_.OneIn(2)) timeline_.After(Seconds(operate_rng_.Between(5, 120)), [this] { OperateJobs(); });
  if (operate_rng_.OneIn(2)) timeline_.After(Seconds(operate_rng_.Between(5, 120)), [this] { OperateReservations(); });
}

// When the users have gone home every node is given back, again and again: a scheduler may die with that.
void World::OperateNodes() {
  if (report_.events >= options_.events) {
    state_->tables().nodes.ForEach([&](core::NodeId, const core::Node& node) {
      if (node.cordon) Post(core::UncordonNode{node.name, "op"});
    });
    timeline_.After(Seconds(60), [this] { OperateNodes(); });
    return;
  }
  const auto last = static_cast<std::int64_t>(agents_.size());
  const std::string name = hellos_.at(core::NodeId(static_cast<std::uint32_t>(operate_rng_.Between(1, last)))).name;
  if (operate_rng_.OneIn(3)) {
    Post(core::UncordonNode{name, "op"});
  } else {
    core::CordonNode cordon;
    cordon.name = name;
    cordon.by = "op";
    cordon.reason = "a new fan";
    if (operate_rng_.OneIn(2)) cordon.lasts = Seconds(operate_rng_.Between(1, 600));
    cordon.drain = operate_rng_.OneIn(2);
    if (operate_rng_.OneIn(3)) cordon.deadline = Seconds(operate_rng_.Between(1, 120));
    Post(std::move(cordon));
  }
  timeline_.After(Seconds(operate_rng_.Between(5, 120)), [this] { OperateNodes(); });
}

// Teams get nodes for a while, and nobody does, now or soon; then they are changed, taken back, or simply over.
void World::OperateReservations() {
  if (report_.events >= options_.events) {
    state_->tables().reservations.ForEach([&](const std::string& name, const core::Reservation&) {
      Post(core::RemoveReservation{name, "op"});
    });
    timeline_.After(Seconds(60), [this] { OperateReservations(); });
    return;
  }
  const std::string name = "r" + std::to_string(operate_rng_.Between(1, 3));
  const core::Node* node = nullptr;
  const auto last = static_cast<std::int64_t>(agents_.size());
  const std::string node_name =
      hellos_.at(core::NodeId(static_cast<std::uint32_t>(operate_rng_.Between(1, last)))).name;
  const auto known = state_->index().node_by_name.find(node_name);
  if (known != state_->index().node_by_name.end()) node = state_->FindNode(known->second);
  if (operate_rng_.OneIn(5) || !node) {
    Post(core::RemoveReservation{name, "op"});
  } else {
    core::SetReservation set;
    set.by = "op";
    core::Reservation& row = set.reservation;
    row.name = name;
    row.reason = "a deadline";
    if (!operate_rng_.OneIn(3)) row.team = operate_rng_.OneIn(2) ? "t1" : "t2";
    if (operate_rng_.OneIn(2)) {
      row.node_names = {node_name};
    } else {
      row.pool = node->labels.pool;
      row.share = static_cast<std::uint32_t>(operate_rng_.Between(1, 3));
    }
    if (!operate_rng_.OneIn(3)) row.begins_at = last_now_ + Seconds(operate_rng_.Between(1, 600));
    row.ends_at = std::max(row.begins_at, last_now_) + Seconds(operate_rng_.Between(1, 900));
    Post(std::move(set));
  }
  timeline_.After(Seconds(operate_rng_.Between(5, 120)), [this] { OperateReservations(); });
}

void World::OperateJobs() {
  if (report_.events >= options_.events) return;
  std::vector<core::JobId> live;
  for (const auto& [pool, attempts] : state_->index().live) {
    for (const core::AttemptId id : attempts) live.push_back(id.job);
  }
  const std::string user = "u" + std::to_string(operate_rng_.Between(1, 3));
  const core::JobId job =
      live.empty() ? core::JobId(1) : live[operate_rng_.Between(0, static_cast<std::int64_t>(live.size()) - 1)];
  // Somebody was not told, of a job that may be gone. No draw: what else happens is as it would be.
  if (job.value % 5 == 1) Post(core::NotifySkipped{{job, 1}, "team-chat"});
  if (operate_rng_.OneIn(30)) {
    Post(core::CancelUserJobs{user, "op", "left the company", operate_rng_.OneIn(2)});
  } else if (operate_rng_.OneIn(2)) {
    Post(core::MoveJob{job, "op", "a slow switch"});
  } else {
    core::SetJobPriority change;
    change.job = job;
    change.user = "op";
    change.by_right = change.unbound = true;
    change.priority = operate_rng_.OneIn(2) ? core::PriorityClass::kHigh : core::PriorityClass::kLow;
    Post(std::move(change));
  }
  timeline_.After(Seconds(operate_rng_.Between(5, 120)), [this] { OperateJobs(); });
}

}  // namespace glim::sim
