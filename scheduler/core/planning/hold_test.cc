// What a backfill hold keeps (step 7), beside free nodes: those that are being emptied, and claims on them; and who
// passes it all the same.
#include <gtest/gtest.h>

#include "scheduler/core/model/interrupt_terms.h"
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

Policy HoldsBack() {
  Policy policy = Patient();
  policy.starvation_bound = Minutes(5);
  policy.quantum_min = Minutes(10);
  return policy;
}

// Two nodes, both held; a gang of both has starved, and gets the first at the end of its holder's quantum.
struct StarvedGang {
  StarvedGang() {
    stays = c.Running(Spec(1));
    leaves = c.Running(Spec(1));
    gang = c.Submit(Spec(2));
    c.Advance(Minutes(6));
    EXPECT_EQ(c.Blockers(gang).back().kind, BlockerKind::kTimeSlice);
  }
  Cluster c{Zones{.nodes = 2}, HoldsBack()};
  JobId stays, leaves, gang;
};

// Else small jobs would take one node after the other at the end of each job, and the gang would wait for ever.
TEST(BackfillHold, KeepsANodeThatIsBeingEmptied) {
  StarvedGang s;
  s.c.Cancel(s.leaves);
  const JobId small = s.c.Submit(Spec(1), "bob");
  ASSERT_EQ(s.c.job(small).state, JobState::kQueued);
  EXPECT_EQ(s.c.Blockers(small).back().kind, BlockerKind::kBackfillHold);
  s.c.Settle();
  EXPECT_EQ(s.c.job(small).state, JobState::kQueued) << "and when it is empty";
  s.c.Advance(Minutes(5));
  s.c.Settle();
  EXPECT_EQ(s.c.job(s.gang).state, JobState::kRunning);
}

// When the node is empty is not known, and so not what the job would end in time for.
TEST(BackfillHold, ALimitIsNoExcuseBeforeTheNodeIsEmpty) {
  StarvedGang s;
  s.c.Cancel(s.leaves);
  const JobId small = s.c.Submit(SpecWith(1, [](JobSpec& spec) { spec.time_limit = Minutes(1); }), "bob");
  EXPECT_EQ(s.c.job(small).state, JobState::kQueued);
  s.c.Settle();
  EXPECT_EQ(s.c.job(small).state, JobState::kRunning) << "it ends before the gang has the other node";
}

TEST(BackfillHold, KeepsNoEmptyingNodeFromAHigherClass) {
  StarvedGang s;
  s.c.Cancel(s.leaves);
  EXPECT_EQ(s.c.job(s.c.Submit(Spec(1, kHigh), "bob")).state, JobState::kStarting);
}

// The gang takes the claim with the rest: another of its class cannot have it before.
TEST(BackfillHold, KeepsTheClaimsThatGiveWayToTheGang) {
  Policy policy = HoldsBack();
  policy.starvation_bound = Milliseconds(1);
  Cluster c(Zones{.nodes = 2}, policy);
  const JobId leaves = c.Running(Spec(1, kLow));
  const JobId begins = c.Submit(Spec(1));
  c.Settle();
  c.Cancel(leaves);
  const JobId claims = c.Submit(Spec(1, kLow));
  ASSERT_EQ(c.node(NodeId(1)).claim, c.attempt(claims).id);
  const JobId gang = c.Submit(Spec(2, kHigh));
  ASSERT_EQ(c.Blockers(gang).back().kind, BlockerKind::kMinRun) << "it has the other node in a moment";
  c.SetNow(c.now() + Milliseconds(5));  // it has starved
  const JobId small = c.Submit(Spec(1, kHigh), "bob");
  EXPECT_EQ(c.job(small).state, JobState::kQueued);
  c.Advance(MinRunOf(c.policy(), c.job(begins)));
  EXPECT_EQ(c.node(NodeId(1)).claim, c.attempt(gang).id);
}

// Both wait for one node; the one that does not end in time has the lighter team, and is looked at first.
TEST(BackfillHold, WhoIsRefusedFirstDoesNotSpeakForWhoEndsInTime) {
  Cluster c(Zones{.nodes = 2}, HoldsBack());
  const JobId had_much = c.Running(Spec(2));
  c.Advance(Hours(3));
  c.Finish(had_much);
  c.Running(Spec(1));
  c.Submit(Spec(2));
  c.Advance(Minutes(5));
  const Reply light = c.Do(SubmitJobs{"bob", "light", "", {Spec(1)}, false});
  ASSERT_EQ(c.job(light.jobs.at(0)).state, JobState::kQueued);
  const JobId in_time = c.Submit(SpecWith(1, [](JobSpec& spec) { spec.time_limit = Minutes(4); }));
  EXPECT_EQ(c.job(in_time).state, JobState::kStarting);
}

}  // namespace
}  // namespace glim::core
