// Faults by seed: streams that break, agents that restart, machines that reboot or fall silent, many at once, tasks
// whose supervisors are killed while their ranks train on, agents that come back with other labels or fewer GPUs,
// machines that are installed anew, a scheduler that is killed before or after a commit and comes back from the store,
// clocks that are set.
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
  switch (rng_.Between(0, 12)) {
    case 0:
    case 1:
      crash_before_commit_ = rng_.OneIn(2);
      crash_after_commit_ = !crash_before_commit_;
      break;  // with the next batch that has something to commit
    case 2:
    case 3: {
      ++report_.agent_restarts;
      const NodeId node = AnyNode();
      agents_.at(node)->Restart();
      Disconnect(node, Milliseconds(rng_.Between(50, 20'000)));
      break;
    }
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
    case 8: report_.supervisors_lost += agents_.at(AnyNode())->LoseSupervisor(); break;
    case 9: Relabel(AnyNode()); break;
    case 10: Reinstall(AnyNode()); break;
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

// Nodes are named by their numbers.
const std::string& World::HomeOf(const std::string& node_name) const {
  return pools_.HomeOf(static_cast<std::uint32_t>(std::stoul(node_name.substr(1))));
}

// Its agent is started with another pool, or finds fewer GPUs than before.
void World::Relabel(NodeId node) {
  ++report_.relabelled;
  core::NodeLabels& labels = hellos_.at(node).labels;
  if (rng_.OneIn(4)) {
    labels.gpu_count = kGpus - 1;
  } else {
    const std::string& home = HomeOf(hellos_.at(node).name);
    labels.pool = labels.pool == home ? pools_.Elsewhere(home) : home;
  }
  Disconnect(node, Milliseconds(rng_.Between(50, 20'000)));
}

// The operator removes a node, and its machine is installed anew: nothing that it had is left. Refused while it is in
// use, or connected; then it comes back as it was.
void World::Reinstall(NodeId node) {
  const core::Node* row = state_->FindNode(node);
  if (!row) return;
  const bool connected = rng_.OneIn(2);
  if (!connected) Disconnect(node, Milliseconds(rng_.Between(5000, 300'000)));
  timeline_.After(Milliseconds(rng_.Between(1, 120'000)), [this, name = row->name, connected] {
    Post(core::RemoveNode{name, connected});
  });
}

void World::SeeRemoval(const core::Mutation& mutation) {
  const auto* gone = std::get_if<core::Deleted<core::Node>>(&mutation);
  if (!gone) return;
  removed_.insert(gone->id);
  backup_.reset();
  if (agents_.contains(gone->id)) InstallAnew(gone->id);  // else SeeNewcomer: it was registered in the same batch
}

void World::InstallAnew(NodeId removed) {
  SetSession(removed, 0);
  agents_.at(removed)->Reboot();
  core::NodeConnected hello = hellos_.at(removed);
  hello.machine_id += "+";
  const std::string name = hello.name;
  newcomers_[name] = std::move(hello);
  timeline_.After(Milliseconds(rng_.Between(1, 60'000)), [this, name] { Register(name); });
}

// Until it is heard: there may be nobody to hear it.
void World::Register(const std::string& name) {
  const auto newcomer = newcomers_.find(name);
  if (newcomer == newcomers_.end()) return;
  const bool waits = std::any_of(inbox_.begin(), inbox_.end(), [&](const core::Event& event) {
    const auto* hello = std::get_if<core::NodeConnected>(&event.what);
    return hello && hello->name == name;
  });
  core::NodeConnected hello = newcomer->second;
  hello.session = ++session_;
  if (!waits) Post(std::move(hello));
  timeline_.After(Seconds(5), [this, name] { Register(name); });
}

void World::SeeNewcomer(const core::NodeConnected& hello, const core::Reply& reply) {
  if (!reply.status.ok()) return;
  // A batch may have what the old machine said before it was removed, too: several times, and its last stream counts.
  if (const auto known = agents_.find(reply.node); known != agents_.end()) {
    const std::uint64_t session = known->second->session();
    if (session && session < hello.session) SetSession(reply.node, hello.session);
    return;
  }
  if (newcomers_.erase(hello.name) == 0) return;
  ++report_.reinstalled;
  backup_.reset();
  const NodeId id = reply.node;
  hellos_[id] = hello;
  agents_[id] = std::make_unique<SimAgent>(id, WorldForAgents());
  SetSession(id, hello.session);
  if (removed_.contains(id)) return InstallAnew(id);
  timeline_.After(Milliseconds(rng_.Between(100, 5000)), [this, id] { agents_.at(id)->Heartbeat(); });
}

// The operator mends what is missing and puts the nodes back where they were.
void World::RestoreLabels() {
  for (auto& [node, hello] : hellos_) {
    const std::string& home = HomeOf(hello.name);
    if (hello.labels.pool == home && hello.labels.gpu_count == kGpus) continue;
    hello.labels.pool = home;
    hello.labels.gpu_count = kGpus;
    Disconnect(node, Milliseconds(50));
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
  for (const auto& [node, agent] : agents_) SetSession(node, 0);
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
  if (next_policy_) policy_ = *std::exchange(next_policy_, std::nullopt);
  truth_.CapsAre(policy_);
  if (version_rng_.OneIn(4)) speaks_ = {speaks_.newest, speaks_.newest + 1};  // another release of the scheduler
  leader_at_ = calm_since_ = timeline_.now();
  if (drift_ != 0) drift_ = -drift_;  // another machine
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
  RestoreLabels();
  EndTroubles();
  MendHealth();
  if (life_ > 0) EndForgotten();
  // The operator looks after what was taken out, for as long as anything is.
  std::vector<std::string> names;
  state_->tables().nodes.ForEach([&](NodeId, const core::Node& node) {
    if (node.state == core::NodeState::kQuarantined) names.push_back(node.name);
  });
  for (std::string& name : names) Post(core::ReturnNode{std::move(name)});
  timeline_.After(Seconds(60), [this] { Heal(); });
}

}  // namespace glim::sim
