// Shares inside a team: between users of one team the one who had less comes first.
#include <gtest/gtest.h>

#include "scheduler/core/planning/job_order.h"
#include "scheduler/core/testing/cluster_builder.h"
#include "scheduler/core/testing/specs.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Patient;
using testing::Spec;
using testing::Zones;

JobId SubmitFor(Cluster& c, const std::string& user, const std::string& team, std::uint32_t nodes,
                PriorityClass priority = PriorityClass::kNormal) {
  const Reply reply = c.Do(SubmitJobs{user, team, "", {Spec(nodes, priority)}, false});
  EXPECT_TRUE(reply.status.ok()) << reply.status.message();
  return reply.jobs.at(0);
}

// Ann has had nearly all of the cluster for a day; then she and a colleague wait for the one node that is free.
struct AfterADay {
  explicit AfterADay(const std::string& team, const std::string& others_team) : c(Zones{.nodes = 4}, Patient()) {
    SubmitFor(c, "ann", team, 3, PriorityClass::kHigh);
    c.Settle();
    const JobId last = SubmitFor(c, "eve", others_team, 1, PriorityClass::kHigh);
    c.Settle();
    c.Advance(Hours(23));
    anns = SubmitFor(c, "ann", team, 1);
    c.Advance(Minutes(1));
    bobs = SubmitFor(c, "bob", team, 1);
    c.Finish(last);
  }
  Cluster c;
  JobId anns, bobs;
};

TEST(UserShare, WhoHadLessOfTheTeamComesFirst) {
  AfterADay day("vision", "vision");
  EXPECT_EQ(day.c.job(day.bobs).state, JobState::kRunning);
  EXPECT_EQ(day.c.job(day.anns).state, JobState::kQueued);
}

// People without a team share nothing but the cluster: their order is what it was.
TEST(UserShare, CountsInsideTeamsThatHaveANameAlone) {
  AfterADay day("", "");
  EXPECT_EQ(day.c.job(day.anns).state, JobState::kRunning);
  EXPECT_EQ(day.c.job(day.bobs).state, JobState::kQueued);
}

// A row in doublings against the mean: one order holds over all teams, and a team of one is at the mean.
TEST(UserShare, IsAgainstTheMeanOfTheTeamsUsers) {
  const std::int64_t hour = Hours(1).ms;
  EXPECT_EQ(UserShareOf(0, 0, 2), 0);
  EXPECT_EQ(UserShareOf(1000 * hour, 1000 * hour, 1), 0);
  EXPECT_EQ(UserShareOf(4000 * hour, 4000 * hour, 4), 2 - 1) << "four times the mean, rounded down";
  EXPECT_LT(UserShareOf(0, 4000 * hour, 4), -8);
}

TEST(UserShare, OneUserTwoTeamsIsCountedInEach) {
  Cluster c(Zones{.nodes = 2}, Patient());
  const JobId first = SubmitFor(c, "ann", "vision", 2);
  c.Settle();
  c.Advance(Hours(1));
  c.Finish(first);
  const TeamService& service = c.state().index().team_service;
  EXPECT_GT(service.Decayed(ShareId{"vision", "ann"}, c.now()), 0);
  EXPECT_EQ(service.Decayed(ShareId{"speech", "ann"}, c.now()), 0);
}

}  // namespace
}  // namespace glim::core
