#include "scheduler/store/codec/commit_batch.h"

#include <memory>

#include <gtest/gtest.h>

namespace glim::store {
namespace {

using core::AttemptId;
using core::JobId;

core::Mutation PutJob(std::uint64_t id, const char* message) {
  auto row = std::make_shared<core::Job>();
  row->id = JobId(id);
  row->message = message;
  return std::shared_ptr<const core::Job>(row);
}

core::Mutation PutAttempt(std::uint64_t job, std::uint32_t number) {
  auto row = std::make_shared<core::Attempt>();
  row->id = {JobId(job), number};
  return std::shared_ptr<const core::Attempt>(row);
}

TEST(CommitBatch, TheLaterWriteOfARowWins) {
  const std::vector<core::Mutation> mutations = {PutJob(2, "old"), PutJob(1, "only"), PutJob(2, "new")};
  const CommitBatch batch = Coalesce(mutations);
  ASSERT_EQ(batch.jobs.size(), 2u);
  EXPECT_EQ(batch.jobs.at(JobId(1))->message, "only");
  EXPECT_EQ(batch.jobs.at(JobId(2))->message, "new");
}

TEST(CommitBatch, ADeletedJobTakesItsEarlierWritesAlong) {
  const std::vector<core::Mutation> mutations = {PutJob(1, "old"), PutAttempt(1, 1), PutJob(2, "stays"),
                                                 core::DeleteJob{JobId(1)}};
  const CommitBatch batch = Coalesce(mutations);
  EXPECT_EQ(batch.deleted_jobs, std::set<JobId>{JobId(1)});
  EXPECT_EQ(batch.jobs.size(), 1u);
  EXPECT_TRUE(batch.attempts.empty());
}

TEST(CommitBatch, AWriteAfterTheDeletionStays) {
  const std::vector<core::Mutation> mutations = {PutAttempt(1, 1), core::DeleteJob{JobId(1)}, PutJob(1, "again"),
                                                 PutAttempt(1, 2)};
  const CommitBatch batch = Coalesce(mutations);
  EXPECT_TRUE(batch.deleted_jobs.contains(JobId(1)));
  EXPECT_EQ(batch.jobs.at(JobId(1))->message, "again");
  ASSERT_EQ(batch.attempts.size(), 1u);
  EXPECT_EQ(batch.attempts.begin()->first, (AttemptId{JobId(1), 2}));
}

TEST(CommitBatch, HistoryKeepsItsOrderAndIdsTheirHighest) {
  core::HistoryEntry first, second;
  first.text = "first";
  second.text = "second";
  const std::vector<core::Mutation> mutations = {first, core::PutIds{JobId(9), core::NodeId(2)}, second,
                                                 core::PutIds{JobId(8), core::NodeId(3)}};
  const CommitBatch batch = Coalesce(mutations);
  ASSERT_EQ(batch.history.size(), 2u);
  EXPECT_EQ(batch.history[0]->text, "first");
  EXPECT_EQ(batch.history[1]->text, "second");
  ASSERT_TRUE(batch.ids.has_value());
  EXPECT_EQ(batch.ids->next_job, JobId(9));
  EXPECT_EQ(batch.ids->next_node, core::NodeId(3));
}

}  // namespace
}  // namespace glim::store
