// What is learnt of work does not go with the jobs.
#include "scheduler/core/lifecycle/learn.h"

#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;

TEST(Learnt, SharesAndPredictionsOutliveAFloodOfCancelledJobs) {
  Cluster c;
  c.policy().finished_jobs_kept = 50;
  const JobId job = c.Running(Spec(2));
  c.Advance(Hours(2));
  const ShareId ann{c.job(job).team, "ann"};
  c.Finish(job);
  const TeamService shares = c.state().index().team_service;
  const ServiceHistory predictions = c.state().index().history;
  EXPECT_GT(shares.Decayed(ann, c.now()), 0);
  EXPECT_EQ(predictions.observed(), 1u);

  std::vector<JobSpec> specs(200, Spec(2));
  for (int flood = 0; flood < 100; ++flood) {
    const Reply reply = c.Do(SubmitJobs{"mallory", "", "", specs, false});
    ASSERT_TRUE(reply.status.ok()) << reply.status.message();
    for (const JobId id : reply.jobs) c.Cancel(id, "mallory");
    c.Settle();
  }
  EXPECT_EQ(c.state().FindJob(job), nullptr) << "forgotten, as the bound on ended jobs says";
  EXPECT_EQ(c.state().index().team_service.Decayed(ann, c.now()), shares.Decayed(ann, c.now()));
  EXPECT_EQ(c.state().index().history, predictions);
  c.RestartScheduler();
  EXPECT_EQ(c.state().index().team_service.Decayed(ann, c.now()), shares.Decayed(ann, c.now()));
  EXPECT_EQ(c.state().index().history, predictions);
}

// Nobody gets a node for nothing by asking for none of its GPUs.
TEST(Learnt, AShareIsWhatAJobKeepsFromOthersAndNotWhatItAsksFor) {
  std::vector<std::int64_t> shares;
  for (const std::uint32_t asked : {8u, 1u, 0u}) {
    Cluster c(testing::Zones{.gpus = 8});
    JobSpec spec = Spec(2);
    spec.gpus_per_node = asked;
    const JobId job = c.Running(spec);
    c.Advance(Hours(2));
    c.Finish(job);
    shares.push_back(c.state().index().team_service.Decayed({c.job(job).team, "ann"}, c.now()));
  }
  EXPECT_GT(shares[0], 0);
  EXPECT_EQ(shares, std::vector<std::int64_t>(3, shares[0]));
}

TEST(Learnt, ANodeWithoutGpusCountsAsOneWithOne) {
  std::vector<std::int64_t> shares;
  for (const std::uint32_t gpus : {0u, 1u}) {
    Cluster c(testing::Zones{.gpus = gpus});
    JobSpec spec = Spec(2);
    spec.gpus_per_node = 0;
    const JobId job = c.Running(spec);
    c.Advance(Hours(2));
    c.Finish(job);
    shares.push_back(c.state().index().team_service.Decayed({c.job(job).team, "ann"}, c.now()));
  }
  EXPECT_GT(shares[0], 0);
  EXPECT_EQ(shares[0], shares[1]);
}

// What a user breaks off says nothing of how long such jobs take.
TEST(Learnt, ACancelledJobTeachesNothingThoughItRan) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Advance(Hours(2));
  c.Cancel(job);
  c.Settle();
  ASSERT_EQ(c.job(job).state, JobState::kCancelled);
  EXPECT_EQ(c.state().index().history.observed(), 0u);
  EXPECT_GT(c.state().index().team_service.Decayed({c.job(job).team, "ann"}, c.now()), 0) << "it has had the nodes";
}

TEST(Learnt, AStoreFromBeforeThereWereSuchRowsIsReadOnce) {
  ClusterState state;
  Job job;
  job.id = JobId(1);
  job.user = "ann";
  job.spec = std::make_shared<const JobSpec>(Spec(2));
  job.state = JobState::kSucceeded;
  job.attempts = 1;
  job.ended_at = TimePoint{Hours(3).ms};
  job.service = Hours(1);
  Attempt attempt;
  attempt.id = {JobId(1), 1};
  attempt.state = AttemptState::kEnded;
  attempt.nodes = {NodeId(1), NodeId(2)};
  attempt.started_at = TimePoint{Hours(2).ms};
  attempt.ended_at = TimePoint{Hours(3).ms};
  state.Put(job);
  state.Put(attempt);
  const Transition once = Apply(state, Policy{}, Event{1, TimePoint{Hours(4).ms}, LeaderStarted{}});
  EXPECT_EQ(state.index().history.observed(), 1u);
  EXPECT_GT(state.index().team_service.Decayed("", TimePoint{Hours(4).ms}), 0);
  EXPECT_EQ(once.mutations.size(), 5u) << "a share and the four tables of a kind";
  EXPECT_TRUE(Apply(state, Policy{}, Event{2, TimePoint{Hours(4).ms}, LeaderStarted{}}).mutations.empty());
}

}  // namespace
}  // namespace glim::core
