// The contract of store.h for the ends of logs, which outlive nodes and rows. Run against every store.
#include "scheduler/store/contract/store_limits.h"
#include "scheduler/store/testing/rows.h"
#include "scheduler/store/testing/store_contract.h"

namespace glim::store {

using core::JobId;

namespace {

LogTail Tail(std::uint64_t job, std::uint32_t attempt, std::uint32_t rank, std::int64_t ended_at_ms,
             std::string data = "the end\n") {
  return {{JobId(job), attempt}, rank, TimePoint{ended_at_ms}, "n1", 0, std::move(data)};
}

bool Has(Store& store, std::uint64_t job, std::uint32_t rank = 0) {
  const auto found = store.FindLogTail(JobId(job), 0, rank);
  EXPECT_TRUE(found.ok()) << found.status().message();
  return found.ok() && found->has_value();
}

}  // namespace

TEST_P(StoreContract, TheEndOfALogComesBackByteForByte) {
  std::string bytes;
  for (int i = 0; i < 600; ++i) bytes += static_cast<char>(i % 256);
  LogTail tail = Tail(7, 2, 3, 1000, bytes);
  tail.offset = 1'234'567'890'123;
  ASSERT_TRUE(store_->PutLogTails(epoch_, {Tail(7, 1, 3, 900, "old"), tail, Tail(7, 2, 0, 1000, "")}).ok());
  Reopen();
  EXPECT_EQ(store_->FindLogTail(JobId(7), 2, 3).value(), tail);
  EXPECT_EQ(store_->FindLogTail(JobId(7), 0, 3).value(), tail) << "the newest attempt's";
  EXPECT_EQ(store_->FindLogTail(JobId(7), 1, 3).value()->data, "old");
  EXPECT_EQ(store_->FindLogTail(JobId(7), 2, 0).value()->data, "") << "an empty log is known to be one";
  EXPECT_FALSE(store_->FindLogTail(JobId(7), 1, 0).value().has_value());
  EXPECT_FALSE(store_->FindLogTail(JobId(8), 0, 0).value().has_value());
  tail.data = "put again";
  ASSERT_TRUE(store_->PutLogTails(epoch_, {tail}).ok());
  EXPECT_EQ(store_->FindLogTail(JobId(7), 2, 3).value(), tail);
  EXPECT_EQ(store_->LogTailsSince(TimePoint{901}).value().size(), 2u);
  EXPECT_EQ(store_->LogTailsSince(TimePoint{1001}).value().size(), 0u);
}

TEST_P(StoreContract, EndsOfLogsGoByAgeInBoundedSteps) {
  std::vector<LogTail> old;
  for (std::uint32_t rank = 0; rank < kLogTailPruneMax + 5; ++rank) old.push_back(Tail(1, 1, rank, 100));
  ASSERT_TRUE(store_->PutLogTails(epoch_, old).ok());
  ASSERT_TRUE(store_->PutLogTails(epoch_, {Tail(2, 1, 0, 200)}).ok());
  constexpr std::int64_t kPlenty = 1 << 30;
  EXPECT_EQ(store_->TrimLogTails(epoch_, TimePoint{200}, kPlenty).value(), kLogTailPruneMax);
  EXPECT_EQ(store_->TrimLogTails(epoch_, TimePoint{200}, kPlenty).value(), 5u);
  EXPECT_EQ(store_->TrimLogTails(epoch_, TimePoint{200}, kPlenty).value(), 0u);
  EXPECT_TRUE(Has(*store_, 2));
}

TEST_P(StoreContract, TheOldestEndsOfLogsGoBeyondABoundOfBytes) {
  const std::string data(1000, 'x');
  ASSERT_TRUE(store_->PutLogTails(epoch_, {Tail(1, 1, 0, 300, data), Tail(2, 1, 0, 100, data)}).ok());
  ASSERT_TRUE(store_->PutLogTails(epoch_, {Tail(3, 1, 0, 200, data), Tail(4, 1, 0, 400, data)}).ok());
  const std::int64_t two = 2 * (1000 + kLogTailRowBytes);
  EXPECT_EQ(store_->TrimLogTails(epoch_, {}, 2 * two).value(), 0u);
  EXPECT_EQ(store_->TrimLogTails(epoch_, {}, two).value(), 2u);
  EXPECT_TRUE(Has(*store_, 1) && Has(*store_, 4));
  EXPECT_FALSE(Has(*store_, 2) || Has(*store_, 3));
  EXPECT_EQ(store_->TrimLogTails(epoch_, {}, 0).value(), 2u);
}

TEST_P(StoreContract, AStaleLeaderKeepsNoEndsOfLogs) {
  EXPECT_EQ(store_->PutLogTails(epoch_ + 1, {Tail(1, 1, 0, 100)}).reason(), "STALE_EPOCH");
  EXPECT_EQ(store_->TrimLogTails(epoch_ + 1, {}, 0).status().reason(), "STALE_EPOCH");
  EXPECT_FALSE(Has(*store_, 1));
}

TEST_P(StoreContract, AMarkIsKeptUntilTheNext) {
  EXPECT_EQ(store_->Mark("notify").value(), "") << "none was put";
  ASSERT_TRUE(store_->PutMark(epoch_, "notify", "{\"read\":1}").ok());
  ASSERT_TRUE(store_->PutMark(epoch_, "notify", "{\"read\":2}").ok());
  ASSERT_TRUE(store_->PutMark(epoch_, "epoch", "of its own").ok()) << "no word of the store's own";
  Reopen();
  EXPECT_EQ(store_->Mark("notify").value(), "{\"read\":2}");
  EXPECT_EQ(store_->PutMark(epoch_ + 1, "notify", "later").reason(), "STALE_EPOCH");
  EXPECT_EQ(store_->Mark("notify").value(), "{\"read\":2}");
  EXPECT_EQ(store_->Mark("epoch").value(), "of its own");
}

}  // namespace glim::store
