// Step 5 of the planning pass: whom it interrupts, and whom it leaves alone.
#include <functional>
#include <vector>

#include <gtest/gtest.h>

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

TEST(InterruptStep, OnlyLowerClasses) {
  for (const auto& [priority, interrupts] :
       {std::pair{kLow, false}, {kNormal, false}, {kAboveNormal, true}, {kExtremeHigh, true}}) {
    Cluster c(Zones{.nodes = 1}, Patient());
    const JobId holder = c.Running(Spec(1));
    c.Submit(Spec(1, priority), "bob");
    EXPECT_EQ(c.job(holder).state == JobState::kInterrupting, interrupts) << ToString(priority);
  }
}

TEST(InterruptStep, NobodyIfWhatIsFreeSuffices) {
  Cluster c(Zones{.nodes = 2}, Patient());
  const JobId low = c.Running(Spec(1, kLow));
  c.Submit(Spec(1, kHigh));
  EXPECT_EQ(c.job(low).state, JobState::kRunning);
}

TEST(InterruptStep, NobodyIfItWouldNotSuffice) {
  Cluster c(Zones{.nodes = 2}, Patient());
  const JobId low = c.Running(Spec(1, kLow));
  const JobId high = c.Running(Spec(1, kHigh));
  c.Submit(Spec(2, kAboveNormal), "bob");
  EXPECT_EQ(c.job(low).state, JobState::kRunning) << "no eviction without a start";
  EXPECT_EQ(c.job(high).state, JobState::kRunning);
}

TEST(InterruptStep, OnlyAsManyAsItTakesWithWhatIsFree) {
  Cluster c(Zones{.nodes = 3}, Patient());
  const JobId a = c.Running(Spec(1, kLow));
  const JobId b = c.Running(Spec(1, kLow));
  const JobId high = c.Submit(Spec(2, kHigh));
  EXPECT_EQ(c.attempt(high).nodes_held, 1u);
  EXPECT_EQ(c.attempt(high).victims.size(), 1u);
  EXPECT_NE(c.job(a).state, c.job(b).state);
}

TEST(InterruptStep, NodesThatAreBeingEmptiedComeBeforeNewVictims) {
  Cluster c(Zones{.nodes = 2}, Patient());
  const JobId leaving = c.Running(Spec(1));
  const JobId low = c.Running(Spec(1, kLow));
  c.Cancel(leaving);
  const JobId high = c.Submit(Spec(1, kHigh));
  EXPECT_EQ(c.job(low).state, JobState::kRunning);
  EXPECT_EQ(c.node(NodeId(1)).claim, c.attempt(high).id);
  c.Settle();
  EXPECT_EQ(c.job(high).state, JobState::kRunning);
}

TEST(InterruptStep, ClaimsOfLowerClassesComeBeforeNewVictims) {
  Cluster c(Zones{.nodes = 2}, Patient());
  const JobId leaving = c.Running(Spec(1));
  const JobId low = c.Running(Spec(1, kLow));
  c.Cancel(leaving);
  const JobId claimed = c.Submit(SpecWith(1, [](JobSpec& s) { s.priority = kLow; }));
  ASSERT_EQ(c.node(NodeId(1)).claim, c.attempt(claimed).id);
  const JobId high = c.Submit(Spec(1, kHigh), "bob");  // the claim and the running one are of one class
  EXPECT_EQ(c.attempt(claimed, 1).outcome, Outcome::kClaimDropped);
  EXPECT_EQ(c.node(NodeId(1)).claim, c.attempt(high).id);
  EXPECT_EQ(c.job(low).state, JobState::kRunning) << "nobody is interrupted while a claim can be had";
  EXPECT_EQ(c.job(claimed).state, JobState::kQueued) << "and its own class gives it nothing";
}

TEST(InterruptStep, TheZoneWhereItCostsLeast) {
  Cluster c(Zones{.zones = 2, .leaves = 1, .nodes = 1}, Patient());
  const JobId old_one = c.Running(SpecWith(1, [](JobSpec& s) { s.placement.zones = {"z1"}; }));
  c.Advance(Minutes(4));
  const JobId young = c.Running(SpecWith(1, [](JobSpec& s) { s.placement.zones = {"z2"}; }));
  const JobId high = c.Submit(Spec(1, kHigh));
  EXPECT_EQ(c.attempt(high).victims, std::vector{c.attempt(young).id});
  EXPECT_EQ(c.job(old_one).state, JobState::kRunning);
}

TEST(InterruptStep, MayCrossIfNoZoneCanMakeRoom) {
  Policy policy = Patient();
  policy.cross_zone_nodes_min = 2;
  Cluster c(Zones{.zones = 2, .leaves = 1, .nodes = 2}, policy);
  for (const char* zone : {"z1", "z2"}) {
    c.Running(SpecWith(1, [&](JobSpec& s) {
      s.placement.zones = {zone};
      s.priority = kExtremeHigh;
    }));
    c.Running(SpecWith(1, [&](JobSpec& s) {
      s.placement.zones = {zone};
      s.priority = kLow;
    }));
  }
  const JobId high = c.Submit(Spec(2, kHigh));
  ASSERT_EQ(c.job(high).state, JobState::kStarting);
  EXPECT_EQ(c.attempt(high).zones.size(), 2u);
  c.Settle();
  EXPECT_EQ(c.job(high).state, JobState::kRunning);
}

TEST(InterruptStep, ACrossZoneVictimGivesItsLinkToItsPreemptor) {
  Cluster c(Zones{.zones = 2, .leaves = 1, .nodes = 2}, Patient());
  const JobId low = c.Running(Spec(3, kLow));
  const JobId high = c.Submit(Spec(4, kHigh));
  EXPECT_EQ(c.job(high).state, JobState::kStarting);
  EXPECT_EQ(c.job(low).state, JobState::kInterrupting);
  c.Settle();
  EXPECT_EQ(c.job(high).state, JobState::kRunning);
}

TEST(MinRun, ProtectsAJobThatHasJustStarted) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const JobId low = c.Submit(Spec(1, kLow));
  c.Settle();
  c.SetNow(c.now() + Seconds(4));
  const JobId high = c.Submit(Spec(1, kHigh), "bob");
  EXPECT_EQ(c.job(low).state, JobState::kRunning);
  const auto blockers = c.Blockers(high);
  ASSERT_EQ(blockers.size(), 2u);
  EXPECT_EQ(blockers[1].kind, BlockerKind::kMinRun);
  EXPECT_EQ(blockers[1].need, 6) << "seconds that are left of its ten";
  EXPECT_EQ(c.state().look_again, c.now() + Seconds(6));
  EXPECT_LE(c.last_drive().wake_at, c.now() + Seconds(6)) << "the loop is woken for it";
  c.Advance(Seconds(6));
  EXPECT_EQ(c.job(low).state, JobState::kInterrupting);
}

TEST(MinRun, ExtremeHighNeedNotWait) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const JobId low = c.Submit(Spec(1, kLow));
  c.Settle();
  c.Submit(Spec(1, kExtremeHigh), "bob");
  EXPECT_EQ(c.job(low).state, JobState::kInterrupting);
}

TEST(MinRun, LooksAgainAtTheFirstOfSeveralEnds) {
  Cluster c(Zones{.nodes = 2}, Patient());
  c.Submit(Spec(1, kLow));
  c.SetNow(c.now() + Seconds(3));
  c.Submit(Spec(1, kLow));
  c.Settle();
  c.Submit(Spec(2, kHigh), "bob");
  EXPECT_EQ(c.state().look_again, c.now() + Seconds(7));
  c.Advance(Seconds(7));
  EXPECT_EQ(c.state().look_again, c.now() + Seconds(3)) << "and then at the next";
}

// Two urgent jobs of one batch, and one victim that has a node for each.
TEST(OnePlan, GivesNoNodeTwiceAndAsksNobodyTwice) {
  Cluster c(Zones{.nodes = 4}, Patient());
  c.Running(Spec(2, kLow));
  c.Do(SubmitJobs{"ann", "", "", std::vector<JobSpec>(2, Spec(1, kLow)), false});
  c.Settle();
  c.Advance(Minutes(1));
  for (int i = 0; i < 4; ++i) {
    Apply(c.state(), c.policy(), Event{0, c.now(), SubmitJobs{"bob", "", "", {Spec(1, kHigh)}, false}});
  }
  const Plan plan = MakePlan(c.state(), c.policy(), c.now());
  ASSERT_GE(plan.starts.size(), 2u);
  std::set<NodeId> nodes;
  std::set<AttemptId> victims;
  for (const PlannedStart& start : plan.starts) {
    for (const NodeId node : start.nodes) EXPECT_TRUE(nodes.insert(node).second) << "node " << node.value;
    for (const AttemptId victim : start.victims) EXPECT_TRUE(victims.insert(victim).second) << ToString(victim);
  }
}

TEST(OnePlan, GivesWhatIsFreeOnlyOnce) {
  Cluster c(Zones{.nodes = 2}, Patient());
  for (int i = 0; i < 3; ++i) {
    Apply(c.state(), c.policy(), Event{0, c.now(), SubmitJobs{"bob", "", "", {Spec(1)}, false}});
  }
  const Plan plan = MakePlan(c.state(), c.policy(), c.now());
  ASSERT_EQ(plan.starts.size(), 2u);
  EXPECT_NE(plan.starts[0].nodes, plan.starts[1].nodes);
  EXPECT_EQ(plan.verdicts->size(), 1u) << "the third has its blocker already";
}

TEST(MakePlanPurity, ReadsAndDecidesAlikeEveryTime) {
  Cluster c(Zones{.zones = 2, .leaves = 2, .nodes = 2}, Patient());
  for (int i = 0; i < 4; ++i) c.Running(Spec(2, kLow), i % 2 ? "ann" : "bob");
  for (std::uint32_t n = 1; n <= 4; ++n) c.Submit(Spec(n, n % 2 ? kNormal : kHigh), "eve");
  const Plan first = MakePlan(c.state(), c.policy(), c.now() + Hours(1));
  const Plan second = MakePlan(c.state(), c.policy(), c.now() + Hours(1));
  EXPECT_EQ(first.starts, second.starts);
  EXPECT_EQ(*first.verdicts, *second.verdicts);
  EXPECT_EQ(first.look_again, second.look_again);
  c.Check();
}

// Two jobs of a lower class, the cheaper one where the urgent one's storage hung, or where an operator moved it off.
struct LeftOut {
  Cluster c{Zones{.nodes = 2}, Patient()};
  JobId cheap = c.Running(Spec(1, kLow)), dear = c.Running(Spec(1, kLow));
  JobId urgent;
  LeftOut() {
    EXPECT_EQ(c.attempt(cheap).nodes[0], NodeId(1));
    c.Advance(Minutes(30));
    c.Save(cheap, 10);
    urgent = c.Submit(Spec(1, kHigh), "bob");
    EXPECT_EQ(c.attempt(urgent).victims, (std::vector<AttemptId>{{cheap, 1}})) << "it is the cheaper one";
  }
  // As it would have been planned, had the job these nodes left out.
  Plan PlanWith(const std::function<void(Job&)>& change) {
    ClusterState state = ClusterState::Of(c.state().tables());
    for (const NodeId id : {NodeId(1), NodeId(2)}) {
      Node node = *state.FindNode(id);
      node.claim = {};
      state.Put(node);
    }
    Attempt victim = *state.FindAttempt({cheap, 1});
    victim.agreements.clear();
    state.Put(victim);
    state.EraseAttempt({urgent, 1});
    Job job = *state.FindJob(urgent);
    job.state = JobState::kQueued;
    job.attempts = 0;
    change(job);
    state.Put(job);
    return MakePlan(state, c.policy(), c.now());
  }
};

TEST(InterruptStep, TakesNoNodeThatTheJobIsKeptOffWhileOthersDo) {
  LeftOut l;
  const auto nodes_of = [](const Plan& plan) {
    return plan.starts.size() == 1 ? plan.starts[0].nodes : std::vector<NodeId>();
  };
  EXPECT_EQ(nodes_of(l.PlanWith([](Job&) {})), std::vector{NodeId(1)});
  EXPECT_EQ(nodes_of(l.PlanWith([](Job& job) { job.moved_off = {NodeId(1)}; })), std::vector{NodeId(2)});
  EXPECT_EQ(nodes_of(l.PlanWith([](Job& job) { job.hung_on = {NodeId(1)}; })), std::vector{NodeId(2)});
  EXPECT_EQ(nodes_of(l.PlanWith([](Job& job) {
              job.hung_on = {NodeId(1), NodeId(2)};
            })),
            std::vector{NodeId(1)})
      << "no other does";
}

}  // namespace
}  // namespace glim::core
