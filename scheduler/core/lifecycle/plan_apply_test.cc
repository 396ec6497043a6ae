// Carrying a plan out: the atomic gang preemption, checked once more against the state.
#include "scheduler/core/lifecycle/plan_apply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;
using testing::Zones;

PlannedStart Start(JobId job, std::vector<std::uint32_t> nodes, std::vector<AttemptId> victims = {},
                   std::vector<AttemptId> displaced = {}) {
  PlannedStart start;
  start.job = job;
  for (const std::uint32_t node : nodes) start.nodes.push_back(NodeId(node));
  start.victims = std::move(victims);
  start.displaced = std::move(displaced);
  return start;
}

// No pass looks at the state in between.
Transition ApplyAlone(Cluster& c, decltype(Event::what) what) {
  return Apply(c.state(), c.policy(), Event{0, c.now(), std::move(what)});
}

Transition ApplyPlanned(Cluster& c, std::vector<PlannedStart> starts) {
  Plan plan;
  plan.starts = std::move(starts);
  plan.verdicts = std::make_shared<Verdicts>();
  return ApplyAlone(c, PlanDecided{std::move(plan)});
}

TEST(GangPreemption, InterruptsAndClaimsAreOneTransition) {
  Cluster c;
  const JobId a = c.Running(Spec(1));
  const JobId b = c.Running(Spec(1));
  const int commits = c.store().commits();
  const JobId urgent = c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  EXPECT_EQ(c.store().commits(), commits + 1);
  for (const JobId victim : {a, b}) {
    EXPECT_EQ(c.job(victim).state, JobState::kInterrupting);
    EXPECT_EQ(c.agreement(victim).preemptor, c.attempt(urgent).id);
    EXPECT_EQ(c.node(c.attempt(victim).nodes[0]).claim, c.attempt(urgent).id);
  }
  EXPECT_THAT(c.attempt(urgent).victims, ::testing::UnorderedElementsAre(c.attempt(a).id, c.attempt(b).id));
  EXPECT_EQ(c.job(urgent).state, JobState::kStarting);
  EXPECT_EQ(c.Noted("interrupt_requested"), 2);
  EXPECT_EQ(c.Noted("attempt_claimed"), 3);
}

TEST(CrossZone, RanksAreContiguousByZoneWithAGatewayEach) {
  Cluster c(Zones{.zones = 2, .leaves = 1, .nodes = 2});
  const JobId job = c.Submit(Spec(3));
  EXPECT_EQ(c.attempt(job).zones, (std::vector<std::string>{"z1", "z2"}));
  EXPECT_EQ(c.attempt(job).gateways, (std::vector<std::uint32_t>{0, 2}));
  Cluster one(Zones{.zones = 2, .leaves = 1, .nodes = 2});
  EXPECT_TRUE(one.attempt(one.Submit(Spec(2))).gateways.empty());
}

TEST(ApplyPlan, TheGatewayIsOnTheLeafWhereTheLeastGoesOn) {
  Policy policy;
  policy.cross_zone_nodes_min = 2;
  Cluster c(Zones{.zones = 2, .leaves = 2, .nodes = 2}, policy);
  c.Running(Spec(1));  // on the first leaf of the first zone
  const JobId job = c.Submit(Spec(7));
  ASSERT_EQ(c.attempt(job).zones.size(), 2u);
  EXPECT_EQ(c.attempt(job).gateways, (std::vector<std::uint32_t>{1, 3})) << "rank 0 is on the busy leaf";
}

// Job 1 runs on node 1, nodes 2 and 3 are free, job 2 waits for two nodes; and each way in which a plan may have become
// stale since it was made.
struct Planned {
  Planned() : c(Zones{.nodes = 3}) {
    c.Running(Spec(1));
    ApplyAlone(c, SubmitJobs{"ann", "", "", {Spec(2)}, false});
  }
  Cluster c;
};

struct Stale {
  const char* what;
  PlannedStart start;
  void (*meanwhile)(Cluster&);
};

const AttemptId kRunning{JobId(1), 1};

const Stale kStale[] = {
    {"the job is gone", Start(JobId(9), {2, 3}), [](Cluster&) {}},
    {"the job was cancelled", Start(JobId(2), {2, 3}),
     [](Cluster& c) {
       ApplyAlone(c, CancelJob{JobId(2), "ann"});
     }},
    {"the job was suspended", Start(JobId(2), {2, 3}),
     [](Cluster& c) {
       ApplyAlone(c, SuspendJob{JobId(2), "ann"});
     }},
    {"the job runs already", Start(JobId(1), {2}), [](Cluster&) {}},
    {"the gang is not whole", Start(JobId(2), {2}), [](Cluster&) {}},
    {"the gang is too large", Start(JobId(2), {1, 2, 3}, {kRunning}), [](Cluster&) {}},
    {"a node is named twice", Start(JobId(2), {2, 2}), [](Cluster&) {}},
    {"a node is not there", Start(JobId(2), {2, 7}), [](Cluster&) {}},
    {"a node is silent", Start(JobId(2), {2, 3}),
     [](Cluster& c) {
       ApplyAlone(c, NodeDisconnected{NodeId(3), c.session(NodeId(3))});
     }},
    {"a node has an orphan", Start(JobId(2), {2, 3}),
     [](Cluster& c) {
       ObservedTask task;
       task.id = {{JobId(50), 1}, 0};
       ApplyAlone(c, NodeReported{NodeId(2), c.session(NodeId(2)), true, {task}});
     }},
    {"a node is held by somebody who is not a victim", Start(JobId(2), {1, 2}), [](Cluster&) {}},
    {"a node was taken", Start(JobId(2), {2, 3}),
     [](Cluster& c) {
       ApplyAlone(c, SubmitJobs{"ann", "", "", {Spec(1)}, false});
       ApplyPlanned(c, {Start(JobId(3), {2})});
     }},
    {"a node was claimed", Start(JobId(2), {1, 2}, {kRunning}),
     [](Cluster& c) {
       ApplyAlone(c, SubmitJobs{"ann", "", "", {Spec(1)}, false});
       ApplyPlanned(c, {Start(JobId(3), {1}, {kRunning})});
     }},
    {"a victim has ended", Start(JobId(2), {1, 2}, {kRunning}),
     [](Cluster& c) {
       c.state().Put([&] {
         Attempt row = *c.state().FindAttempt(kRunning);
         row.state = AttemptState::kEnded;
         return row;
       }());
     }},
    {"a victim is leaving already", Start(JobId(2), {1, 2}, {kRunning}),
     [](Cluster& c) {
       ApplyAlone(c, SuspendJob{JobId(1), "ann"});
     }},
    {"a victim is being stopped", Start(JobId(2), {1, 2}, {kRunning}),
     [](Cluster& c) {
       ApplyAlone(c, CancelJob{JobId(1), "ann"});
     }},
    {"a displaced attempt has started", Start(JobId(2), {1, 2}, {}, {kRunning}), [](Cluster&) {}},
};

TEST(StalePlan, IsLeftOutAndLookedAtAgain) {
  for (const Stale& row : kStale) {
    SCOPED_TRACE(row.what);
    Planned p;
    row.meanwhile(p.c);
    const Tables before = p.c.state().tables();
    p.c.state().dirty = false;
    const Transition transition = ApplyPlanned(p.c, {row.start});
    EXPECT_TRUE(transition.mutations.empty());
    EXPECT_TRUE(p.c.state().dirty) << "another pass is needed";
    before.jobs.ForEach([&](JobId id, const Job& job) { EXPECT_TRUE(p.c.job(id) == job); });
    before.nodes.ForEach([&](NodeId id, const Node& node) { EXPECT_TRUE(p.c.node(id) == node); });
  }
}

TEST(StalePlan, AFreshOneIsCarriedOut) {
  Planned free;
  ApplyPlanned(free.c, {Start(JobId(2), {2, 3})});
  EXPECT_EQ(free.c.attempt(JobId(2)).state, AttemptState::kStarting);
  Planned swap;
  ApplyPlanned(swap.c, {Start(JobId(2), {1, 2}, {kRunning})});
  EXPECT_EQ(swap.c.attempt(JobId(2)).state, AttemptState::kClaimed);
  EXPECT_EQ(swap.c.job(JobId(1)).state, JobState::kInterrupting);
}

TEST(StalePlan, OneBadStartDoesNotHoldUpTheOthers) {
  Planned p;
  ApplyAlone(p.c, SubmitJobs{"ann", "", "", {Spec(1)}, false});
  ApplyPlanned(p.c, {Start(JobId(2), {1, 2}), Start(JobId(3), {3})});
  EXPECT_EQ(p.c.job(JobId(2)).state, JobState::kQueued);
  EXPECT_EQ(p.c.job(JobId(3)).state, JobState::kStarting);
}

TEST(Displaced, AMoreUrgentJobTakesTheClaimsAndTheVictimsGoOnLeavingForIt) {
  Cluster c;
  const JobId victim = c.Running(Spec(2, PriorityClass::kLow));
  c.script(victim).acks = false;
  const JobId high = c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  const JobId extreme = c.Submit(Spec(2, PriorityClass::kExtremeHigh), "eve");
  EXPECT_EQ(c.attempt(high).outcome, Outcome::kClaimDropped);
  EXPECT_EQ(c.job(high).state, JobState::kQueued);
  EXPECT_EQ(c.agreement(victim).state, AgreementState::kNotifying) << "it need not be asked again";
  EXPECT_EQ(c.attempt(victim).agreements.size(), 1u);
  EXPECT_EQ(c.agreement(victim).preemptor, c.attempt(extreme).id);
  EXPECT_EQ(c.agreement(victim).preemptor_user, "eve") << "the user is told who";
  EXPECT_EQ(c.node(NodeId(1)).claim, c.attempt(extreme).id);
  c.script(victim).acks = true;
  c.Settle();
  EXPECT_EQ(c.job(extreme).state, JobState::kRunning);
}

TEST(Displaced, ItsVictimsThatAreNotNeededAnyMoreStay) {
  Cluster c(Zones{.zones = 1, .leaves = 2, .nodes = 1});
  const JobId a = c.Running(Spec(1, PriorityClass::kLow));
  const JobId b = c.Running(Spec(1, PriorityClass::kLow));
  for (const JobId job : {a, b}) c.script(job).acks = false;
  const JobId high = c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  const JobId extreme = c.Submit(Spec(1, PriorityClass::kExtremeHigh), "eve");
  EXPECT_EQ(c.job(high).state, JobState::kQueued);
  const JobId taken = c.attempt(extreme).victims.at(0).job;
  const JobId spared = taken == a ? b : a;
  EXPECT_EQ(c.agreement(taken).preemptor, c.attempt(extreme).id);
  EXPECT_EQ(c.agreement(spared).state, AgreementState::kWithdrawn);
  EXPECT_EQ(c.job(spared).state, JobState::kRunning);
}

TEST(Replicas, HaveTheirPlacesFromTheClaimOn) {
  Cluster c(Zones{.nodes = 3});
  const NodeId neighbour = c.AddNode(testing::Labels("z1", "z1-l2"), "n4:7010");
  const JobId job = c.Running(Spec(2));
  EXPECT_EQ(c.attempt(job).replicas, (std::vector{neighbour, neighbour}));
  const JobId urgent = c.Submit(Spec(4, PriorityClass::kHigh), "bob");
  ASSERT_EQ(c.attempt(urgent).state, AttemptState::kClaimed);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const NodeId expected = c.attempt(urgent).nodes[rank] == neighbour ? NodeId() : neighbour;
    EXPECT_EQ(c.attempt(urgent).replicas.at(rank), expected) << "rank " << rank;
  }
}

TEST(Replicas, HaveNoneWhereNobodyTakesThem) {
  Cluster c;
  EXPECT_TRUE(c.attempt(c.Running(Spec(2))).replicas.empty());
}

}  // namespace
}  // namespace glim::core
