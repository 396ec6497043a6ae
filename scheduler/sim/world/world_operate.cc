// What operators do in some worlds: they take nodes out, empty them and give them back, move jobs, give them other
// classes, and end all that a user has.
#include <string>
#include <utility>
#include <vector>

#include "scheduler/sim/world/world.h"

namespace glim::sim {

void World::BeginOperating() {
  if (operate_rng_.OneIn(2)) timeline_.After(Seconds(operate_rng_.Between(5, 120)), [this] { OperateNodes(); });
  if (operate_rng_.OneIn(2)) timeline_.After(Seconds(operate_rng_.Between(5, 120)), [this] { OperateJobs(); });
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

void World::OperateJobs() {
  if (report_.events >= options_.events) return;
  std::vector<core::JobId> live;
  for (const auto& [pool, attempts] : state_->index().live) {
    for (const core::AttemptId id : attempts) live.push_back(id.job);
  }
  const std::string user = "u" + std::to_string(operate_rng_.Between(1, 3));
  const core::JobId job =
      live.empty() ? core::JobId(1) : live[operate_rng_.Between(0, static_cast<std::int64_t>(live.size()) - 1)];
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
