// SubmitJobs: all or none, once, within bounds, and only what this cluster could ever run.
#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Labels;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

SubmitJobs Request(std::vector<JobSpec> specs, std::string request_id = "", std::string user = "ann") {
  return {std::move(user), "team", std::move(request_id), std::move(specs), false};
}

TEST(Submit, EachJobOfABatchGetsItsIdInOrder) {
  Cluster c;
  const Reply reply = c.Do(Request({Spec(1), Spec(2), Spec(1)}));
  ASSERT_TRUE(reply.status.ok());
  EXPECT_EQ(reply.jobs, (std::vector<JobId>{JobId(1), JobId(2), JobId(3)}));
  const Job& second = c.job(JobId(2));
  EXPECT_EQ(second.user, "ann");
  EXPECT_EQ(second.team, "team");
  EXPECT_EQ(second.spec->nodes, 2u);
  EXPECT_EQ(second.request_index, 1u);
  EXPECT_EQ(second.request_size, 3u);
  EXPECT_EQ(second.submitted_at, c.now());
  EXPECT_EQ(c.Noted(HistoryKind::kJobSubmitted), 3);
}

TEST(Submit, JobsOfOneSpecShareIt) {
  Cluster c;
  c.Do(Request({Spec(1), Spec(1), Spec(2)}));
  EXPECT_EQ(c.job(JobId(1)).spec, c.job(JobId(2)).spec);
  EXPECT_NE(c.job(JobId(1)).spec, c.job(JobId(3)).spec);
}

TEST(Submit, OneBadSpecRefusesTheWholeBatchAndIsNamed) {
  Cluster c;
  const Reply reply = c.Do(Request({Spec(1), Spec(3), Spec(1)}));
  EXPECT_EQ(reply.status.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(reply.status.field(), "specs[1].nodes");
  EXPECT_TRUE(reply.jobs.empty());
  EXPECT_TRUE(c.state().tables().jobs.empty());
  EXPECT_EQ(c.state().next_job_id, JobId(1));
}

JobSpec In(const std::string& pool, Duration limit) {
  return SpecWith(1, [&](JobSpec& s) {
    s.pool = pool;
    s.time_limit = limit;
  });
}

TEST(SubmitTimeMax, OfAPoolIsTheLongestLimitOfItsJobsAndTheirDefault) {
  Policy policy;
  policy.time_max = {{"default", Hours(2)}};
  Cluster c(Zones{}, policy);
  const Reply longer = c.Do(Request({In("default", Hours(2) + Milliseconds(1))}));
  EXPECT_EQ(longer.status.field(), "limits.time");
  EXPECT_EQ(longer.status.fix(), "use at most 2h (time_max of the cluster's policy), or another pool");
  const Reply longest = c.Do(Request({In("default", Hours(2)), In("default", Duration{}), In("", Duration{})}));
  ASSERT_TRUE(longest.status.ok()) << longest.status.message();
  for (const JobId id : longest.jobs) EXPECT_EQ(c.job(id).spec->time_limit, Hours(2));
}

TEST(SubmitTimeMax, OfOnePoolIsNotAnothers) {
  Policy policy;
  policy.time_max = {{"debug", Hours(2)}};
  Cluster c(Zones{}, policy);
  const Reply reply = c.Do(Request({In("default", Hours(48)), In("default", Duration{})}));
  ASSERT_TRUE(reply.status.ok()) << reply.status.message();
  EXPECT_EQ(c.job(reply.jobs[0]).spec->time_limit, Hours(48));
  EXPECT_EQ(c.job(reply.jobs[1]).spec->time_limit, Duration{});
}

TEST(SubmitTimeMax, ARequestThatIsRepeatedIsTheSameThoughItsLimitIsThePools) {
  Policy policy;
  policy.time_max = {{"default", Hours(2)}};
  Cluster c(Zones{}, policy);
  const Reply first = c.Do(Request({Spec(1)}, "r1"));
  ASSERT_TRUE(first.status.ok());
  EXPECT_EQ(c.Do(Request({Spec(1)}, "r1")).jobs, first.jobs);
}

TEST(Submit, NothingIsNothing) {
  Cluster c;
  EXPECT_EQ(c.Do(Request({})).status.field(), "specs");
}

TEST(Submit, ValidateOnlyChangesNothing) {
  Cluster c;
  SubmitJobs request = Request({Spec(1)}, "r1");
  request.validate_only = true;
  const Reply reply = c.Do(request);
  EXPECT_TRUE(reply.status.ok());
  EXPECT_TRUE(reply.jobs.empty());
  EXPECT_TRUE(c.state().tables().jobs.empty());
  EXPECT_EQ(c.Do(Request({Spec(1)}, "r1")).jobs.size(), 1u);
}

TEST(SubmitRepeat, TheSameRequestGetsTheSameJobs) {
  Cluster c;
  const Reply first = c.Do(Request({Spec(1), Spec(2)}, "r1"));
  c.Settle();
  const Reply again = c.Do(Request({Spec(1), Spec(2)}, "r1"));
  EXPECT_TRUE(again.status.ok());
  EXPECT_EQ(again.jobs, first.jobs);
  EXPECT_EQ(c.state().tables().jobs.size(), 2u);
}

TEST(SubmitRepeat, TheSameIdWithAnotherBodyIsRefused) {
  const std::vector<std::vector<JobSpec>> others = {{Spec(2)}, {Spec(1), Spec(1)}, {Spec(1, PriorityClass::kHigh)}, {}};
  for (const auto& specs : others) {
    Cluster c;
    c.Do(Request({Spec(1)}, "r1"));
    const Reply reply = c.Do(Request(specs, "r1"));
    EXPECT_EQ(reply.status.code(), StatusCode::kAlreadyExists);
    EXPECT_EQ(reply.status.reason(), "REQUEST_ID_REUSED");
    EXPECT_EQ(reply.status.field(), "request_id");
    EXPECT_TRUE(reply.jobs.empty());
    EXPECT_EQ(c.state().tables().jobs.size(), 1u);
  }
}

TEST(SubmitRepeat, IdsAreEachUsersOwn) {
  Cluster c;
  const Reply ann = c.Do(Request({Spec(1)}, "r1", "ann"));
  const Reply bob = c.Do(Request({Spec(2)}, "r1", "bob"));
  EXPECT_TRUE(bob.status.ok());
  EXPECT_NE(ann.jobs, bob.jobs);
}

TEST(SubmitRepeat, ARepeatIsAnsweredEvenAtTheBoundsAndAfterTheEnd) {
  Cluster c;
  c.policy().unfinished_jobs_per_user_max = 1;
  const Reply first = c.Do(Request({Spec(1)}, "r1"));
  EXPECT_EQ(c.Do(Request({Spec(1)}, "r1")).jobs, first.jobs);
  c.Cancel(first.jobs[0]);
  c.Settle();
  EXPECT_EQ(c.Do(Request({Spec(1)}, "r1")).jobs, first.jobs);
}

TEST(SubmitBounds, OfAUserAndOfTheCluster) {
  Cluster c;
  c.policy().unfinished_jobs_per_user_max = 3;
  c.policy().unfinished_jobs_max = 4;
  EXPECT_TRUE(c.Do(Request({Spec(1), Spec(1), Spec(1)})).status.ok());
  const Reply mine = c.Do(Request({Spec(1)}));
  EXPECT_EQ(mine.status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(mine.status.reason(), "TOO_MANY_JOBS");
  EXPECT_NE(mine.status.message().find("user ann has 3"), std::string::npos);
  EXPECT_EQ(c.Do(Request({Spec(1), Spec(1)}, "", "bob")).status.code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(c.Do(Request({Spec(1)}, "", "bob")).status.ok());
  EXPECT_TRUE(c.Cancel(JobId(1)).status.ok());
  c.Settle();
  EXPECT_TRUE(c.Do(Request({Spec(1)})).status.ok()) << "ended jobs do not count";
}

struct Infeasible {
  const char* what;
  const char* field;
  const char* fix;
  JobSpec spec;
};

TEST(SubmitFeasible, RefusesWhatNoStateOfThisClusterCouldRun) {
  const Infeasible kRows[] = {
      {"no such pool", "pool", "use one of: default", SpecWith(1, [](JobSpec& s) { s.pool = "h100"; })},
      {"more nodes than the pool has", "nodes", "use at most 4 nodes", Spec(5)},
      {"more GPUs than any node has", "gpus_per_node", "use at most 8",
       SpecWith(1, [](JobSpec& s) { s.gpus_per_node = 9; })},
      {"a GPU type that nobody has", "placement", "loosen placement",
       SpecWith(1, [](JobSpec& s) { s.placement.gpu_type = "h100"; })},
      {"more NVLink than there is", "placement", "loosen placement",
       SpecWith(1, [](JobSpec& s) { s.placement.nvlink = NvLink::kFull; })},
      {"a NIC that nobody has", "placement", "loosen placement",
       SpecWith(1, [](JobSpec& s) { s.placement.nic = "roce"; })},
      {"a zone that is not there", "placement", "loosen placement",
       SpecWith(1, [](JobSpec& s) { s.placement.zones = {"z9"}; })},
      {"more nodes than the zone has", "placement", "ask for fewer nodes",
       SpecWith(3, [](JobSpec& s) { s.placement.zones = {"z1"}; })},
      {"larger than a zone, and must not cross", "nodes", "use at most 2 nodes",
       SpecWith(3, [](JobSpec& s) { s.placement.cross_zone = CrossZone::kNever; })},
  };
  Cluster c(Zones{.zones = 2, .leaves = 1, .nodes = 2});
  for (const Infeasible& row : kRows) {
    SCOPED_TRACE(row.what);
    const Reply reply = c.Do(Request({row.spec}));
    EXPECT_EQ(reply.status.code(), StatusCode::kFailedPrecondition);
    EXPECT_EQ(reply.status.reason(), "INFEASIBLE");
    EXPECT_EQ(reply.status.field(), row.field);
    EXPECT_NE(reply.status.fix().find(row.fix), std::string::npos) << reply.status.fix();
  }
  EXPECT_TRUE(c.state().tables().jobs.empty());
}

TEST(SubmitFeasible, AnEmptyClusterSaysSo) {
  Cluster c(Zones{.zones = 0});
  const Reply reply = c.Do(Request({Spec(1)}));
  EXPECT_EQ(reply.status.field(), "pool");
  EXPECT_NE(reply.status.fix().find("start an agent"), std::string::npos);
}

TEST(SubmitFeasible, LinksLimitWhatSpansTwoZones) {
  const std::pair<std::vector<ZoneLink>, bool> kRows[] = {
      {{}, true},  // not configured: one link between any two
      {{{"z1", "z2", 1, 1}}, true},
      {{{"z2", "z1", 1, 1}}, true},  // either way round
      {{{"z1", "z2", 0, 1}}, false},
      {{{"z1", "z2", 1, 0}}, false},
      {{{"z1", "z3", 1, 1}}, false},  // links are named, this one is not
  };
  for (const auto& [links, feasible] : kRows) {
    Policy policy;
    policy.links = links;
    Cluster c(Zones{.zones = 2, .leaves = 1, .nodes = 2}, policy);
    EXPECT_EQ(c.Do(Request({Spec(3)})).status.ok(), feasible);
  }
  Cluster three(Zones{.zones = 3, .leaves = 1, .nodes = 2});
  EXPECT_EQ(three.Do(Request({Spec(5)})).status.fix(), "use at most 4 nodes") << "no allocation spans three zones";
}

TEST(SubmitFeasible, NodesThatAreAwayCountAsWell) {
  Cluster c;
  c.Silence(NodeId(1), true);
  c.Silence(NodeId(2), true);
  EXPECT_TRUE(c.Do(Request({Spec(2)})).status.ok());
}

JobSpec In(std::vector<std::string> zones) {
  return SpecWith(2, [&](JobSpec& spec) { spec.placement.zones = std::move(zones); });
}

// 50,000 jobs of a user are allowed, and each may name other zones that are none.
TEST(Submit, HoweverUsersWriteTheirZonesWhoMayBeInTheSameAreOneShape) {
  Cluster c(Zones{.zones = 2, .nodes = 2});
  const JobId first = c.Submit(In({"z2", "z1"}));
  EXPECT_EQ(c.job(first).spec->placement.zones, (std::vector<std::string>{"z1", "z2"}));
  c.Settle();
  c.Submit(Spec(2));
  c.Settle();
  std::vector<JobSpec> specs;
  specs.reserve(50);
  for (int i = 0; i < 50; ++i) specs.push_back(In({"x" + std::to_string(i), "z1", "y", "z1"}));
  ASSERT_TRUE(c.Do(Request(std::move(specs))).status.ok());
  EXPECT_EQ(c.state().index().queue.size(), 1u);
  EXPECT_EQ(c.state().index().counts.JobsIn(JobState::kQueued), 50u);
}

TEST(Submit, ZonesThatAreAllUnknownAreRefused) {
  Cluster c;
  EXPECT_EQ(c.Do(Request({In({"x1", "x2"})})).status.field(), "placement");
}

TEST(Submit, ARequestIsTheSameWhicheverOfItsZonesThePoolHad) {
  Cluster c;
  const Reply reply = c.Do(Request({In({"z9", "z1"})}, "r1"));
  ASSERT_TRUE(reply.status.ok());
  EXPECT_EQ(c.Do(Request({In({"z9", "z1"})}, "r1")).jobs, reply.jobs);
  c.AddNode(Labels("z9", "z9-l1"));
  EXPECT_EQ(c.Do(Request({In({"z9", "z1"})}, "r1")).jobs, reply.jobs) << "there is such a zone now";
  EXPECT_EQ(c.Do(Request({In({"z9"})}, "r1")).status.reason(), "REQUEST_ID_REUSED");
  EXPECT_EQ(c.Do(Request({Spec(2)}, "r1")).status.reason(), "REQUEST_ID_REUSED");
}

}  // namespace
}  // namespace glim::core
