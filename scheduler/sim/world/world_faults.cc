// Faults by seed: streams that break, agents that restart, machines that reboot or fall silent, many at once, a
// scheduler that is killed before or after a commit and comes back from the store, clocks that are set.
#include <algorithm>
#include <utility>

#include "scheduler/sim/world/world.h"

namespace glim::sim {

using core::NodeId;

NodeId World::AnyNode() {
  return NodeId(static_cast<std::uint32_t>(rng_.Between(1, static_cast<std::int64_t>(agents_.size()))));
}

void World::FaultActs() {
  if (healing_) return;
  switch (rng_.Between(0, 9)) {
    case 0:
    case 1:
      crash_before_commit_ = rng_.OneIn(2);
      crash_after_commit_ = !crash_before_commit_;
      break;  // with the next batch that has something to commit
    case 2:
    case 3:
      ++report_.agent_restarts;
      Disconnect(AnyNode(), Milliseconds(rng_.Between(50, 20'000)));
      break;
    case 4: {  // a reboot
      const NodeId node = AnyNode();
      agents_.at(node)->Reboot();
      Disconnect(node, Milliseconds(rng_.Between(5000, 200'000)));
      break;
    }
    case 5:
    case 6:
      Disconnect(AnyNode(), Milliseconds(rng_.Between(5000, 300'000)));  // cut off, and at work
      break;
    case 7: Partition(); break;
    default: StepClock();
  }
  timeline_.After(Milliseconds(rng_.Between(1000, 60'000)), [this] { FaultActs(); });
}

void World::Partition() {
  const Duration away = Milliseconds(rng_.Between(1000, 150'000));
  for (const auto& [node, agent] : agents_) {
    if (rng_.OneIn(2)) Disconnect(node, away);
  }
}

void World::StepClock() {
  ++report_.clock_steps;
  // A leader counts on from where it began, by a clock that nobody sets: only the next one sees this.
  machine_offset_ = machine_offset_ + Milliseconds(rng_.Between(-1'200'000, 1'200'000));
}

void World::CrashScheduler(const core::Tables& committed) {
  ++report_.scheduler_restarts;
  crash_before_commit_ = crash_after_commit_ = false;
  down_ = true;
  inbox_.clear();
  submissions_in_inbox_.clear();
  wake_ = {};
  for (const auto& [node, agent] : agents_) agent->SetSession(0);
  auto loaded = store_.Load();
  if (!loaded.ok()) {
    Violation("the store could not be loaded: " + loaded.status().message());
    return;
  }
  state_ = std::move(loaded).value();
  truth_.CheckReload(committed, *state_);
  epoch_ = *store_.AcquireEpoch();
  revision_ = 0;
  timeline_.After(Milliseconds(rng_.Between(100, 90'000)), [this] { BeginLeader(); });
}

void World::BeginLeader() {
  down_ = false;
  clock_offset_ = std::max(timeline_.now() + machine_offset_, state_->newest) - timeline_.now();
  Post(core::LeaderStarted{});
  for (const auto& [node, agent] : agents_) {
    timeline_.After(Milliseconds(rng_.Between(1, 10'000)), [this, node = node] {
      if (!agents_.at(node)->session()) Connect(node);
    });
  }
  if (rival_) timeline_.After(Milliseconds(rng_.Between(1, 30'000)), [this] { WakeRival(); });
}

// The leader before was not dead, it slept. A user who still talks to it must get no answer but a refusal.
void World::WakeRival() {
  const std::unique_ptr<core::ClusterState> state = std::move(rival_);
  if (!state) return;
  ++report_.rivals;
  core::SubmitJobs submit;
  submit.user = "u1";
  submit.specs.emplace_back().name = "too late";
  const core::Event event{++seq_, SchedulerNow(), std::move(submit)};
  const core::DriveResult result =
      core::Drive(*state, policy_, {&event, 1},
                  [&](const std::vector<core::Mutation>& mutations) { return store_.Commit(rival_epoch_, mutations); });
  if (result.mutations > 0 && result.commit.ok()) Violation("the store took a commit of a leader whose time is over");
}

void World::Heal() {
  crash_before_commit_ = crash_after_commit_ = false;
  // The operator looks after what was taken out, for as long as anything is.
  std::vector<std::string> names;
  state_->tables().nodes.ForEach([&](NodeId, const core::Node& node) {
    if (node.state == core::NodeState::kQuarantined) names.push_back(node.name);
  });
  for (std::string& name : names) Post(core::ReturnNode{std::move(name)});
  timeline_.After(Seconds(60), [this] { Heal(); });
}

}  // namespace glim::sim
