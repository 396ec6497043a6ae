// Step 6 of the planning pass: one running job is moved so that another fits; when, whom, and what becomes of it.
#include "scheduler/core/planning/move.h"

#include <gtest/gtest.h>

#include "scheduler/core/advice/what_if.h"
#include "scheduler/core/planning/planner.h"
#include "scheduler/core/testing/cluster_builder.h"
#include "scheduler/core/testing/specs.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Patient;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

using enum PriorityClass;

JobSpec In(const char* zone, std::uint32_t nodes, PriorityClass priority = kNormal) {
  JobSpec spec = Spec(nodes, priority);
  spec.placement.zones = {zone};
  return spec;
}

std::string ZoneOf(Cluster& c, JobId job) { return c.node(c.attempt(job).nodes.at(0)).labels.zone; }

bool IsMoved(Cluster& c, JobId job) {
  const Agreement* agreement = c.attempt(job).open_agreement();
  return agreement && agreement->moved;
}

// Two zones of four nodes. In each runs a job of two nodes, `in_a` and `in_b`, which could run in the other as well;
// two nodes of each are free.
struct Halves {
  explicit Halves(Policy policy = Patient(), JobSpec spec_a = Spec(2), JobSpec spec_b = Spec(2),
                  Duration age = Policy().quantum_min)
      : c(Zones{.zones = 2, .leaves = 1, .nodes = 4}, std::move(policy)) {
    const JobId first = c.Running(In("z1", 2));
    in_a = c.Running(std::move(spec_a));
    in_b = c.Running(std::move(spec_b));
    EXPECT_EQ(ZoneOf(c, in_a), "z1");
    EXPECT_EQ(ZoneOf(c, in_b), "z2");
    c.Advance(age);
    c.Finish(first);
  }
  Cluster c;
  JobId in_a, in_b;
};

TEST(MoveStep, GathersWhatIsFreeInTwoZones) {
  Halves h;
  const JobId large = h.c.Submit(Spec(4));
  EXPECT_EQ(h.c.job(large).state, JobState::kStarting);
  ASSERT_TRUE(IsMoved(h.c, h.in_a));
  EXPECT_EQ(h.c.agreement(h.in_a).reason,
            "job 4 train (normal, user ann) needs 4 nodes, and this one has room elsewhere: it is moved");
  h.c.Settle();
  EXPECT_EQ(h.c.job(large).state, JobState::kRunning);
  EXPECT_EQ(h.c.attempt(large).zones, std::vector<std::string>{"z1"});
  EXPECT_EQ(h.c.job(h.in_a).state, JobState::kRunning);
  EXPECT_EQ(h.c.attempt(h.in_a).zones, std::vector<std::string>{"z2"});
  EXPECT_EQ(h.c.job(h.in_b).interrupts, 0u);
}

TEST(MoveStep, GathersNoNodeThatTheJobIsKeptOffWhileOthersDo) {
  Halves h;
  ClusterState state = ClusterState::Of(h.c.state().tables());
  const JobId large = state.next_job_id;
  Job job = testing::JobRow(large.value, Spec(4));
  job.team = h.c.job(h.in_a).team;
  job.submitted_at = job.queued_at = h.c.now();
  job.moved_off = {h.c.attempt(h.in_a).nodes[0]};
  state.Put(job);
  Plan plan = MakePlan(state, h.c.policy(), h.c.now());
  ASSERT_EQ(plan.starts.size(), 1u);
  EXPECT_EQ(plan.starts[0].moved, (AttemptId{h.in_b, 1})) << "in z1 it would be where an operator moved it off";
  job.moved_off.push_back(h.c.attempt(h.in_b).nodes[0]);
  state.Put(job);
  plan = MakePlan(state, h.c.policy(), h.c.now());
  ASSERT_EQ(plan.starts.size(), 1u) << "there are no others";
  EXPECT_EQ(plan.starts[0].moved, (AttemptId{h.in_a, 1}));
}

TEST(MoveStep, MovesWhosePreemptionCostIsLeast) {
  Halves h;
  h.c.Save(h.in_b, 10);
  h.c.Submit(Spec(4));
  EXPECT_TRUE(IsMoved(h.c, h.in_b));
  EXPECT_FALSE(IsMoved(h.c, h.in_a));
}

TEST(MoveStep, TakesALinkBackFromAJobThatFitsInOneZone) {
  Policy policy = Patient();
  policy.cross_zone_nodes_min = 2;
  policy.links = {{"z1", "z2", 1, 1}};
  Cluster c(Zones{.zones = 2, .leaves = 1, .nodes = 3}, policy);
  const JobId first = c.Running(In("z1", 2));
  const JobId second = c.Running(In("z2", 2));
  const JobId cross_zone = c.Running(Spec(2));
  ASSERT_EQ(c.attempt(cross_zone).zones.size(), 2u);
  c.Advance(policy.quantum_min);
  c.Finish(first);
  c.Finish(second);
  const JobId large = c.Submit(Spec(4));
  EXPECT_TRUE(IsMoved(c, cross_zone));
  EXPECT_EQ(c.attempt(large).state, AttemptState::kClaimed) << "it begins when the link is free";
  c.Settle();
  EXPECT_EQ(c.job(large).state, JobState::kRunning);
  EXPECT_EQ(c.attempt(large).zones.size(), 2u);
  EXPECT_EQ(c.job(cross_zone).state, JobState::kRunning);
  EXPECT_EQ(c.attempt(cross_zone).zones.size(), 1u);
}

TEST(MoveStep, LeavesAlone) {
  const Duration quantum = Policy().quantum_min;
  struct Row {
    const char* what;
    std::int64_t move_gain_permille;
    JobSpec a, b;
    Duration age;
    bool waits;
  };
  const Row kRows[] = {
      {"nobody who is past the quantum and worth it", 20'000, Spec(2), Spec(2), quantum, false},
      {"who is in its quantum", 20'000, Spec(2), Spec(2), quantum - Minutes(1), true},
      {"everybody, if the policy says so", 0, Spec(2), Spec(2), quantum, true},
      {"whose preemption cost is too high", 40'000, Spec(2), Spec(2), quantum, true},
      {"who has no room elsewhere", 20'000, In("z1", 2), In("z2", 2), quantum, true},
      {"a higher class", 20'000, Spec(2, kHigh), Spec(2, kHigh), quantum, true},
  };
  for (const Row& row : kRows) {
    Policy policy = Patient();
    policy.move_gain_permille = row.move_gain_permille;
    Halves h(policy, row.a, row.b, row.age);
    const JobId large = h.c.Submit(Spec(4));
    EXPECT_EQ(h.c.job(large).state == JobState::kQueued, row.waits) << row.what;
    EXPECT_EQ(h.c.job(h.in_a).interrupts + h.c.job(h.in_b).interrupts, row.waits ? 0u : 1u) << row.what;
  }
}

TEST(MoveStep, MovesNobodyWhereTooLittleIsFree) {
  Halves h;
  h.c.Submit(In("z1", 1));
  const JobId large = h.c.Submit(Spec(4));
  EXPECT_EQ(h.c.job(large).state, JobState::kQueued);
  EXPECT_FALSE(IsMoved(h.c, h.in_a) || IsMoved(h.c, h.in_b));
}

TEST(MoveStep, IsTriedAgainWhenAQuantumEnds) {
  Halves h(Patient(), Spec(2), Spec(2), Minutes(5));
  const JobId large = h.c.Submit(Spec(4));
  ASSERT_EQ(h.c.job(large).state, JobState::kQueued);
  h.c.Advance(Minutes(9));
  EXPECT_EQ(h.c.job(large).state, JobState::kQueued);
  h.c.Advance(Minutes(1));
  EXPECT_EQ(h.c.job(large).state, JobState::kStarting) << "nothing happened but time";
}

// --- what becomes of the one that is moved

TEST(Moved, FindsItsPlaceThoughOthersCameMeanwhile) {
  Halves h;
  h.c.Submit(Spec(4));
  ASSERT_TRUE(IsMoved(h.c, h.in_a));
  std::vector<JobId> others;
  for (std::uint32_t nodes : {2u, 1u, 1u}) others.push_back(h.c.Submit(Spec(nodes)));
  for (const JobId other : others) {
    ASSERT_EQ(h.c.job(other).state, JobState::kQueued);
    EXPECT_EQ(h.c.Blockers(other).back().kind, BlockerKind::kBackfillHold);
  }
  h.c.Settle();
  EXPECT_EQ(h.c.job(h.in_a).state, JobState::kRunning);
  for (const JobId other : others) EXPECT_EQ(h.c.job(other).state, JobState::kQueued);
}

TEST(Moved, FindsItsPlaceUnderANewLeader) {
  Halves h;
  h.c.Submit(Spec(4));
  h.c.RestartScheduler();
  for (std::uint32_t n = 1; n <= 8; ++n) h.c.Return(NodeId(n));
  const JobId other = h.c.Submit(Spec(2));
  EXPECT_EQ(h.c.job(other).state, JobState::kQueued);
  h.c.Settle();
  EXPECT_EQ(h.c.job(h.in_a).state, JobState::kRunning);
}

TEST(Moved, KeepsNothingFromAHigherClassAndComesFirstOfItsOwn) {
  Halves h;
  h.c.Submit(Spec(4));
  const JobId urgent = h.c.Submit(Spec(2, kHigh));
  const JobId later = h.c.Submit(Spec(2));
  h.c.Settle();
  EXPECT_EQ(h.c.job(urgent).state, JobState::kRunning);
  ASSERT_EQ(h.c.job(h.in_a).state, JobState::kQueued);
  h.c.Finish(urgent);
  EXPECT_EQ(h.c.job(h.in_a).state, JobState::kRunning);
  EXPECT_EQ(h.c.job(later).state, JobState::kQueued);
}

TEST(Moved, StaysIfTheOtherGoesAwayInTime) {
  Halves h;
  const JobId large = h.c.Submit(Spec(4));
  h.c.Cancel(large);
  EXPECT_EQ(h.c.job(h.in_a).state, JobState::kRunning);
  h.c.Settle();
  EXPECT_EQ(h.c.job(h.in_a).attempts, 1u);
  EXPECT_EQ(h.c.job(h.c.Submit(Spec(2))).state, JobState::kStarting) << "its place is not kept any more";
}

TEST(Moved, IsNotMovedAgainWithinAQuantum) {
  Halves h;
  const JobId large = h.c.Submit(Spec(4));
  h.c.Settle();
  h.c.Finish(large);
  h.c.Finish(h.in_b);
  h.c.Running(In("z1", 2));
  const JobId next = h.c.Submit(Spec(4));
  ASSERT_EQ(h.c.job(next).state, JobState::kQueued) << "two nodes of each zone are free again";
  h.c.Advance(h.c.policy().quantum_min - Minutes(1));
  EXPECT_EQ(h.c.job(next).state, JobState::kQueued);
  EXPECT_EQ(h.c.job(h.in_a).interrupts, 1u);
  h.c.Advance(Minutes(1));
  EXPECT_EQ(h.c.job(h.in_a).interrupts, 2u);
}

TEST(Moved, IsNamedByADryRun) {
  Halves h;
  const auto planned = WhatIf(h.c.state(), h.c.policy(), h.c.now()).Plan("ann", "team", {Spec(4)});
  ASSERT_TRUE(planned.at(0).trial.start.has_value());
  EXPECT_EQ(planned.at(0).trial.start->moved, h.c.attempt(h.in_a).id);
  EXPECT_TRUE(StartText(planned.at(0).trial).starts_with("starts now by moving job 2 (preemption cost "));
}

}  // namespace
}  // namespace glim::core
