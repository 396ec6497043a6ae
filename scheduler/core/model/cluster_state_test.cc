// ClusterState: whatever is put and erased, the index is what follows from the rows.
#include "scheduler/core/model/cluster_state.h"

#include <gtest/gtest.h>

#include "scheduler/core/testing/specs.h"
#include "sdk/base/rng.h"

namespace glim::core {
namespace {

using testing::AttemptRow;
using testing::JobRow;
using testing::Labels;
using testing::NodeRow;
using testing::Spec;

Job RandomJob(Rng& rng) {
  JobSpec spec = Spec(static_cast<std::uint32_t>(rng.Between(1, 2)));
  spec.pool = rng.OneIn(2) ? "default" : "other";
  Job job = JobRow(static_cast<std::uint64_t>(rng.Between(1, 12)), spec, rng.OneIn(2) ? "ann" : "bob");
  job.state = static_cast<JobState>(rng.Between(0, static_cast<int>(JobState::kCancelled)));
  job.not_before = TimePoint{rng.Between(0, 2)};
  job.swap_aborted = rng.OneIn(3);
  job.ended_at = TimePoint{rng.Between(0, 3)};
  if (rng.OneIn(2)) job.request_id = "r" + std::to_string(rng.Between(1, 2));
  return job;
}

Node RandomNode(Rng& rng) {
  Node node = NodeRow(static_cast<std::uint32_t>(rng.Between(1, 8)), Labels("z1", "l1"));
  node.labels.pool = rng.OneIn(3) ? "other" : "default";
  node.state = static_cast<NodeState>(rng.Between(0, 3));
  if (rng.OneIn(3)) node.labels.zone = "z2";
  if (rng.OneIn(3)) node.labels.leaf = "l2";
  if (rng.OneIn(2)) node.replica = "r:1";
  if (rng.OneIn(3)) node.holder = {JobId(1), 1};
  if (rng.OneIn(3)) node.claim = {JobId(2), 1};
  if (rng.OneIn(5)) node.stale_tasks.push_back({{JobId(3), 1}, 0});
  if (rng.OneIn(5)) node.orphans.push_back({JobId(4), 1});
  return node;
}

void RandomWrite(ClusterState& state, Rng& rng) {
  const JobId job(static_cast<std::uint64_t>(rng.Between(1, 12)));
  switch (rng.Between(0, 5)) {
    case 0:
    case 1: {
      Job row = RandomJob(rng);
      // A job's spec and owner never change.
      if (const Job* old = state.FindJob(row.id)) {
        row.spec = old->spec;
        row.user = old->user;
      }
      state.Put(std::move(row));
      break;
    }
    case 2: state.EraseJob(job); break;
    case 3: state.Put(RandomNode(rng)); break;
    default: {
      if (!state.FindJob(job)) return;
      const AttemptId id{job, static_cast<std::uint32_t>(rng.Between(1, 3))};
      Attempt row = AttemptRow(id, static_cast<AttemptState>(rng.Between(0, 4)), {NodeId(1)});
      if (rng.OneIn(2)) row.replicas.push_back(NodeId(static_cast<std::uint32_t>(rng.Between(0, 2))));
      if (rng.OneIn(2)) row.agreements.emplace_back().state = static_cast<AgreementState>(rng.Between(0, 5));
      state.Put(std::move(row));
      Task task;
      task.id = {id, 0};
      task.node = NodeId(1);
      state.Put(task);
    }
  }
}

TEST(ClusterState, TheIndexIsWhatTheRowsSay) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    ClusterState state;
    for (int i = 0; i < 400; ++i) {
      RandomWrite(state, rng);
      ASSERT_EQ(state.RebuildIndex(), state.index()) << "after write " << i;
    }
    for (std::uint64_t id = 1; id <= 12; ++id) state.EraseJob(JobId(id));
    EXPECT_TRUE(state.tables().attempts.empty());
    EXPECT_TRUE(state.tables().tasks.empty());
    EXPECT_EQ(state.index().kept.unfinished.jobs, 0u);
    EXPECT_TRUE(state.index().live.empty());
  }
}

TEST(ClusterState, ACopyOfTheTablesIsASnapshot) {
  ClusterState state;
  state.Put(JobRow(1));
  const Tables snapshot = state.tables();
  Job job = *state.FindJob(JobId(1));
  job.state = JobState::kRunning;
  state.Put(job);
  state.Put(JobRow(2));
  EXPECT_EQ(snapshot.jobs.Find(JobId(1))->state, JobState::kQueued);
  EXPECT_EQ(snapshot.jobs.size(), 1u);
  EXPECT_EQ(state.FindJob(JobId(1))->state, JobState::kRunning);
}

TEST(ClusterState, ReplacedAndErasedRowsLiveUntilTheyAreForgotten) {
  ClusterState state;
  const AttemptId attempt{JobId(1), 1};
  Task task;
  task.id = {attempt, 0};
  std::vector<std::weak_ptr<const void>> rows = {state.Put(JobRow(1, Spec(2))), state.Put(JobRow(1, Spec(1))),
                                                 state.Put(AttemptRow(attempt, AttemptState::kRunning, {NodeId(1)})),
                                                 state.Put(task), state.Put(NodeRow(1))};
  const Job* const job = state.FindJob(JobId(1));
  state.EraseJob(JobId(1));
  state.Erase(NodeId(1));
  EXPECT_EQ(job->spec->nodes, 1u);
  for (const auto& row : rows) EXPECT_FALSE(row.expired());
  state.ForgetReplaced();
  for (const auto& row : rows) EXPECT_TRUE(row.expired());
}

TEST(ClusterState, IdsGoOnBehindTheHighestThatWasPut) {
  ClusterState state;
  state.Put(JobRow(7));
  state.Put(NodeRow(4));
  EXPECT_EQ(state.next_job_id, JobId(8));
  EXPECT_EQ(state.next_node_id, NodeId(5));
  state.EraseJob(JobId(7));
  EXPECT_EQ(state.next_job_id, JobId(8));
}

TEST(ClusterState, TheQueueKeepsTheOrderInsideAShape) {
  ClusterState state;
  for (const std::uint64_t id : {3u, 1u, 2u}) state.Put(JobRow(id));
  Job aborted = JobRow(9);
  aborted.swap_aborted = true;
  state.Put(aborted);
  ASSERT_EQ(state.index().queue.size(), 1u);
  std::vector<std::uint64_t> order;
  for (const QueueKey& key : state.index().queue.begin()->second) order.push_back(key.id.value);
  EXPECT_EQ(order, (std::vector<std::uint64_t>{9, 1, 2, 3}));
}

TEST(IsFree, OnlyAReadyNodeThatNobodyHasOrWants) {
  EXPECT_TRUE(IsFree(NodeRow(1)));
  Node silent = NodeRow(1), held = NodeRow(1), claimed = NodeRow(1), stale = NodeRow(1), orphan = NodeRow(1);
  silent.state = NodeState::kSilent;
  held.holder = {JobId(1), 1};
  claimed.claim = {JobId(1), 1};
  stale.stale_tasks.push_back({{JobId(1), 1}, 0});
  orphan.orphans.push_back({JobId(1), 1});
  for (const Node& node : {silent, held, claimed, stale, orphan}) EXPECT_FALSE(IsFree(node));
}

}  // namespace
}  // namespace glim::core
