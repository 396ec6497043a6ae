// What a node's coming and going costs: only what has something there is looked at, however many jobs wait.
#include <gtest/gtest.h>

#include "scheduler/core/lifecycle/save_place.h"
#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;
using testing::Zones;

constexpr NodeId kHolder{1}, kCopier{2}, kNeighbour{3};

// Nobody is killed by silence.
Policy Steady() {
  Policy policy = testing::Patient();
  policy.outage_percent = 100;
  return policy;
}

// A queued job whose only save lies in the own folder of n1.
Job WaitsForHolder(std::uint64_t id) {
  Job job = testing::JobRow(id);
  job.durable.step = 10;
  job.durable.path = job.durable.local = "step-10";
  job.durable.parts = {kHolder};
  return job;
}

// Which jobs were settled: their rows said before that they waited for n9, which no other part of the core corrects.
struct Settled {
  ClusterState state;
  Policy policy = Steady();
  explicit Settled(Cluster& c) : state(ClusterState::Of(c.state().tables())) {}
  void Put(Job job) {
    job.waits_for_save = NodeId(9);
    state.Put(std::move(job));
  }
  bool Has(std::uint64_t id) const { return state.FindJob(JobId(id))->waits_for_save != NodeId(9); }
  void Comes(const Cluster& c, NodeId node) {
    NodeConnected hello;
    hello.session = 77;
    hello.name = c.node(node).name;
    hello.machine_id = c.node(node).machine_id;
    hello.labels = c.node(node).labels;
    Apply(state, policy, Event{1, c.now(), hello});
  }
};

TEST(SettledSaves, ANodeThatComesSettlesOnlyWhatItHasSomethingOf) {
  Cluster c(Zones{.nodes = 3}, Steady());
  Settled s(c);
  s.Put(WaitsForHolder(101));
  Job copied = WaitsForHolder(102);
  copied.durable.copies = {kCopier};
  s.Put(copied);
  Job older = WaitsForHolder(103);
  older.older.push_back(older.durable);
  older.older[0].parts = {kCopier};
  s.Put(older);
  s.Comes(c, kCopier);
  EXPECT_FALSE(s.Has(101)) << "10,000 jobs wait for other nodes, and 2,000 nodes come";
  EXPECT_TRUE(s.Has(102));
  EXPECT_TRUE(s.Has(103));
  s.Comes(c, kHolder);
  EXPECT_TRUE(s.Has(101));
}

TEST(SettledSaves, ANodeThatComesSettlesWhatMayBeInItsMemory) {
  Cluster c(Zones{.nodes = 3}, Steady());
  Settled s(c);
  Job job = WaitsForHolder(101);
  job.attempts = 1;
  s.state.Put(job);
  Attempt attempt = testing::AttemptRow({JobId(101), 1}, AttemptState::kEnded, {kHolder});
  attempt.started_at = attempt.ended_at = c.now();
  attempt.replicas = {kNeighbour};
  s.state.Put(attempt);
  s.Put(job);
  s.Put(WaitsForHolder(102));
  s.Comes(c, kCopier);
  EXPECT_FALSE(s.Has(101));
  s.Comes(c, kNeighbour);
  EXPECT_TRUE(s.Has(101));
  EXPECT_FALSE(s.Has(102));
  EXPECT_EQ(s.state.index(), s.state.RebuildIndex());
}

TEST(SettledSaves, ALeaderThatBeginsSettlesAll) {
  Cluster c(Zones{.nodes = 3}, Steady());
  Settled s(c);
  s.Put(WaitsForHolder(101));
  Job nowhere = WaitsForHolder(102);
  nowhere.durable.parts = {NodeId(8)};
  s.Put(nowhere);
  Apply(s.state, s.policy, Event{1, c.now(), LeaderStarted{}});
  EXPECT_EQ(s.state.FindJob(JobId(101))->waits_for_save, kHolder) << "it is not heard yet";
  EXPECT_TRUE(s.Has(102));
}

TEST(SettledSaves, WhoeverWaitsForARemovedNodesOrphanWaitsNoLonger) {
  Cluster c(Zones{.nodes = 2}, Steady());
  const JobId job = c.Submit(Spec(1));
  c.Suspend(job);
  c.Settle();
  NodeReported report{kCopier, c.session(kCopier), true, {}};
  report.tasks.emplace_back().id = {{job, 2}, 0};
  report.tasks[0].phase = TaskPhase::kRunning;
  report.tasks[0].receipt = true;
  c.Do(report);
  c.Resume(job);
  ASSERT_EQ(c.job(job).waits_for_save, kCopier);
  c.Silence(kCopier, true);
  RemoveNode remove;
  remove.name = "n2";
  ASSERT_TRUE(c.Do(remove).status.ok());
  EXPECT_EQ(c.job(job).state, JobState::kStarting);
}

}  // namespace
}  // namespace glim::core
