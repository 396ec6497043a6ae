// The starvation bound holds whoever queues how much; and what no node fits any more waits and says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "scheduler/core/planning/planner.h"
#include "scheduler/core/testing/cluster_builder.h"
#include "scheduler/core/testing/specs.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Labels;
using testing::Patient;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

using enum PriorityClass;

Policy StarvesSoon() {
  Policy policy = Patient();
  policy.starvation_bound = Minutes(30);
  policy.unfinished_jobs_max = policy.unfinished_jobs_per_user_max = 1'000'000;
  return policy;
}

// A state of rows alone: two nodes, held by a job that gives way to nobody of its class but a starved one; so many jobs
// of `hog` that have starved, of as many shapes, and then one of `kim`.
struct LongQueue {
  LongQueue(std::uint32_t hogs, const std::function<JobSpec(std::uint32_t)>& spec_of, JobSpec kims) {
    state.Put(testing::NodeRow(1));
    state.Put(testing::NodeRow(2));
    Hold(JobId(hogs + 2));
    for (std::uint32_t i = 1; i <= hogs; ++i) Queue(i, spec_of(i), "hog");
    kim = JobId(hogs + 1);
    Queue(hogs + 1, std::move(kims), "kim");
  }
  void Queue(std::uint64_t id, JobSpec spec, const std::string& user) {
    Job job = testing::JobRow(id, std::move(spec), user);
    job.queued_at = job.submitted_at = TimePoint{static_cast<std::int64_t>(id)};
    state.Put(std::move(job));
  }
  void Hold(JobId id) {
    Job job = testing::JobRow(id.value, Spec(2), "amy");
    job.state = JobState::kRunning;
    job.attempts = 1;
    state.Put(std::move(job));
    Attempt attempt = testing::AttemptRow({id, 1}, AttemptState::kRunning, {NodeId(1), NodeId(2)});
    attempt.started_at = attempt.running_at = TimePoint{Minutes(1).ms};
    state.Put(std::move(attempt));
    for (const std::uint32_t n : {1u, 2u}) {
      Node node = *state.FindNode(NodeId(n));
      node.holder = {id, 1};
      state.Put(std::move(node));
    }
  }
  bool KimStarts(Policy policy) {
    policy.preempt_gain_permille = 1'000'000'000'000;  // nobody gives way for a better score
    const Plan plan = MakePlan(state, policy, TimePoint{Hours(2).ms});
    return std::any_of(plan.starts.begin(), plan.starts.end(), [&](const PlannedStart& s) { return s.job == kim; });
  }
  ClusterState state;
  JobId kim;
};

TEST(StarvationBound, OnlyAStarvedJobGetsTheNodesOfTheseTests) {
  Policy patient = StarvesSoon();
  patient.starvation_bound = Hours(24);
  LongQueue q(
      0, [](std::uint32_t) { return Spec(1); }, Spec(2));
  EXPECT_FALSE(q.KimStarts(patient));
  EXPECT_TRUE(q.KimStarts(StarvesSoon()));
}

TEST(StarvationBound, JobsBeyondTheirQuotaDoNotHideAnothers) {
  for (const std::uint32_t allowed : {0, 1}) {
    LongQueue q(
        2'000, [](std::uint32_t) { return Spec(2); }, Spec(2));
    Accounts accounts;
    accounts.Change({QuotaRow{{QuotaOf::kUser, "hog"}, kNormal, allowed}});
    q.state.SetAccounts(std::move(accounts));
    EXPECT_TRUE(q.KimStarts(StarvesSoon())) << allowed;
  }
}

TEST(StarvationBound, JobsThatNoNodesFitDoNotHideAnothers) {
  const auto hog = [](std::uint32_t i) { return Spec(3 + i % 1'000); };
  LongQueue q(2'000, hog, Spec(2));
  EXPECT_TRUE(q.KimStarts(StarvesSoon()));
}

// Each wants another class of machine at first sight: a shape of its own.
TEST(StarvationBound, ManyShapesOfOneUserDoNotHideAnothers) {
  const auto hog = [](std::uint32_t i) {
    return SpecWith(1, [&](JobSpec& s) { s.placement.gpu_type = "none " + std::to_string(i); });
  };
  LongQueue q(5'000, hog, Spec(1));
  EXPECT_TRUE(q.KimStarts(StarvesSoon()));
}

TEST(StarvationBound, TheLongestWaitIsServedFirstOverAllShapes) {
  Policy policy = StarvesSoon();
  policy.quantum_max = policy.quantum_min;
  Cluster c(Zones{.nodes = 1}, policy);
  c.Running(Spec(1));
  std::vector<JobId> order;
  for (int i = 0; i < 6; ++i) {
    c.Advance(Seconds(1));
    order.push_back(c.Submit(SpecWith(1, [&](JobSpec& s) { s.gpus_per_node = i % 2 ? 4 : 8; }), i % 3 ? "ann" : "bob"));
  }
  std::vector<JobId> served;
  const TimePoint end = c.now() + Hours(8);
  while (c.now() < end && served.size() < order.size()) {
    c.Advance(Seconds(50));
    c.Settle();
    for (const JobId id : order) {
      const bool first = c.job(id).attempts > 0 && std::find(served.begin(), served.end(), id) == served.end();
      if (first) served.push_back(id);
    }
  }
  EXPECT_EQ(served, order);
}

// --- feasibility is looked at again

TEST(Infeasible, AJobThatNoNodeFitsAnyMoreWaitsAndIsNotFailed) {
  Cluster c(Zones{.nodes = 2}, Patient());
  const JobId running = c.Running(Spec(2));
  const JobId waiting = c.Submit(SpecWith(2, [](JobSpec& s) { s.placement.gpu_type = "a100"; }));
  NodeLabels changed = Labels("z1", "z1-l1");
  changed.gpu_type = "h100";
  c.Connect("n1", changed);
  c.Finish(running);  // labels of a held node count from its release on
  EXPECT_EQ(c.job(waiting).state, JobState::kQueued);
  ASSERT_EQ(c.Blockers(waiting).size(), 1u);
  EXPECT_EQ(c.Blockers(waiting)[0].kind, BlockerKind::kInfeasible);
  EXPECT_EQ(c.Blockers(waiting)[0].message,
            "1 node of pool default fit what it asks, 2 needed; it waits until there are more");
}

TEST(Infeasible, AGangThatNoZonesHoldTogetherAnyMoreSaysSo) {
  Policy policy = Patient();
  policy.links = {{"z1", "z2", 1, 1}};
  Cluster c(Zones{.zones = 2, .leaves = 1, .nodes = 2}, policy);
  c.Running(Spec(1));
  const JobId wide = c.Submit(Spec(4));
  EXPECT_EQ(c.Blockers(wide)[0].kind, BlockerKind::kNodesBusy);
  c.SetLinks({{"z1", "z3", 1, 1}});
  const Blocker blocker = c.Blockers(wide).at(0);
  EXPECT_EQ(blocker.kind, BlockerKind::kInfeasible);
  EXPECT_EQ(blocker.have, 2);
  EXPECT_EQ(blocker.need, 4);
}

TEST(Infeasible, FoldersThatANodeGivesNoMoreCountAsWell) {
  Cluster c(Zones{.nodes = 0}, Patient());
  c.AddNode(Labels("z1", "l1"), "", {"/work", "/data"});
  c.AddNode(Labels("z1", "l1"), "", {"/work", "/data"});
  c.Running(Spec(2));
  const JobId waiting = c.Submit(SpecWith(2, [](JobSpec& s) { s.workdir = "/data/me"; }));
  ASSERT_EQ(c.Blockers(waiting)[0].kind, BlockerKind::kNodesBusy);
  c.Connect("n1", Labels("z1", "l1"), "", {"/work"});
  EXPECT_EQ(c.Blockers(waiting)[0].kind, BlockerKind::kInfeasible);
}

TEST(Infeasible, ItStartsWhenTheNodesAreThereAgain) {
  Cluster c(Zones{.nodes = 1}, Patient());
  NodeLabels changed = Labels("z1", "z1-l1");
  changed.gpu_type = "h100";
  const JobId other = c.Running(Spec(1));
  const JobId next = c.Submit(SpecWith(1, [](JobSpec& s) { s.placement.gpu_type = "a100"; }));
  c.Connect("n1", changed);
  c.Finish(other);
  ASSERT_EQ(c.Blockers(next)[0].kind, BlockerKind::kInfeasible);
  EXPECT_EQ(c.job(next).state, JobState::kQueued);
  c.AddNode(Labels("z1", "z1-l1"));
  EXPECT_EQ(c.job(next).state, JobState::kStarting);
}

}  // namespace
}  // namespace glim::core
