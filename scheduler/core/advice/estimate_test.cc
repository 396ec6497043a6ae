// When a queued job will start: a range that follows from what is known, or nothing.
#include "scheduler/core/advice/estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/advice/what_if.h"
#include "scheduler/core/planning/job_order.h"
#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

JobSpec Urgent(std::uint32_t nodes, Duration limit = {}) {
  return SpecWith(nodes, [&](JobSpec& spec) {
    spec.priority = PriorityClass::kExtremeHigh;
    spec.time_limit = limit;
  });
}

// A cluster that has seen `jobs` jobs of `took` each end.
void Teach(Cluster& c, int jobs, Duration took) {
  for (int i = 0; i < jobs; ++i) {
    const JobId job = c.Submit(Urgent(1));
    c.Settle();
    c.Advance(took);
    c.Finish(job);
  }
}

Estimate EstimateOf(Cluster& c, JobId id, TimePoint promised_by = {}) {
  Pass pass(c.state(), c.policy(), c.now());
  const Ahead ahead = AheadOf(pass, c.job(id), kAheadSimulatedMax);
  return EstimateStart(pass, c.job(id), ahead, promised_by);
}

TEST(Estimate, NothingIsSaidWhereNothingIsKnown) {
  Cluster c(Zones{.nodes = 1});
  Teach(c, static_cast<int>(kEndsKnownMin) - 1, Minutes(1));
  const JobId running = c.Submit(Urgent(1));
  c.Settle();
  const JobId waits = c.Submit(Urgent(1));
  Estimate estimate = EstimateOf(c, waits);
  EXPECT_FALSE(estimate.earliest);
  EXPECT_FALSE(estimate.latest);
  EXPECT_THAT(estimate.unknown, ::testing::HasSubstr("too few jobs have ended"));
  c.Advance(Minutes(1));
  c.Finish(running);
  c.Settle();
  estimate = EstimateOf(c, c.Submit(Urgent(1)));
  EXPECT_TRUE(estimate.earliest);
  EXPECT_TRUE(estimate.latest);
  EXPECT_EQ(estimate.unknown, "");
}

TEST(Estimate, ARangeAroundWhatJobsLikeItTook) {
  Cluster c(Zones{.nodes = 1});
  Teach(c, 60, Hours(1));
  c.Submit(Urgent(1));
  c.Settle();
  const Estimate estimate = EstimateOf(c, c.Submit(Urgent(1)));
  EXPECT_LT(estimate.earliest, c.now() + Hours(1) + Minutes(30));
  EXPECT_GT(estimate.latest, c.now() + Minutes(45));
  EXPECT_LT(estimate.latest, c.now() + Hours(3));
  EXPECT_LT(estimate.earliest, estimate.latest);
}

TEST(Estimate, ATimeLimitBoundsIt) {
  Cluster c(Zones{.nodes = 1});
  Teach(c, 20, Hours(10));
  c.Submit(Urgent(1, Minutes(30)));
  c.Settle();
  c.Advance(Minutes(10));
  const Estimate estimate = EstimateOf(c, c.Submit(Urgent(1)));
  EXPECT_LE(estimate.latest, c.now() + Minutes(20));
}

TEST(Estimate, NothingIsPromisedWhereAnotherPoolMayHoldTheLink) {
  Policy policy;
  policy.cross_zone_nodes_min = 3;
  policy.links = {{"z1", "z2", 1, 1}};
  Cluster c(Zones{.zones = 2, .nodes = 3}, policy);
  c.Submit(Urgent(6));
  c.Settle();
  const auto promised = [&](std::uint32_t nodes) {
    return OutlookOf(c.state(), c.policy(), c.job(c.Submit(Urgent(nodes))), c.now()).promised_by;
  };
  EXPECT_TRUE(promised(4)) << "only its own pool has the link";
  NodeLabels labels = c.node(NodeId(1)).labels;
  labels.pool = "other";
  c.AddNode(labels);
  EXPECT_TRUE(promised(4)) << "the other pool has one zone";
  labels.zone = c.node(NodeId(6)).labels.zone;
  labels.leaf = c.node(NodeId(6)).labels.leaf;
  c.AddNode(labels);
  EXPECT_FALSE(promised(4)) << "it must cross, and the other pool's jobs may hold the link";
  EXPECT_TRUE(promised(3)) << "it fits into a zone";
  for (const char* node : {"n1", "n4"}) ASSERT_TRUE(c.Do(CordonNode{node, "op", "a new fan"}).status.ok());
  EXPECT_FALSE(promised(3)) << "one node of each zone is out: it must cross now";
}

TEST(Promised, NothingToAJobWhoseTeamHasABudget) {
  Cluster c(Zones{.nodes = 1}, testing::Patient());
  c.Do(ChangeAccounts{{{Team{"vision"}}}, "ora"});
  c.Running(Spec(1));
  const JobId job = c.Do(SubmitJobs{"ann", "vision", "", {Spec(1)}}).jobs.front();
  ASSERT_TRUE(OutlookOf(c.state(), c.policy(), c.job(job), c.now()).promised_by);
  SetBudget budget;
  budget.team = "vision";
  budget.gpu_ms_max = Hours(1000).ms;
  ASSERT_TRUE(c.Do(budget).status.ok());
  EXPECT_FALSE(OutlookOf(c.state(), c.policy(), c.job(job), c.now()).promised_by) << "it may be used up before";
}

TEST(Estimate, AReservationsEndIsKnown) {
  Cluster c(Zones{.nodes = 2});
  Teach(c, 20, Hours(1));
  Reservation row;
  row.name = "firmware";
  row.node_names = {"n1", "n2"};
  row.ends_at = c.now() + Hours(5);
  row.reason = "new firmware";
  ASSERT_TRUE(c.Do(SetReservation{row, "op"}).status.ok());
  const JobId waits = c.Submit(Urgent(1));
  const Estimate estimate = EstimateOf(c, waits);
  EXPECT_EQ(estimate.earliest, row.ends_at);
  EXPECT_EQ(estimate.latest, row.ends_at);
  EXPECT_FALSE(OutlookOf(c.state(), c.policy(), c.job(waits), c.now()).promised_by) << "nobody keeps that";
}

TEST(Estimate, WhoIsStillThereThenIsFollowedByTheReservation) {
  Cluster c(Zones{.nodes = 1});
  Teach(c, 60, Hours(2));
  c.Submit(Urgent(1));
  c.Settle();
  Reservation row;
  row.name = "firmware";
  row.node_names = {"n1"};
  row.begins_at = c.now() + Hours(1);
  row.ends_at = c.now() + Hours(9);
  row.reason = "new firmware";
  ASSERT_TRUE(c.Do(SetReservation{row, "op"}).status.ok());
  EXPECT_GE(EstimateOf(c, c.Submit(Urgent(1))).latest, row.ends_at);
}

TEST(Estimate, WhoIsBeforeItGoesFirst) {
  Cluster c(Zones{.nodes = 1});
  Teach(c, 20, Hours(1));
  c.Submit(Urgent(1));
  c.Settle();
  const Estimate alone = EstimateOf(c, c.Submit(Urgent(1)));
  for (int i = 0; i < 3; ++i) c.Submit(Urgent(1));
  const JobId last = c.Submit(Urgent(1));
  const Estimate behind = EstimateOf(c, last);
  EXPECT_GT(behind.latest, alone.latest + Hours(2));
  EXPECT_GE(behind.earliest, alone.earliest);
}

TEST(Estimate, FreeNodesAreThereAtOnce) {
  Cluster c(Zones{.nodes = 2});
  Teach(c, 20, Hours(1));
  const JobId blocked = c.Submit(Urgent(2));
  EXPECT_EQ(c.job(blocked).state, JobState::kStarting);
  c.Settle();
  c.Finish(blocked);
  const JobId job = c.Submit(Urgent(1));
  Job waiting = c.job(job);
  Pass pass(c.state(), c.policy(), c.now());
  waiting.state = JobState::kQueued;
  const Estimate estimate = EstimateStart(pass, waiting, {}, {});
  EXPECT_EQ(estimate.earliest, c.now());
  EXPECT_EQ(estimate.latest, c.now());
}

TEST(Estimate, IsNeverBeyondThePromise) {
  Policy policy;
  policy.starvation_bound = policy.quantum_max = Hours(1);
  Cluster c(Zones{.nodes = 1}, policy);
  Teach(c, 12, Hours(9));
  c.Submit(Urgent(1));
  c.Settle();
  const JobId job = c.Submit(Urgent(1));
  const TimePoint promised = c.now() + PromisedWait(c.state(), c.policy(), c.job(job));
  const Estimate estimate = EstimateOf(c, job, promised);
  EXPECT_EQ(estimate.latest, promised);
  EXPECT_LE(estimate.earliest, promised);
}

TEST(Estimate, ALowerClassGivesItsNodesUpAfterItsMinRun) {
  Policy policy;
  policy.default_save_cost = policy.default_restore_cost = Seconds(30);  // min_run: 10 minutes
  Cluster c(Zones{.nodes = 1}, policy);
  Teach(c, 12, Hours(9));
  c.Submit(Spec(1));
  c.Settle();
  const JobId job = c.Submit(Spec(1, PriorityClass::kHigh));
  ASSERT_EQ(c.job(job).state, JobState::kQueued);
  const Estimate estimate = EstimateOf(c, job);
  EXPECT_LE(estimate.latest, c.now() + Minutes(10));
  EXPECT_GT(estimate.latest, c.now() + Minutes(9));
}

TEST(Estimate, BeyondQuotaTheLatestIsUnknown) {
  Policy policy;
  policy.default_user_quota.nodes = {{PriorityClass::kNormal, 2}, {PriorityClass::kExtremeHigh, 1}};
  Cluster c(Zones{.nodes = 2}, policy);
  Teach(c, 20, Hours(1));
  c.Submit(Urgent(1));
  c.Submit(Spec(1));
  c.Settle();
  const Estimate estimate = EstimateOf(c, c.Submit(Spec(1)));
  EXPECT_TRUE(estimate.earliest);
  EXPECT_FALSE(estimate.latest);
  EXPECT_THAT(estimate.unknown, ::testing::HasSubstr("quota"));
}

TEST(QueueAhead, IsTheOrderOfThePlanner) {
  Cluster c(Zones{.nodes = 1});
  c.Submit(Urgent(1));
  const JobId low = c.Submit(Spec(1, PriorityClass::kLow), "bob");
  const JobId high = c.Submit(Spec(1, PriorityClass::kHigh), "bob");
  c.Advance(Seconds(1));
  const JobId normal = c.Submit(Spec(1), "bob");
  c.Advance(Seconds(1));
  const JobId later = c.Submit(Spec(1), "bob");
  Pass pass(c.state(), c.policy(), c.now());
  const auto ids = [&](JobId job) {
    std::vector<JobId> found;
    for (const Job* other : AheadOf(pass, c.job(job), 10).first) found.push_back(other->id);
    return found;
  };
  EXPECT_EQ(ids(low), (std::vector<JobId>{high, normal, later}));
  EXPECT_EQ(ids(later), (std::vector<JobId>{high, normal}));
  EXPECT_TRUE(ids(high).empty());
  EXPECT_EQ(AheadOf(pass, c.job(low), 1).count, 3u);
  EXPECT_EQ(AheadOf(pass, c.job(low), 1).first.size(), 1u);
}

TEST(QueueAhead, TheStarvedComeBeforeTheirClass) {
  Policy policy;
  policy.starvation_bound = Hours(1);
  Cluster c(Zones{.nodes = 2}, policy);
  c.Submit(Urgent(2));
  c.Settle();
  const JobId old = c.Submit(Spec(2), "bob");
  c.Advance(Hours(2));
  const JobId fresh = c.Submit(Spec(1), "bob");
  Pass pass(c.state(), c.policy(), c.now());
  EXPECT_EQ(AheadOf(pass, c.job(fresh), 10).count, 1u);
  EXPECT_EQ(AheadOf(pass, c.job(old), 10).count, 0u);
}

}  // namespace
}  // namespace glim::core
