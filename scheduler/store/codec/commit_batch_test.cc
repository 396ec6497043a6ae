#include "scheduler/store/codec/commit_batch.h"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glim::store {
namespace {

using core::JobId;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

core::Mutation PutJob(std::uint64_t id, const char* message) {
  auto row = std::make_shared<core::Job>();
  row->id = JobId(id);
  row->message = message;
  row->spec = std::make_shared<const core::JobSpec>();
  return std::shared_ptr<const core::Job>(row);
}

std::vector<std::string> NamesOf(const auto& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.push_back(std::string(row.kind) + " " + row.key);
  return names;
}

TEST(CommitBatch, TheLaterWriteOfARowWins) {
  const CommitBatch batch = Coalesce({PutJob(2, "old"), PutJob(1, "only"), PutJob(2, "new")});
  ASSERT_THAT(NamesOf(batch.rows), ElementsAre("job 1", "job 2"));
  EXPECT_THAT(batch.rows[0].body, HasSubstr("only"));
  EXPECT_THAT(batch.rows[1].body, HasSubstr("new"));
}

TEST(CommitBatch, ADeletionAfterAWriteStays) {
  const CommitBatch batch = Coalesce({PutJob(1, "old"), PutJob(2, "stays"), core::Deleted<core::Job>{JobId(1)}});
  EXPECT_THAT(NamesOf(batch.deleted), ElementsAre("job 1"));
  EXPECT_THAT(NamesOf(batch.rows), ElementsAre("job 2"));
}

TEST(CommitBatch, AWriteAfterADeletionStays) {
  const CommitBatch batch = Coalesce({core::Deleted<core::Job>{JobId(1)}, PutJob(1, "again")});
  EXPECT_THAT(batch.deleted, IsEmpty());
  EXPECT_THAT(NamesOf(batch.rows), ElementsAre("job 1"));
}

TEST(CommitBatch, AnAccountsOrIdentitysRowGoesByTheKeyInItsBody) {
  const CommitBatch batch =
      Coalesce({core::AccountChange{core::User{"kim"}, true}, core::IdentityChange{core::NodeIdentity{.name = "n1"}},
                core::AccountChange{core::QuotaImport{}}});
  EXPECT_THAT(NamesOf(batch.deleted), ElementsAre("user kim"));
  EXPECT_THAT(NamesOf(batch.rows), ElementsAre("machine n1", "quota_import quotas"));
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
