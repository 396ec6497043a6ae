// The world's machines and their agents: how they are made, connect, are sent orders, and find each other's saves.
#include <algorithm>
#include <utility>

#include "scheduler/core/lifecycle/desired.h"
#include "scheduler/core/lifecycle/probes.h"
#include "scheduler/core/model/save_reach.h"
#include "scheduler/sim/world/world.h"

namespace glim::sim {

using core::JobId;
using core::NodeId;

void World::SendDesired(NodeId node) {
  std::vector<SentTask> sent;
  for (const core::DesiredTask& task : core::DesiredFor(state_->tables(), node)) {
    SentTask one;
    one.id = task.id;
    one.life = life_;
    one.launch = task.launch;
    one.stop = task.stop;
    one.interrupt = task.interrupt;
    if (task.interrupt) one.agreement = task.attempt->agreements.back();
    if (task.attempt) one.base = task.attempt->base;
    if (task.attempt) one.user = task.attempt->task_user;
    if (task.attempt && task.job) one.in_memory = core::MayBeInMemory(*state_, *task.job);
    sent.push_back(std::move(one));
  }
  SimAgent& agent = *agents_.at(node);
  const std::uint64_t session = agent.session();
  if (!session) return;
  const auto deliver = [this, node, session, epoch = epoch_, revision = revision_, sent = std::move(sent),
                        probes = core::ProbesOf(state_->probing, node)] {
    if (agents_.at(node)->session() != session) return;
    if (agents_.at(node)->TakeIn(epoch, revision, sent)) AskToReach(node, probes);
  };
  TimePoint& lands = desired_lands_[node];
  const TimePoint arrival = timeline_.now() + Milliseconds(rng_.Between(0, 40));
  if (options_.faults && !healing_) {
    if (rng_.OneIn(60)) {  // lost, and the stream with it: that is how a stream loses something
      ++report_.messages_lost;
      Disconnect(node, Milliseconds(rng_.Between(10, 3000)));
      return;
    }
    if (rng_.OneIn(30)) timeline_.At(arrival + Milliseconds(rng_.Between(0, 5000)), deliver);  // again, and late
    if (rng_.OneIn(20)) {  // overtaken by those after it
      timeline_.At(arrival + Milliseconds(rng_.Between(0, 2000)), deliver);
      return;
    }
  }
  lands = std::max(lands, arrival);
  timeline_.At(lands, deliver);
}

std::shared_ptr<SimRun> World::Join(core::TaskId task, std::int64_t base_step, std::uint32_t life) {
  auto& run = PlaceOf(task.attempt, life);
  const bool once_more = life == life_ && over_.erase(task.attempt) > 0;
  if (run && !once_more) return run;
  const std::shared_ptr<SimRun> before = run;
  const core::AttemptId id = task.attempt;
  run = std::make_shared<SimRun>(id, ScriptOf(id, life), base_step, timeline_, rng_,
                                 SimRun::Hooks{[this, id](std::uint32_t index) {
                                                 const core::Attempt* attempt = state_->FindAttempt(id);
                                                 const bool is_there = attempt && index < attempt->nodes.size();
                                                 if (is_there) agents_.at(attempt->nodes[index])->Changed();
                                               },
                                               [this, id](const std::string& what) {
                                                 if (!mixed_up_.contains(id)) Violation(what);
                                               },
                                               [this, id](std::uint32_t index) {
                                                 const core::Attempt* attempt = state_->FindAttempt(id);
                                                 const bool is_there = attempt && index < attempt->nodes.size();
                                                 return !is_there || agents_.at(attempt->nodes[index])->CanSave();
                                               }});
  if (before) run->KeepSavesOf(*before);
  return run;
}

// Whoever is said to have a save has it, and gives it while its agent runs.
bool World::Fetch(NodeId reader, JobId job, const core::Checkpoint& save) {
  bool given = false;
  for (const NodeId holder : core::HoldersOf(save)) {
    const SimAgent& agent = *agents_.at(holder);
    if (holder == reader) continue;
    if (!agent.HasSave(job, save.local)) Violation("a node is said to have a save that it does not have");
    given = given || agent.session() != 0;
  }
  if (!given && save.parts.size() > 1) {
    given = std::all_of(save.parts.begin(), save.parts.end(), [&](NodeId part) {
      const SimAgent& agent = *agents_.at(part);
      if (!agent.HasPart(job, save.local)) Violation("a node is said to have a part of a save that it does not have");
      return part == reader || agent.session() != 0;
    });
    report_.parts_copied += given;
  }
  report_.copies += given;
  return given;
}

SimAgent::World World::WorldForAgents() {
  return {timeline_,
          rng_,
          [this](core::NodeReported report, std::uint64_t epoch) {
            report.current = epoch == epoch_;
            Post(std::move(report));
          },
          [this](core::TaskId task, std::int64_t base, std::uint32_t life) { return Join(task, base, life); },
          [this](JobId job) -> const JobScript& { return ScriptOf(job); },
          [this](NodeId reader, JobId job, const core::Checkpoint& save) { return Fetch(reader, job, save); },
          [this](NodeId node, const SentTask& task) { SeeLaunch(node, task); },
          [this](core::TaskId task, std::uint32_t agreement) { notices_.Told(task, agreement, timeline_.now()); },
          [this](const std::string& what) { Violation(what); },
          [this](NodeId node) { return reach_.Results(node, timeline_.now()); },
          policy_.kill_after_term,
          met_};
}

void World::AddNodes() {
  std::uint32_t number = 0;
  const bool with_replicas = rng_.OneIn(2);
  for (std::uint32_t z = 0; z < options_.zones; ++z) {
    for (std::uint32_t l = 0; l < options_.leaves_per_zone; ++l) {
      for (std::uint32_t n = 0; n < options_.nodes_per_leaf; ++n) {
        const NodeId id(++number);
        core::NodeConnected& hello = hellos_[id];
        hello.name = "n" + std::to_string(number);
        hello.machine_id = hello.name;
        hello.labels.zone = "z" + std::to_string(z);
        hello.labels.leaf = "l" + std::to_string(l);
        hello.labels.gpu_count = kGpus;
        hello.labels.pool = pools_.HomeOf(number);
        hello.address = "host-" + hello.name;
        DrawRule(hello);
        if (with_replicas && number % 4 != 0) hello.replica = hello.name + ":7010";
        agents_[id] = std::make_unique<SimAgent>(id, WorldForAgents());
        Connect(id);
        timeline_.After(Milliseconds(rng_.Between(100, 5000)), [this, id] { agents_.at(id)->Heartbeat(); });
      }
    }
  }
}

void World::Connect(NodeId node) {
  if (down_ || removed_.contains(node)) return;     // the next leader's beginning brings it back
  if (reach_.IsOff(node) || !LetsIn(node)) return;  // it comes when the cable is back
  core::NodeConnected hello = hellos_.at(node);
  hello.session = ++session_;
  hello.highest_job = agents_.at(node)->highest_job();
  SetSession(node, hello.session);
  desired_lands_[node] = {};
  Post(std::move(hello));
}

void World::Disconnect(NodeId node, Duration away) {
  const std::uint64_t session = agents_.at(node)->session();
  if (!session) return;
  SetSession(node, 0);
  Post(core::NodeDisconnected{node, session});
  timeline_.After(away, [this, node] {
    if (!agents_.at(node)->session()) Connect(node);
  });
}

}  // namespace glim::sim
