// A cluster's past as files for glim-sim: how long each job is, what counts, what is load.
#include "cli/simulate/past.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace glim::cli {
namespace {

using glim::v1::PastJob;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kHour = 3'600'000;
constexpr std::int64_t kSince = 1000 * kHour;
constexpr std::int64_t kUntil = kSince + 30 * kHour;

std::vector<glim::v1::PastNode> Nodes() {
  std::vector<glim::v1::PastNode> nodes(3);
  for (int i = 0; i < 2; ++i) {
    nodes[i].set_name("a" + std::to_string(i));
    nodes[i].set_pool("a100");
    nodes[i].set_zone("A");
    nodes[i].set_leaf("A-l1");
    nodes[i].set_gpus(8);
  }
  nodes[2].set_name("c 0");
  nodes[2].set_pool("cpu");
  return nodes;
}

// On a100, at so many hours from the first moment, alone for `hours` hours.
PastJob Job(std::uint64_t id, std::int64_t submit, std::int64_t hours, std::uint32_t nodes = 1) {
  PastJob job;
  job.set_id(id);
  job.set_user("kim");
  job.set_pool("a100");
  job.set_priority("normal");
  job.set_state("succeeded");
  job.set_nodes(nodes);
  job.set_gpus_per_node(8);
  job.set_submitted_at_ms(kSince + submit * kHour);
  job.set_started_at_ms(kSince + (submit + 1) * kHour);
  job.set_ended_at_ms(kSince + (submit + 1 + hours) * kHour);
  job.set_held_ms(hours * kHour);
  job.set_productive_gpu_ms(hours * kHour * 8 * nodes);
  job.set_held_gpu_ms(hours * kHour * 8 * nodes);
  job.set_attempts(1);
  return job;
}

Past Of(const std::vector<PastJob>& jobs, const glim::v1::ListAccountsResponse& accounts = {}) {
  return PastOf(jobs, Nodes(), accounts, TimePoint{kSince}, TimePoint{kUntil});
}

TEST(Past, AJobIsAsLongAsItWorked) {
  PastJob job = Job(7, 2, 4, 2);
  job.set_productive_gpu_ms(3 * kHour * 16);  // the fourth hour was lost and done again
  job.set_lost_gpu_ms(kHour * 16);
  const Past past = Of({job, Job(8, 25, 1)});
  EXPECT_EQ(past.jobs_csv,
            "job_id,user,submit_s,duration_s,nodes,team,pool,class,gpus_per_node,counted\n"
            "7,kim,7200.000,10800.000,2,,a100,normal,8,1\n"
            "8,kim,90000.000,3600.000,1,,a100,normal,8,1\n");
  EXPECT_EQ(past.counted, 2u);
  EXPECT_EQ(past.days, 2u);
  EXPECT_EQ(past.days_used, 2u);
  EXPECT_EQ(past.nodes_csv, "name,pool,zone,leaf,gpus\na0,a100,A,A-l1,8\na1,a100,A,A-l1,8\nc_0,cpu,-,-,0\n");
}

// What was lost by a job that failed is all that is known of how long it ran.
TEST(Past, AFailedJobIsAsLongAsItRan) {
  PastJob job = Job(7, 0, 2);
  job.set_state("failed");
  job.set_productive_gpu_ms(0);
  job.set_lost_gpu_ms(2 * kHour * 8);
  EXPECT_THAT(Of({job}).jobs_csv, HasSubstr("7,kim,0.000,7200.000,"));
}

TEST(Past, WithoutGpusTheTimeThatItHadNodesCounts) {
  PastJob job = Job(7, 0, 2);
  job.set_pool("cpu");
  job.set_gpus_per_node(0);
  job.set_productive_gpu_ms(0);
  job.set_held_gpu_ms(0);
  EXPECT_THAT(Of({job}).jobs_csv, HasSubstr("7,kim,0.000,7200.000,1,,cpu,normal,0,1"));
}

TEST(Past, WhatWasThereBeforeAndWhatHasNotEndedIsLoad) {
  PastJob before = Job(1, -5, 8);  // from 4 hours before to 4 hours after
  PastJob live = Job(2, 20, 5);
  live.set_state("running");
  live.set_ended_at_ms(0);
  PastJob never = Job(3, 1, 0);
  never.set_started_at_ms(0);
  never.set_restarts(2);
  const Past past = Of({before, live, never, Job(4, 1, 1)});
  EXPECT_THAT(past.jobs_csv, HasSubstr("\n1,kim,0.000,14400.000,1,,a100,normal,8,0\n"));
  EXPECT_THAT(past.jobs_csv, HasSubstr("\n2,kim,72000.000,18000.000,1,,a100,normal,8,0\n"));
  EXPECT_THAT(past.jobs_csv, Not(HasSubstr("\n3,")));
  EXPECT_EQ(past.counted, 1u);
  EXPECT_EQ(past.carried_in, 1u);
  EXPECT_EQ(past.unfinished, 1u);
  EXPECT_EQ(past.never_ran, 1u);
  EXPECT_EQ(past.failures, 2u);
}

TEST(Past, WhatComingBackCostIsTakenFromThePast) {
  EXPECT_EQ(Of({Job(1, 0, 1)}).restore, "40s,60s");
  EXPECT_FALSE(Of({Job(1, 0, 1)}).restore_known);
  PastJob back = Job(1, 0, 1);
  back.set_attempts(3);
  back.set_restoring_gpu_ms(2 * 25'000 * 8);
  const Past past = Of({back});
  EXPECT_EQ(past.restore, "25000ms,25000ms") << "of jobs on more nodes nothing is known: as of the others";
  EXPECT_TRUE(past.restore_known);
}

TEST(Past, QuotasAndWeightsAreTheClusters) {
  glim::v1::ListAccountsResponse accounts;
  auto* team = accounts.add_teams();
  team->set_name("vision");
  team->set_weight(200);
  auto* quota = accounts.add_quotas();
  quota->set_of("user");
  quota->set_subject("kim");
  quota->set_pool("*");
  quota->set_priority("high");
  quota->set_nodes(4);
  EXPECT_EQ(Of({}, accounts).quotas_csv, "of,subject,pool,class,nodes\nteam_weight,vision,,,200\nuser,kim,,high,4\n");
}

}  // namespace
}  // namespace glim::cli
