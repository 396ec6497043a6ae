// What would happen if: what a trial says is what happens when it is done.
#include "scheduler/core/advice/what_if.h"

#include <gtest/gtest.h>

#include "scheduler/core/lifecycle/dependencies.h"
#include "scheduler/core/planning/victims.h"
#include "scheduler/core/testing/cluster_builder.h"
#include "sdk/base/gpu_time_text.h"
#include "sdk/base/rng.h"
#include "sdk/base/testing/seeds.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

Explanation Explain(Cluster& c, JobId job) {
  return WhatIf(ClusterState::Of(c.state().tables()), c.policy(), c.now()).Explain(job);
}

WhatIf::Planned PlanOne(Cluster& c, const JobSpec& spec, const std::string& user = "ann") {
  return WhatIf(ClusterState::Of(c.state().tables()), c.policy(), c.now()).Plan(user, "team", {spec}).at(0);
}

const Counterfactual* Find(const Explanation& explanation, ChangeKind kind) {
  for (const Counterfactual& c : explanation.counterfactuals) {
    if (c.change == kind) return &c;
  }
  return nullptr;
}

JobSpec InZone(std::uint32_t nodes, const std::string& zone) {
  return SpecWith(nodes, [&](JobSpec& spec) { spec.placement.zones = {zone}; });
}

TEST(ClusterStateOf, IsTheSameStateAndLeavesTheOtherAlone) {
  Cluster c(Zones{.nodes = 3});
  c.Running(Spec(1));
  c.Submit(Spec(3));
  c.Finish(c.Running(Spec(1)));
  ClusterState copy = ClusterState::Of(c.state().tables());
  EXPECT_EQ(copy.index(), c.state().index());
  EXPECT_EQ(copy.next_job_id, c.state().next_job_id);
  EXPECT_EQ(copy.next_node_id, c.state().next_node_id);
  Job job = c.job(JobId(2));
  job.message = "changed in the copy";
  copy.Put(job);
  copy.EraseJob(JobId(1));
  EXPECT_EQ(c.job(JobId(2)).message, "");
  EXPECT_NE(c.state().FindJob(JobId(1)), nullptr);
  c.Check();
}

TEST(WhatIf, TheMostNodesThatStartNow) {
  Cluster c(Zones{.nodes = 10});
  c.Running(SpecWith(3, [](JobSpec& s) { s.priority = PriorityClass::kExtremeHigh; }));
  const JobId job = c.Submit(Spec(10));
  ASSERT_EQ(c.job(job).state, JobState::kQueued);
  const Explanation explanation = Explain(c, job);
  const Counterfactual* fewer = Find(explanation, ChangeKind::kNodes);
  ASSERT_NE(fewer, nullptr);
  EXPECT_EQ(fewer->value, "7");
  EXPECT_EQ(fewer->message, "with 7 nodes it starts now");
  EXPECT_EQ(fewer->trial.start->nodes.size(), 7u);
  c.Cancel(job);
  const JobId smaller = c.Submit(Spec(7));
  EXPECT_EQ(c.job(smaller).state, JobState::kStarting) << "and so it does";
}

TEST(WhatIf, NoNumberOfNodesIsEnough) {
  Cluster c(Zones{.nodes = 2});
  c.Running(SpecWith(2, [](JobSpec& s) { s.priority = PriorityClass::kExtremeHigh; }));
  const JobId job = c.Submit(Spec(2));
  EXPECT_TRUE(Explain(c, job).counterfactuals.empty());
}

TEST(WhatIf, AnotherZoneHasRoom) {
  Cluster c(Zones{.zones = 2, .nodes = 2});
  c.Running(InZone(2, "z1"));
  const JobId job = c.Submit(InZone(2, "z1"));
  const Explanation explanation = Explain(c, job);
  const Counterfactual* zone = Find(explanation, ChangeKind::kZone);
  ASSERT_NE(zone, nullptr);
  EXPECT_EQ(zone->value, "z2");
  EXPECT_EQ(zone->message, "in zone z2 it starts now");
  for (const NodeId node : zone->trial.start->nodes) EXPECT_EQ(c.node(node).labels.zone, "z2");
}

TEST(WhatIf, TheLowestClassThatIsEnoughAndWhomItInterrupts) {
  Cluster c(Zones{.nodes = 2});
  const JobId victim = c.Running(SpecWith(2, [](JobSpec& s) { s.priority = PriorityClass::kNormal; }));
  c.Step(victim, 40);
  c.Save(victim, 40);
  c.Step(victim, 55);
  c.Advance(Minutes(1));
  const JobId job = c.Submit(SpecWith(2, [](JobSpec& s) { s.priority = PriorityClass::kLow; }), "bob");
  const Explanation explanation = Explain(c, job);
  const Counterfactual* higher = Find(explanation, ChangeKind::kPriority);
  ASSERT_NE(higher, nullptr);
  EXPECT_EQ(higher->value, "above_normal");
  ASSERT_EQ(higher->trial.victims.size(), 1u);
  EXPECT_EQ(higher->trial.victims[0].attempt.job, victim);
  EXPECT_EQ(higher->trial.victims[0].since_save, Minutes(1));
  EXPECT_EQ(higher->trial.victims[0].steps_since_save, 15);
  EXPECT_GT(higher->trial.preemption_cost_gpu_ms(), 0);
  EXPECT_EQ(higher->message, "at priority above_normal it starts now by interrupting job 1 (preemption cost " +
                                 GpuTimeText(higher->trial.preemption_cost_gpu_ms()) + ")");
  c.Cancel(job, "bob");
  const JobId urgent = c.Submit(SpecWith(2, [](JobSpec& s) { s.priority = PriorityClass::kAboveNormal; }), "bob");
  c.Settle();
  EXPECT_EQ(c.job(urgent).state, JobState::kRunning) << "and so it does";
}

// The answer would be wrong if it forgot who gets the nodes first.
TEST(WhatIf, WhoComesFirstGetsThemFirst) {
  Cluster c(Zones{.nodes = 4});
  c.Running(SpecWith(2, [](JobSpec& s) { s.priority = PriorityClass::kExtremeHigh; }));
  c.Submit(SpecWith(3, [](JobSpec& s) { s.priority = PriorityClass::kVeryHigh; }), "bob");
  c.Advance(c.policy().backfill_hold_after);  // it holds back what it waits for
  const JobId job = c.Submit(Spec(4));
  const Explanation explanation = Explain(c, job);
  EXPECT_EQ(explanation.ahead_count, 1u);
  EXPECT_EQ(explanation.ahead, std::vector<JobId>{JobId(2)});
  for (const Counterfactual& changed : explanation.counterfactuals) {
    ASSERT_TRUE(changed.trial.start);
    Cluster same(Zones{.nodes = 4});  // what it says is tried in life
    same.Running(SpecWith(2, [](JobSpec& s) { s.priority = PriorityClass::kExtremeHigh; }));
    same.Submit(SpecWith(3, [](JobSpec& s) { s.priority = PriorityClass::kVeryHigh; }), "bob");
    same.Advance(same.policy().backfill_hold_after);
    JobSpec spec = Spec(4);
    if (changed.change == ChangeKind::kNodes) spec.nodes = static_cast<std::uint32_t>(std::stoul(changed.value));
    if (changed.change == ChangeKind::kPriority) spec.priority = *ParsePriority(changed.value);
    EXPECT_NE(same.job(same.Submit(spec)).state, JobState::kQueued) << changed.message;
  }
}

TEST(WhatIf, WithoutWhatItWaitsFor) {
  Cluster c(Zones{.nodes = 2});
  const JobId first = c.Running(Spec(1));
  const JobId job = c.Submit(SpecWith(1, [&](JobSpec& s) { s.after = {{first, DependencyKind::kOk}}; }));
  const Explanation explanation = Explain(c, job);
  ASSERT_EQ(explanation.counterfactuals.size(), 1u);
  EXPECT_EQ(explanation.counterfactuals[0].message, "without the jobs that it waits for it starts now");
  EXPECT_EQ(explanation.estimate.unknown, "it waits for other jobs to end");
  EXPECT_FALSE(explanation.promised_by);
}

TEST(WhatIf, APlanSaysWhereItWouldBe) {
  Cluster c(Zones{.zones = 2, .nodes = 2});
  c.Running(InZone(1, "z1"));
  const WhatIf::Planned planned = PlanOne(c, Spec(2));
  ASSERT_TRUE(planned.trial.start);
  EXPECT_TRUE(planned.trial.victims.empty());
  EXPECT_TRUE(planned.trial.awaited.empty());
  EXPECT_EQ(StartText(planned.trial), "starts now");
  const JobId job = c.Submit(Spec(2));
  EXPECT_EQ(c.attempt(job).nodes, planned.trial.start->nodes) << "and there it is";
}

TEST(WhatIf, APlanNamesVictimsAndLeavesThemAlone) {
  Cluster c(Zones{.nodes = 2});
  const JobId victim = c.Running(Spec(2));
  const Tables before = c.state().tables();
  const WhatIf::Planned planned = PlanOne(c, Spec(2, PriorityClass::kHigh), "bob");
  ASSERT_TRUE(planned.trial.start);
  ASSERT_EQ(planned.trial.victims.size(), 1u);
  EXPECT_EQ(planned.trial.victims[0].attempt.job, victim);
  EXPECT_EQ(c.job(victim).state, JobState::kRunning);
  EXPECT_EQ(c.state().next_job_id, JobId(2));
}

TEST(WhatIf, APlanOnNodesThatAreBeingEmptied) {
  Cluster c(Zones{.nodes = 2});
  const JobId leaving = c.Running(Spec(2));
  c.Suspend(leaving);
  const WhatIf::Planned planned = PlanOne(c, Spec(2));
  ASSERT_TRUE(planned.trial.start);
  EXPECT_EQ(planned.trial.awaited, std::vector<JobId>{leaving});
  EXPECT_EQ(StartText(planned.trial), "starts now, as soon as job 1 has left");
}

TEST(WhatIf, APlanThatDoesNotStartHasBlockersAndAnOutlook) {
  Cluster c(Zones{.nodes = 2});
  c.Running(SpecWith(2, [](JobSpec& s) { s.priority = PriorityClass::kHigh; }));
  const WhatIf::Planned planned = PlanOne(c, Spec(2));
  EXPECT_FALSE(planned.trial.start);
  ASSERT_FALSE(planned.trial.blockers.empty());
  EXPECT_EQ(planned.trial.blockers[0].kind, BlockerKind::kNodesBusy);
  EXPECT_EQ(planned.explanation.ahead_count, 0u);
  EXPECT_GE(planned.explanation.promised_by, c.now() + c.policy().starvation_bound);
}

TEST(WhatIf, APlanTellsOfTheReservationThatKeepsItOut) {
  Cluster c(Zones{.nodes = 1});
  Reservation row;
  row.name = "firmware";
  row.node_names = {"n1"};
  row.ends_at = c.now() + Hours(1);
  row.reason = "new firmware";
  ASSERT_TRUE(c.Do(SetReservation{row, "op"}).status.ok());
  const WhatIf::Planned planned = PlanOne(c, Spec(1));
  ASSERT_FALSE(planned.trial.start);
  ASSERT_EQ(planned.trial.blockers.size(), 2u);
  EXPECT_EQ(planned.trial.blockers[1].kind, BlockerKind::kReserved);
  EXPECT_NE(planned.trial.blockers[1].message.find("firmware: reserved for nobody"), std::string::npos);
}

TEST(WhatIf, APlanOfManyGivesEachItsOwnNodes) {
  Cluster c(Zones{.nodes = 3});
  WhatIf what_if(ClusterState::Of(c.state().tables()), c.policy(), c.now());
  const auto planned = what_if.Plan("ann", "team", {Spec(2), Spec(2), Spec(1)});
  ASSERT_EQ(planned.size(), 3u);
  int started = 0;
  std::set<NodeId> nodes;
  for (const WhatIf::Planned& one : planned) {
    if (!one.trial.start) continue;
    ++started;
    for (const NodeId node : one.trial.start->nodes) EXPECT_TRUE(nodes.insert(node).second);
  }
  EXPECT_EQ(started, 2);
  EXPECT_EQ(what_if.state().index(), ClusterState::Of(c.state().tables()).index()) << "tried and taken back";
}

TEST(WhatIf, APlanWithABrokenDependencySaysSo) {
  Cluster c(Zones{.nodes = 2});
  const JobId bad = c.Running(Spec(1));
  c.Exit(bad, 0, 1);
  c.Settle();
  const auto planned = PlanOne(c, SpecWith(1, [&](JobSpec& s) { s.after = {{bad, DependencyKind::kOk}}; }));
  EXPECT_FALSE(planned.trial.start);
  ASSERT_EQ(planned.trial.blockers.size(), 1u);
  EXPECT_EQ(planned.trial.blockers[0].kind, BlockerKind::kDependency);
}

// Whatever the cluster looks like: a plan that says where is where the job then is.
TEST(WhatIf, WhatAPlanSaysIsWhatASubmissionDoes) {
  int starts = 0, swaps = 0, waits = 0;
  for (std::uint64_t seed = 1; seed <= SeedsOf(25, 6); ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    Policy policy;
    policy.cross_zone_nodes_min = 3;
    policy.default_user_quota.nodes = {{PriorityClass::kHigh, 4}, {PriorityClass::kExtremeHigh, 2}};
    Cluster c(Zones{.zones = 2, .leaves = 2, .nodes = 2}, policy);
    constexpr PriorityClass kAny[] = {PriorityClass::kAuto, PriorityClass::kLow, PriorityClass::kNormal,
                                      PriorityClass::kHigh, PriorityClass::kExtremeHigh};
    for (int step = 0; step < 12; ++step) {
      SubmitJobs submit;
      submit.user = rng.OneIn(2) ? "ann" : "bob";
      submit.team = "team";
      for (std::int64_t i = rng.OneIn(2) ? 1 : rng.Between(2, 4); i > 0; --i) {
        JobSpec& spec =
            submit.specs.emplace_back(Spec(static_cast<std::uint32_t>(rng.Between(1, 6)), kAny[rng.Between(0, 4)]));
        if (rng.OneIn(4) && spec.nodes <= 4) spec.placement.zones = {"z2"};  // which has no more
        if (rng.OneIn(4)) spec.time_limit = Minutes(rng.Between(1, 60));
      }
      WhatIf what_if(ClusterState::Of(c.state().tables()), c.policy(), c.now());
      const std::vector<WhatIf::Planned> plans = what_if.Plan(submit.user, submit.team, submit.specs);
      const std::vector<JobId> jobs = c.Do(submit).jobs;
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        const Trial& trial = plans[i].trial;
        if (!trial.start) {
          EXPECT_EQ(c.job(jobs[i]).state, JobState::kQueued);
          EXPECT_FALSE(trial.blockers.empty());
          ++waits;
          continue;
        }
        ASSERT_NE(c.job(jobs[i]).state, JobState::kQueued);
        EXPECT_EQ(c.attempt(jobs[i]).nodes, trial.start->nodes);
        EXPECT_EQ(c.attempt(jobs[i]).charged, trial.start->charged);
        for (const VictimCost& victim : trial.victims) {
          EXPECT_TRUE(c.state().FindAttempt(victim.attempt)->open_agreement());
        }
        ++(trial.victims.empty() ? starts : swaps);
      }
      const JobId job = jobs.back();
      if (rng.OneIn(2)) c.Settle();
      c.Advance(Seconds(rng.Between(1, 1200)));
      const JobId some(static_cast<std::uint64_t>(rng.Between(1, static_cast<std::int64_t>(job.value))));
      if (rng.OneIn(3) && c.job(some).state == JobState::kRunning) c.Finish(some);
    }
  }
  constexpr int kSome = SeedsOf(20, 2);
  EXPECT_GT(starts, kSome);
  EXPECT_GT(swaps, kSome);
  EXPECT_GT(waits, kSome);
}

// What a leader knows beside the rows is part of what is tried (server/loop/snapshot.h).
TEST(WhatIf, NodesThatALeaderWillHearInAMomentAreNotMissing) {
  Cluster c(Zones{.nodes = 2}, testing::Patient());
  c.Running(Spec(1));
  c.Advance(Hours(30));
  c.RestartScheduler();
  c.Return(NodeId(1));
  c.Settle();
  ClusterState state = ClusterState::Of(c.state().tables());
  const auto tried = WhatIf(state, c.policy(), c.now()).Plan("ben", "team", {Spec(1)}).at(0);
  ASSERT_TRUE(tried.trial.start) << "as the rows alone have it";
  EXPECT_EQ(tried.trial.victims.size(), 1u);
  state.leader_since = c.state().leader_since;
  EXPECT_FALSE(WhatIf(state, c.policy(), c.now()).Plan("ben", "team", {Spec(1)}).at(0).trial.start);
  EXPECT_EQ(c.job(c.Submit(Spec(1), "ben")).state, JobState::kQueued) << "and so it is";
}

// The first pass gives ben's claim to the urgent job, and has no turn for those behind ben: the second has, at once.
struct BehindADisplacedClaim {
  Cluster c{Zones{.zones = 2, .nodes = 1}};
  JobId holder, claimant;
  std::vector<JobSpec> specs;
  BehindADisplacedClaim() {
    holder = c.Running(SpecWith(1, [](JobSpec& s) {
      s.placement.zones = {"z1"};
      s.priority = PriorityClass::kLow;
    }));
    claimant = c.Submit(InZone(1, "z1"), "ben");
    EXPECT_EQ(c.attempt(claimant).state, AttemptState::kClaimed);
    specs = {SpecWith(1,
                      [](JobSpec& s) {
                        s.placement.zones = {"z1"};
                        s.priority = PriorityClass::kHigh;
                      }),
             InZone(1, "z2")};
  }
};

TEST(WhatIf, LooksAsOftenAsADecisionDoes) {
  BehindADisplacedClaim b;
  WhatIf what_if(ClusterState::Of(b.c.state().tables()), b.c.policy(), b.c.now());
  const auto planned = what_if.Plan("ann", "team", b.specs);
  EXPECT_TRUE(planned[0].trial.start);
  EXPECT_EQ(planned[0].trial.start->displaced.size(), 1u);
  ASSERT_TRUE(planned[1].trial.start) << planned[1].trial.blockers.front().message;
  EXPECT_EQ(StartText(planned[1].trial), "starts now");
  SubmitJobs submit;
  submit.user = "ann";
  submit.team = "team";
  submit.specs = b.specs;
  const Reply reply = b.c.Do(submit);
  EXPECT_EQ(b.c.job(reply.jobs.at(1)).state, JobState::kStarting) << "and so it does";
  EXPECT_EQ(b.c.attempt(reply.jobs.at(1)).nodes, planned[1].trial.start->nodes);
}

TEST(WhatIf, ATrialOfSeveralPassesChangesNothingButItsCopy) {
  BehindADisplacedClaim b;
  WhatIf what_if(ClusterState::Of(b.c.state().tables()), b.c.policy(), b.c.now());
  what_if.Plan("ann", "team", b.specs);
  EXPECT_EQ(what_if.state().index(), ClusterState::Of(b.c.state().tables()).index());
  EXPECT_EQ(b.c.attempt(b.claimant).state, AttemptState::kClaimed);
  b.c.Check();
}

}  // namespace
}  // namespace glim::core
