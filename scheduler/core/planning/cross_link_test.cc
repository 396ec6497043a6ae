// One crossing at a time, and a gang larger than a zone starts all the same: who has the link, who gives it up, when
// the next one begins, and what `why` says meanwhile.
#include <gtest/gtest.h>

#include <algorithm>

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

// Jobs of two nodes cross if no zone has room; who has the link is never moved away from it.
Policy OneLink() {
  Policy policy = Patient();
  policy.cross_zone_nodes_min = 2;
  policy.links = {{"z1", "z2", 1, 1}};
  policy.move_gain_permille = 0;
  return policy;
}

// Zones z1 and z2 of `nodes` nodes each. `cross` has the last node of both, and so the link; all others are free.
struct TwoZones {
  explicit TwoZones(PriorityClass priority, Policy policy = OneLink(), int nodes = 3)
      : c(Zones{.zones = 2, .leaves = 1, .nodes = nodes}, policy) {
    std::vector<JobId> fillers;
    for (const char* zone : {"z1", "z2"}) {
      fillers.push_back(c.Running(SpecWith(static_cast<std::uint32_t>(nodes - 1), [&](JobSpec& s) {
        s.placement.zones = {zone};
        s.priority = kHigh;
      })));
    }
    cross = c.Running(Spec(2, priority), "cara");
    EXPECT_EQ(c.attempt(cross).zones.size(), 2u);
    for (const JobId filler : fillers) c.Finish(filler);
  }
  Cluster c;
  JobId cross;
};

// The agents obey all the while.
bool RunsWithin(Cluster& c, JobId job, Duration time) {
  const TimePoint end = c.now() + time;
  while (c.now() < end && c.job(job).state != JobState::kRunning) {
    c.Advance(Seconds(10));
    c.Settle();
  }
  return c.job(job).state == JobState::kRunning;
}

AttemptState StateOf(const Cluster& c, JobId job) { return c.attempt(job).state; }

// --- one crossing at a time

TEST(OneCrossing, TheNextOneBeginsWhenOneSideIsReleased) {
  TwoZones z(kLow);
  Cluster& c = z.c;
  c.script(z.cross).acks = false;
  const JobId next = c.Submit(Spec(4, kHigh), "bob");  // more than a zone has
  c.Settle();
  ASSERT_EQ(c.job(z.cross).state, JobState::kInterrupting);
  EXPECT_EQ(StateOf(c, next), AttemptState::kClaimed);
  EXPECT_EQ(c.attempt(next).nodes_held, 4u) << "all its nodes were free: it waits for the link alone";
  c.Ack(z.cross, 0, 5);
  c.Ack(z.cross, 1, 5);
  ASSERT_EQ(c.agreement(z.cross).state, AgreementState::kAgreed);
  EXPECT_EQ(StateOf(c, next), AttemptState::kClaimed) << "it has agreed to leave, and still trains across";
  c.Exit(z.cross, 0, 0);
  EXPECT_EQ(StateOf(c, next), AttemptState::kStarting) << "nothing talks over the link any more";
  c.Settle();
  EXPECT_EQ(c.job(next).state, JobState::kRunning);
}

TEST(OneCrossing, WhoWaitsBeginsWhenTheLinkCarriesMore) {
  TwoZones z(kLow);
  Cluster& c = z.c;
  c.script(z.cross).acks = false;
  const JobId next = c.Submit(Spec(4, kHigh), "bob");
  c.Settle();
  ASSERT_EQ(StateOf(c, next), AttemptState::kClaimed);
  c.SetLinks({{"z2", "z1", 2, 2}});
  EXPECT_EQ(StateOf(c, next), AttemptState::kStarting);
}

TEST(OneCrossing, ASignalledJobKeepsTheLinkForItsWholeGrace) {
  Policy policy = OneLink();
  Cluster c(Zones{.zones = 2, .leaves = 1, .nodes = 2}, policy);
  const JobId cross = c.Running(SpecWith(3, [](JobSpec& s) {
    s.priority = kLow;
    s.interrupt_mode = InterruptMode::kSignal;
  }));
  c.script(cross).leaves = false;
  const JobId next = c.Submit(Spec(3, kHigh), "bob");
  c.Settle();
  ASSERT_EQ(c.agreement(cross).state, AgreementState::kSignalled);
  EXPECT_EQ(StateOf(c, next), AttemptState::kClaimed);
  EXPECT_TRUE(RunsWithin(c, next, Minutes(2))) << "it was killed at its deadline";
}

TEST(OneCrossing, ANodeThatIsLostReleasesItsSide) {
  Policy policy = OneLink();
  policy.node_lost_after = Minutes(2);
  TwoZones z(kLow, policy, 4);
  Cluster& c = z.c;
  c.script(z.cross).acks = c.script(z.cross).leaves = false;
  const JobId next = c.Submit(Spec(6, kHigh), "bob");
  c.Settle();
  ASSERT_EQ(StateOf(c, next), AttemptState::kClaimed);
  c.Silence(c.attempt(z.cross).nodes[0], true);
  c.Advance(Minutes(3));
  EXPECT_NE(StateOf(c, next), AttemptState::kClaimed);
}

// Else the second would hold all its nodes, and wait for the whole life of the first.
TEST(OneCrossing, OfTwoThatAskTogetherOneIsGivenTheLink) {
  Cluster c(Zones{.zones = 2, .leaves = 1, .nodes = 2}, OneLink());
  for (const char* zone : {"z1", "z1", "z2", "z2"}) {
    NodeLabels labels = Labels(zone, std::string(zone) + "-l1");
    labels.gpu_type = "h100";
    c.AddNode(labels);
  }
  const auto of = [](const char* type) { return SpecWith(3, [&](JobSpec& s) { s.placement.gpu_type = type; }); };
  const Reply both = c.Do(SubmitJobs{"bob", "team", "", {of("h100"), of("a100")}, false});
  const JobId first = both.jobs.at(0), second = both.jobs.at(1);
  ASSERT_EQ(c.job(first).state != JobState::kQueued ? c.attempt(first).zones.size() : c.attempt(second).zones.size(),
            2u);
  EXPECT_NE(c.job(first).state == JobState::kQueued, c.job(second).state == JobState::kQueued)
      << "there are nodes for both";
}

TEST(OneCrossing, TwoThatWaitBeginOneAfterTheOther) {
  Policy policy = OneLink();
  Cluster c(Zones{.zones = 2, .leaves = 1, .nodes = 6}, policy);
  const JobId first = c.Running(Spec(7, kLow));
  ASSERT_EQ(c.attempt(first).zones.size(), 2u);
  const JobId second = c.Submit(Spec(7, kHigh), "bob");
  c.Settle();
  EXPECT_EQ(c.job(second).state, JobState::kRunning);
  EXPECT_EQ(c.job(first).state, JobState::kQueued);
  const JobId third = c.Submit(Spec(7, kVeryHigh), "eve");
  c.Settle();
  EXPECT_EQ(c.job(third).state, JobState::kQueued) << "min_run protects the second";
  c.Advance(Seconds(30));
  c.Settle();
  EXPECT_EQ(c.job(third).state, JobState::kRunning);
}

// A zone is as large as the pool made it, whoever asks: what few nodes suit a small job is no reason to take a link.
TEST(OneCrossing, LargerThanAZoneIsLargerThanWhatThePoolHasThere) {
  Policy policy = Patient();
  policy.links = {{"z1", "z2", 1, 1}};
  Cluster c(Zones{.zones = 2, .leaves = 1, .nodes = 3}, policy);
  for (const char* zone : {"z1", "z2"}) {
    NodeLabels labels = Labels(zone, std::string(zone) + "-l1");
    labels.gpu_type = "h100";
    c.AddNode(labels);
  }
  const auto h100 = [](std::uint32_t nodes) {
    return SpecWith(nodes, [](JobSpec& s) { s.placement.gpu_type = "h100"; });
  };
  const Reply refused = c.Do(SubmitJobs{"ann", "team", "", {h100(2)}, false});
  EXPECT_EQ(refused.status.field(), "nodes") << "each zone has four nodes: two of them need not cross";
  EXPECT_EQ(c.attempt(c.Submit(Spec(5))).zones.size(), 2u);
}

// --- a gang larger than a zone starts

TEST(LinkVictims, TheLinksHolderIsAmongThemWhereItsNodesAreNotNeeded) {
  TwoZones z(kLow, OneLink(), 4);
  const JobId gang = z.c.Submit(Spec(6, kHigh), "bob");
  ASSERT_EQ(z.c.job(gang).state, JobState::kStarting);
  EXPECT_EQ(z.c.attempt(gang).victims, std::vector{z.c.attempt(z.cross).id});
  EXPECT_EQ(z.c.attempt(gang).nodes_held, 6u) << "only the link is in the way";
  z.c.Settle();
  EXPECT_EQ(z.c.job(gang).state, JobState::kRunning);
}

TEST(LinkVictims, TheHolderGoesBesideTheCheapestOnesWhoseNodesAreNeeded) {
  TwoZones z(kAboveNormal, OneLink(), 4);
  Cluster& c = z.c;
  std::vector<JobId> low;
  for (int i = 0; i < 6; ++i) low.push_back(c.Running(Spec(1, kLow)));
  const JobId gang = c.Submit(Spec(6, kHigh), "bob");
  ASSERT_EQ(c.job(gang).state, JobState::kStarting) << "six low ones make room, and the link's holder must go as well";
  EXPECT_EQ(c.job(z.cross).state, JobState::kInterrupting);
  const auto spared =
      std::count_if(low.begin(), low.end(), [&](JobId id) { return c.job(id).state == JobState::kRunning; });
  EXPECT_EQ(spared, 2) << "what the holder gives need not be taken from others";
  c.Settle();
  EXPECT_EQ(c.job(gang).state, JobState::kRunning);
}

TEST(LinkVictims, AClaimThatHasTheLinkIsDisplaced) {
  TwoZones z(kLow, OneLink(), 4);
  Cluster& c = z.c;
  c.script(z.cross).acks = c.script(z.cross).leaves = false;
  const JobId claims = c.Submit(Spec(5, kAboveNormal), "bob");
  ASSERT_EQ(StateOf(c, claims), AttemptState::kClaimed);
  const JobId gang = c.Submit(Spec(6, kHigh), "eve");
  EXPECT_EQ(c.job(claims).state, JobState::kQueued);
  EXPECT_EQ(StateOf(c, gang), AttemptState::kClaimed);
  EXPECT_EQ(c.agreement(z.cross).preemptor, c.attempt(gang).id) << "the holder leaves for the gang now";
  c.Cancel(gang, "eve");
  EXPECT_EQ(c.agreement(z.cross).preemptor, c.attempt(claims).id) << "and for the other again, if the gang goes away";
}

TEST(LinkVictims, IfTheGangGoesAwayTheHolderStays) {
  TwoZones z(kLow, OneLink(), 4);
  z.c.script(z.cross).acks = false;
  const JobId gang = z.c.Submit(Spec(6, kHigh), "bob");
  z.c.Settle();
  ASSERT_EQ(z.c.job(z.cross).state, JobState::kInterrupting);
  z.c.Cancel(gang, "bob");
  EXPECT_EQ(z.c.job(z.cross).state, JobState::kRunning);
}

TEST(LinkVictims, AHolderThatDoesNotGiveWayIsNamedByTheBlocker) {
  TwoZones z(kHigh, OneLink(), 4);
  const JobId gang = z.c.Submit(Spec(6, kNormal), "bob");
  EXPECT_EQ(z.c.job(z.cross).state, JobState::kRunning);
  const std::vector<Blocker> blockers = z.c.Blockers(gang);
  ASSERT_EQ(blockers.size(), 1u);
  EXPECT_EQ(blockers[0].kind, BlockerKind::kLinkBusy);
  EXPECT_EQ(blockers[0].message, "the link z1-z2 is taken by job " + std::to_string(z.cross.value));
  EXPECT_EQ(blockers[0].jobs, std::vector{z.cross});
}

TEST(LinkVictims, TheLinkIsNamedBesideTheNodesThatItLacks) {
  TwoZones z(kHigh, OneLink(), 4);
  z.c.Running(Spec(1, kVeryHigh));
  const std::vector<Blocker> blockers = z.c.Blockers(z.c.Submit(Spec(6, kNormal), "bob"));
  ASSERT_EQ(blockers.size(), 2u);
  EXPECT_EQ(blockers[0].kind, BlockerKind::kLinkBusy);
  EXPECT_EQ(blockers[1].kind, BlockerKind::kNodesBusy);
}

// --- holds know links

Policy SoonHeldBack() {
  Policy policy = OneLink();
  policy.starvation_bound = Minutes(5);
  policy.quantum_min = Minutes(60);
  return policy;
}

TEST(LinkHolds, NothingIsKeptForALinkThatIsNotToBeHad) {
  TwoZones z(kVeryHigh, SoonHeldBack(), 4);
  z.c.Submit(Spec(6, kNormal), "bob");
  z.c.Advance(Minutes(10));
  EXPECT_EQ(z.c.job(z.c.Submit(Spec(1), "eve")).state, JobState::kStarting);
}

TEST(LinkHolds, AStarvedGangKeepsNodesUntilTheLinksHolderGivesWay) {
  TwoZones z(kNormal, SoonHeldBack(), 4);
  const JobId gang = z.c.Submit(Spec(6, kNormal), "bob");
  z.c.Advance(Minutes(10));
  EXPECT_EQ(z.c.job(z.c.Submit(Spec(1), "eve")).state, JobState::kQueued);
  EXPECT_TRUE(RunsWithin(z.c, gang, Minutes(70)));
}

TEST(LinkHolds, AStarvedGangKeepsTheLinkWhileItWaitsForNodes) {
  Policy policy = SoonHeldBack();
  Cluster c(Zones{.zones = 2, .leaves = 1, .nodes = 4}, policy);
  for (const char* zone : {"z1", "z2"}) {
    c.Running(SpecWith(1, [&](JobSpec& s) { s.placement.zones = {zone}; }), "cara");
  }
  const JobId gang = c.Submit(Spec(7, kNormal), "bob");
  c.Advance(Minutes(10));
  // It ends before the hold does, and so it may have nodes; the link it may not.
  const JobId short_one = c.Submit(SpecWith(4, [](JobSpec& s) { s.time_limit = Minutes(5); }), "eve");
  EXPECT_EQ(c.job(short_one).state, JobState::kQueued);
  ASSERT_FALSE(c.Blockers(short_one).empty());
  EXPECT_EQ(c.Blockers(short_one)[0].message, "the link z1-z2 is kept for a job that comes before it");
  EXPECT_TRUE(RunsWithin(c, gang, Minutes(70)));
}

}  // namespace
}  // namespace glim::core
