#include "tests/bench/simulated_fleet.h"

#include <algorithm>
#include <span>
#include <utility>

#include "scheduler/core/lifecycle/desired.h"
#include "scheduler/core/lifecycle/timers.h"
#include "sdk/base/check.h"

namespace glim::bench {
namespace {

constexpr int kTurnsMax = 200;

core::JobSpec SpecOfOneNode() {
  core::JobSpec spec;
  spec.name = "train";
  spec.workdir = "/work";
  spec.run = "python train.py";
  return spec;
}

// Silence, jobs that stand still and the nodes' own measuring are not what this is about; the rest is the default.
core::Policy PolicyOfFleet() {
  core::Policy policy;
  policy.node_lost_after = Hours(1'000'000);
  policy.health.no_progress_min = Hours(1'000'000);
  policy.health.validate.after_repair = false;
  return policy;
}

}  // namespace

SimulatedFleet::SimulatedFleet(std::uint32_t nodes, std::uint32_t users, Rng& rng)
    : rng_(rng), users_(users), policy_(PolicyOfFleet()), sessions_(nodes), agents_(nodes), hardware_(nodes) {
  for (std::size_t i = 0; i < nodes; ++i) Connect(i);
  for (std::size_t i = 0; i < nodes; ++i) Look(i, true);
  FillNodes();
}

std::string SimulatedFleet::UserOf(std::size_t i) const {
  const core::Job* job = state_.FindJob(node(i).holder.job);
  return job ? job->user : "";
}

core::Reply SimulatedFleet::Do(decltype(core::Event::what) what) {
  const core::Event event{++seq_, now_, std::move(what)};
  core::DriveResult done = core::Drive(state_, policy_, std::span(&event, 1), [](const auto&) { return Status::Ok(); });
  unsynced_.merge(done.sync);
  return done.replies.at(0);
}

void SimulatedFleet::Connect(std::size_t i) {
  core::NodeConnected hello;
  hello.session = sessions_[i] = ++session_;
  hello.name = hello.machine_id = "n" + std::to_string(i);
  hello.boot_id = hardware_[i].boot();
  hello.labels.zone = "A";
  hello.labels.leaf = "leaf" + std::to_string(i / 32);
  hello.labels.gpu_count = SimulatedHardware::kGpus;
  const core::Reply reply = Do(hello);
  GLIM_CHECK(reply.status.ok(), "a node is refused");
  if (i == ids_.size()) ids_.push_back(reply.node);
}

void SimulatedFleet::Report(std::size_t i) {
  (void)hardware_[i].TakeNews();
  core::NodeReported report{ids_[i], sessions_[i], true, agents_[i].Observed()};
  report.health_boot = hardware_[i].boot();
  report.health_events = hardware_[i].events();
  report.health_conditions = hardware_[i].conditions();
  Do(std::move(report));
}

void SimulatedFleet::Look(std::size_t i, bool always) {
  hardware_[i].Look(now_);
  if (!hardware_[i].TakeNews() && !always) return;
  Report(i);
  Settle();
}

void SimulatedFleet::AdvanceTo(TimePoint then) {
  for (;;) {
    TimePoint wake = core::NextWake(state_, policy_);
    if (state_.look_again && (!wake || state_.look_again < wake)) wake = state_.look_again;
    if (!wake || wake > then) break;
    now_ = std::max(now_, wake);
    Do(core::TimePassed{});
    Settle();
  }
  now_ = std::max(now_, then);
}

void SimulatedFleet::Settle() {
  for (int turn = 0; turn < kTurnsMax && !unsynced_.empty(); ++turn) {
    for (const core::NodeId node : std::exchange(unsynced_, {})) {
      const auto i = static_cast<std::size_t>(std::find(ids_.begin(), ids_.end(), node) - ids_.begin());
      if (!agents_[i].Obey(core::DesiredFor(state_.tables(), node), {})) continue;
      Report(i);
      unsynced_.insert(node);
    }
  }
  GLIM_CHECK(unsynced_.empty(), "the fleet does not settle");
  FillNodes();
}

// As many jobs as there are nodes that take one; whoever waits already counts.
void SimulatedFleet::FillNodes() {
  std::int64_t room = 0;
  for (const core::NodeId id : ids_) {
    const core::Node& node = *state_.FindNode(id);
    room += core::IsUsable(node) && !node.holder && !node.claim ? 1 : 0;
  }
  for (const auto& [shape, waiting] : state_.index().queue) room -= static_cast<std::int64_t>(waiting.size());
  room -= static_cast<std::int64_t>(state_.index().delayed.size());
  if (room <= 0) return;
  for (; room > 0; --room) {
    core::SubmitJobs submit;
    submit.user = "user" + std::to_string(rng_.Between(1, users_));
    submit.team = "team";
    submit.specs.push_back(SpecOfOneNode());
    Do(std::move(submit));
  }
  Settle();
}

void SimulatedFleet::EndJob(std::size_t i, std::int32_t code) {
  for (auto& [id, task] : agents_[i].tasks) core::testing::ScriptedAgent::Release(task, code);
  Report(i);
  unsynced_.insert(ids_[i]);
  Settle();
}

void SimulatedFleet::RestartAgent(std::size_t i) {
  Do(core::NodeDisconnected{ids_[i], sessions_[i]});
  Connect(i);
  Report(i);
  Settle();
}

void SimulatedFleet::Reboot(std::size_t i) {
  Do(core::NodeDisconnected{ids_[i], sessions_[i]});
  agents_[i].tasks.clear();
  hardware_[i].Boot();
  hardware_[i].port.active = false;
  hardware_[i].Look(now_);
  Connect(i);
  Report(i);
  unsynced_.insert(ids_[i]);
  Settle();
  hardware_[i].port.active = true;
  Look(i, true);
}

void SimulatedFleet::Uncordon(std::size_t i) {
  Do(core::UncordonNode{node(i).name, "op"});
  Settle();
}

}  // namespace glim::bench
