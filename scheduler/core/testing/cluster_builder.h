// Cluster: a small cluster under test. Every event runs through Drive, as in the server; after each one the invariants
// must hold and the committed mutations must add up to the very rows of the state.
//
//   Cluster c(Zones{.zones = 2, .leaves = 1, .nodes = 4});
//   const JobId job = c.Submit(Spec(2));
//   c.Settle();                       // the agents obey, until nothing is left to do
//   EXPECT_EQ(c.job(job).state, JobState::kRunning);
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "scheduler/core/core.h"
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
  explicit Cluster(Zones shape = {}, Policy policy = {}, PlanFn make_plan = MakePlan);
  ~Cluster();

  // Nodes are named n1, n2, ... in the order of their ids.
  NodeId AddNode(NodeLabels labels, const std::string& replica = "", std::vector<std::string> folders = {});

  Reply Do(decltype(Event::what) what);

  void Check() const;

  // What a part of the core has changed by itself: committed, without an event.
  void Commit(const Transition& transition);

  // --- users
  // The quota of a user, from the next event on.
  void SetQuota(const std::string& user, PriorityClass priority, std::uint32_t nodes);

  // These are the links from the next event on, and no others. `quietly`: past Drive, whose links' invariant knows no
  // jobs that may stay.
  void SetLinks(const std::vector<ZoneLink>& links, bool quietly = false);

  // The row of a user of the registry.
  Reply SetUser(User user);

  JobId Submit(JobSpec spec, const std::string& user = "ann");
  Reply Cancel(JobId job, const std::string& user = "ann");
  Reply Suspend(JobId job, const std::string& user = "ann");
  Reply Resume(JobId job, const std::string& user = "ann");
  Script& script(JobId job) { return scripts_[job]; }

  // --- agents
  void Settle();

  void Report(NodeId node, bool current = true);
  ScriptedAgent& agent(NodeId node) { return agents_[node]; }
  std::uint64_t session(NodeId node) { return sessions_[node]; }

  // The agent is not heard any more; its stream ends only when `stream_ends`.
  void Silence(NodeId node, bool stream_ends = false);
  Reply Connect(const std::string& name, NodeLabels labels, const std::string& replica = "",
                std::vector<std::string> folders = {}, const UserRule& rule = {},
                std::shared_ptr<const NodeInventory> inventory = nullptr);
  // With a new session.
  Reply Connect(NodeConnected event);
  // Its agent begins anew and says whose jobs it runs.
  Reply SetRule(NodeId node, const UserRule& rule);
  // Heard again; reports what it has.
  void Return(NodeId node);

  // The scheduler ends and another begins with what was committed; the agents are yet to connect to it.
  void RestartScheduler();
  bool IsConnected(NodeId node) const { return sessions_.at(node) != 0; }

  // Changes what the agent sees of the newest attempt's task and reports it.
  void Edit(JobId id, std::uint32_t index, const std::function<void(ObservedTask&)>& change);
  void EditAll(JobId id, const std::function<void(ObservedTask&)>& change);
  void Step(JobId id, std::int64_t step);
  // Every rank has written its shard.
  void Save(JobId id, std::int64_t step);
  void Ack(JobId id, std::uint32_t index, std::int64_t hold);
  // The task is gone, with this exit code.
  void Exit(JobId id, std::uint32_t index, std::int32_t code);
  void Finish(JobId id);
  // Submitted, started, and past its first min_run.
  JobId Running(JobSpec spec, const std::string& user = "ann");

  // --- time
  // To the next deadlines, one after another, with heartbeats from every connected agent. The agents do not obey.
  void Advance(Duration by);
  void Heartbeats();
  // Only the clock moves.
  void SetNow(TimePoint now) { now_ = now; }
  TimePoint Wake() const;
  TimePoint now() const { return now_; }

  // --- reading
  ClusterState& state() { return state_; }
  Policy& policy() { return policy_; }
  const Job& job(JobId id) const { return *state_.FindJob(id); }
  const Attempt& attempt(JobId id) const { return *state_.FindAttempt({id, job(id).attempts}); }
  const Attempt& attempt(JobId id, std::uint32_t number) const { return *state_.FindAttempt({id, number}); }
  const Agreement& agreement(JobId id) const { return attempt(id).agreements.back(); }
  const Task& task(JobId id, std::uint32_t index) const { return *state_.FindTask({attempt(id).id, index}); }
  const Node& node(NodeId id) const { return *state_.FindNode(id); }
  std::vector<Blocker> Blockers(JobId id) const;
  const DriveResult& last_drive() const { return last_drive_; }
  const std::set<NodeId>& unsynced() const { return unsynced_; }
  // How often something of this kind was noted.
  std::int64_t Noted(HistoryKind kind) const { return store_.Noted(kind); }
  const StoreMirror& store() const { return store_; }

 private:
  ClusterState state_;
  Policy policy_;
  PlanFn make_plan_;
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
