// Cluster: a small cluster under test. Every event runs through Drive, as in the server; after each one the invariants
// must hold and the committed mutations must add up to the very rows of the state.
//
//   Cluster c(Zones{.zones = 2, .leaves = 1, .nodes = 4});
//   const JobId job = c.Submit(Spec(2));
//   c.Settle();                       // the agents obey, until nothing is left to do
//   EXPECT_EQ(c.job(job).state, JobState::kRunning);
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/invariants.h"
#include "scheduler/core/scheduler_core.h"
#include "scheduler/core/testing/scripted_agent.h"
#include "scheduler/core/testing/specs.h"
#include "scheduler/core/testing/store_mirror.h"

namespace glim::core::testing {

struct Zones {
  int zones = 1;
  int leaves = 1;  // a zone
  int nodes = 2;   // a leaf
  std::uint32_t gpus = 8;
};

class Cluster {
 public:
  explicit Cluster(Zones shape = {}, Policy policy = {}) : policy_(std::move(policy)) {
    for (int z = 1; z <= shape.zones; ++z) {
      for (int l = 1; l <= shape.leaves; ++l) {
        const std::string zone = "z" + std::to_string(z);
        for (int n = 0; n < shape.nodes; ++n) AddNode(Labels(zone, zone + "-l" + std::to_string(l), shape.gpus));
      }
    }
  }

  // Nodes are named n1, n2, ... in the order of their ids.
  NodeId AddNode(NodeLabels labels) {
    const NodeId expected = state_.next_node_id;
    Connect("n" + std::to_string(expected.value), std::move(labels));
    return expected;
  }

  Reply Do(decltype(Event::what) what) {
    const Event event{++seq_, now_, std::move(what)};
    last_drive_ = Drive(state_, policy_, std::span(&event, 1), [&](const std::vector<Mutation>& mutations) {
      store_.Commit(mutations);
      return Status::Ok();
    });
    unsynced_.insert(last_drive_.sync.begin(), last_drive_.sync.end());
    Check();
    return last_drive_.replies.at(0);
  }

  void Check() const {
    EXPECT_THAT(CheckInvariants(state_, policy_, now_), ::testing::IsEmpty());
    EXPECT_EQ(store_.Difference(state_), "");
  }

  // --- users
  JobId Submit(JobSpec spec, const std::string& user = "ann") {
    const Reply reply = Do(SubmitJobs{user, "team", "", {std::move(spec)}, false});
    EXPECT_TRUE(reply.status.ok()) << reply.status.message();
    return reply.jobs.empty() ? JobId() : reply.jobs[0];
  }
  Reply Cancel(JobId job, const std::string& user = "ann") { return Do(CancelJob{job, user}); }
  Reply Suspend(JobId job, const std::string& user = "ann") { return Do(SuspendJob{job, user}); }
  Reply Resume(JobId job, const std::string& user = "ann") { return Do(ResumeJob{job, user}); }
  Script& script(JobId job) { return scripts_[job]; }

  // --- agents
  void Settle() {
    for (int turn = 0; turn < 200; ++turn) {
      const std::set<NodeId> nodes = std::exchange(unsynced_, {});
      for (const NodeId node : nodes) {
        if (sessions_[node] == 0) continue;
        if (!agents_[node].Obey(DesiredFor(state_.tables(), node), scripts_)) continue;
        Report(node);
        unsynced_.insert(node);  // what it has just launched may have been asked for more
      }
      if (unsynced_.empty()) return;
    }
    ADD_FAILURE() << "the cluster does not settle";
  }

  void Report(NodeId node, bool current = true) {
    Do(NodeReported{node, sessions_[node], current, agents_[node].Observed()});
  }
  ScriptedAgent& agent(NodeId node) { return agents_[node]; }
  std::uint64_t session(NodeId node) { return sessions_[node]; }

  // The agent is not heard any more; its stream ends only when `stream_ends`.
  void Silence(NodeId node, bool stream_ends = false) {
    const std::uint64_t session = std::exchange(sessions_[node], 0);
    if (stream_ends) Do(NodeDisconnected{node, session});
  }
  Reply Connect(const std::string& name, NodeLabels labels) {
    NodeConnected event;
    event.session = ++last_session_;
    event.name = name;
    event.machine_id = "m-" + name;
    event.labels = std::move(labels);
    const Reply reply = Do(event);
    if (reply.status.ok()) sessions_[reply.node] = event.session;
    return reply;
  }
  // Heard again; reports what it has.
  void Return(NodeId node) {
    Connect(state_.FindNode(node)->name, state_.FindNode(node)->labels);
    Report(node);
  }

  // The scheduler ends and another begins with what was committed; the agents are yet to connect to it.
  void RestartScheduler() {
    state_ = store_.Load();
    for (auto& [node, session] : sessions_) session = 0;
    unsynced_.clear();
    Do(LeaderStarted{});
  }
  bool IsConnected(NodeId node) const { return sessions_.at(node) != 0; }

  // Changes what the agent sees of the newest attempt's task and reports it.
  void Edit(JobId id, std::uint32_t index, const std::function<void(ObservedTask&)>& change) {
    const TaskId task{attempt(id).id, index};
    const NodeId node = attempt(id).nodes.at(index);
    change(agents_[node].tasks.at(task));
    Report(node);
  }
  void EditAll(JobId id, const std::function<void(ObservedTask&)>& change) {
    const auto nodes = static_cast<std::uint32_t>(attempt(id).nodes.size());
    for (std::uint32_t i = 0; i < nodes; ++i) Edit(id, i, change);
  }
  void Step(JobId id, std::int64_t step) {
    EditAll(id, [&](ObservedTask& task) { for (Rank& rank : task.ranks) rank.step = step; });
  }
  // Every rank has written its shard.
  void Save(JobId id, std::int64_t step) {
    const auto world = static_cast<std::uint32_t>(attempt(id).nodes.size()) * job(id).spec->ranks_per_node();
    EditAll(id, [&](ObservedTask& task) { for (Rank& rank : task.ranks) ScriptedAgent::Save(rank, step, world); });
  }
  void Ack(JobId id, std::uint32_t index, std::int64_t hold) {
    const std::uint32_t round = attempt(id).rounds.back().id;
    Edit(id, index, [&](ObservedTask& task) {
      for (Rank& rank : task.ranks) {
        rank.acked_round = round;
        rank.hold = hold;
      }
    });
  }
  // The task is gone, with this exit code.
  void Exit(JobId id, std::uint32_t index, std::int32_t code) {
    Edit(id, index, [&](ObservedTask& task) { ScriptedAgent::Release(task, code); });
  }
  void Finish(JobId id) {
    EditAll(id, [](ObservedTask& task) { ScriptedAgent::Release(task, 0); });
    Settle();
  }
  // Submitted, started, and past its first min_run.
  JobId Running(JobSpec spec, const std::string& user = "ann") {
    const JobId id = Submit(std::move(spec), user);
    Settle();
    EXPECT_EQ(job(id).state, JobState::kRunning);
    Advance(Seconds(10));
    return id;
  }

  // --- time
  // To the next deadlines, one after another, with heartbeats from every connected agent. The agents do not obey.
  void Advance(Duration by) {
    const TimePoint target = now_ + by;
    for (int turn = 0; turn < 100'000 && now_ < target; ++turn) {
      const TimePoint wake = Wake();
      now_ = wake && wake < target ? std::max(wake, now_) : target;
      Heartbeats();
      Do(TimePassed{});
      if (wake && wake <= now_ && Wake() && Wake() <= now_) {
        ADD_FAILURE() << "TimePassed leaves a deadline that is due: the loop would spin";
        return;
      }
    }
  }
  void Heartbeats() {
    for (const auto& [node, session] : sessions_) {
      if (session != 0) Report(node);
    }
  }
  // Only the clock moves.
  void SetNow(TimePoint now) { now_ = now; }
  TimePoint Wake() const {
    const TimePoint wake = NextWake(state_, policy_);
    if (!wake || (state_.look_again && state_.look_again < wake)) return state_.look_again ? state_.look_again : wake;
    return wake;
  }
  TimePoint now() const { return now_; }

  // --- reading
  ClusterState& state() { return state_; }
  Policy& policy() { return policy_; }
  const Job& job(JobId id) const { return *state_.FindJob(id); }
  const Attempt& attempt(JobId id) const { return *state_.FindAttempt({id, job(id).attempts}); }
  const Attempt& attempt(JobId id, std::uint32_t number) const { return *state_.FindAttempt({id, number}); }
  const Round& round(JobId id) const { return attempt(id).rounds.back(); }
  const Task& task(JobId id, std::uint32_t index) const { return *state_.FindTask({attempt(id).id, index}); }
  const Node& node(NodeId id) const { return *state_.FindNode(id); }
  std::vector<Blocker> Blockers(JobId id) const {
    const auto it = state_.verdicts->find(ShapeOf(job(id)));
    return it == state_.verdicts->end() ? std::vector<Blocker>{} : it->second;
  }
  const DriveResult& last_drive() const { return last_drive_; }
  const std::set<NodeId>& unsynced() const { return unsynced_; }
  // How often something of this kind was noted.
  std::int64_t Noted(const std::string& kind) const { return store_.Noted(kind); }
  const StoreMirror& store() const { return store_; }

 private:
  ClusterState state_;
  Policy policy_;
  TimePoint now_{Hours(1).ms};
  std::uint64_t seq_ = 0;
  std::uint64_t last_session_ = 0;
  StoreMirror store_;
  DriveResult last_drive_;
  std::set<NodeId> unsynced_;
  std::map<NodeId, ScriptedAgent> agents_;
  std::map<NodeId, std::uint64_t> sessions_;
  std::map<JobId, Script> scripts_;
};

}  // namespace glim::core::testing
