// Who may write what where, who is refused, and what goes: with memory that is none.
#include "sdk/checkpoint/replica/replica_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sdk/base/rng.h"

namespace glim::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr TimePoint kNow{1'000};

std::uint64_t Below(Rng& rng, std::uint64_t n) { return rng.Next() % n; }

class FakeRegions final : public RegionMaker {
 public:
  Result<std::shared_ptr<Region>> Make(std::uint64_t bytes) override {
    if (refuse) return Status(StatusCode::kResourceExhausted, "no memory");
    used += bytes;
    return std::shared_ptr<Region>(std::make_shared<Fake>(*this, bytes, ++made));
  }

  std::uint64_t used = 0;
  std::uint64_t made = 0;
  bool refuse = false;

 private:
  class Fake final : public Region {
   public:
    Fake(FakeRegions& all, std::uint64_t bytes, std::uint64_t number) : all_(all), bytes_(bytes), number_(number) {}
    ~Fake() override { all_.used -= bytes_; }
    std::uint64_t number() const override { return number_; }
    std::uint64_t bytes() const override { return bytes_; }
    int descriptor() const override { return -1; }

   private:
    FakeRegions& all_;
    std::uint64_t bytes_;
    std::uint64_t number_;
  };
};

constexpr ReplicaSize kSize{1, kMiB - 100, 100};

struct TableTest : ::testing::Test {
  ReplicaTable::User Join(const std::string& job, std::uint32_t attempt, TimePoint now = kNow,
                          const std::string& owner = "kim") {
    const ReplicaTable::User user = next++;
    EXPECT_TRUE(table.Join(user, job, owner, attempt, now).ok());
    return user;
  }
  Status Save(ReplicaTable::User user, ReplicaId id, ReplicaSize size = kSize, TimePoint now = kNow) {
    const auto grant = table.Reserve(user, id, size, now);
    return grant.ok() ? table.Commit(user, static_cast<std::uint32_t>(id.step), now) : grant.status();
  }
  std::vector<std::uint64_t> Steps(ReplicaTable::User user) {
    std::set<std::uint64_t> steps;
    for (const Listed& entry : table.List(user, 0, kNow).entries) steps.insert(entry.id.step);
    return {steps.begin(), steps.end()};
  }

  FakeRegions regions;
  ReplicaTable table{regions, 8 * kMiB, Hours(1)};
  ReplicaTable::User next = 1;
};

TEST_F(TableTest, TheTwoNewestCopiesAreHeld) {
  const auto writer = Join("j", 1);
  for (std::uint64_t step = 1; step <= 5; ++step) ASSERT_TRUE(Save(writer, {1, step, 0}).ok());
  EXPECT_THAT(Steps(writer), ElementsAre(4, 5));
  EXPECT_EQ(regions.made, 2U) << "memory is made once for each slot";
  const auto opened = table.Open(writer, {1, 5, 0}, kNow);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->size, kSize);
  EXPECT_EQ(opened->part_crc32c, 5U);
}

TEST_F(TableTest, ACopyThatIsBeingWrittenIsNotListedAndTheNewestWholeOneStays) {
  const auto writer = Join("j", 1);
  ASSERT_TRUE(Save(writer, {1, 1, 0}).ok());
  ASSERT_TRUE(Save(writer, {1, 2, 0}).ok());
  ASSERT_TRUE(table.Reserve(writer, {1, 3, 0}, kSize, kNow).ok());
  EXPECT_THAT(Steps(writer), ElementsAre(2));
  table.Leave(writer, kNow);
  const auto again = Join("j", 1);
  EXPECT_THAT(Steps(again), ElementsAre(2));
  // The torn one's place is taken again, not that of the whole one.
  ASSERT_TRUE(table.Reserve(again, {1, 4, 0}, kSize, kNow).ok());
  EXPECT_THAT(Steps(again), ElementsAre(2));
}

TEST_F(TableTest, ACommitWithoutAReservationIsRefused) {
  const auto first = Join("j", 1);
  EXPECT_EQ(table.Commit(first, 0, kNow).reason(), "NOT_RESERVED");
  ASSERT_TRUE(table.Reserve(first, {1, 1, 0}, kSize, kNow).ok());
  EXPECT_EQ(table.WriterOf("j", 0), first);
  const auto second = Join("j", 1);
  ASSERT_TRUE(table.Reserve(second, {1, 1, 0}, kSize, kNow).ok());
  EXPECT_EQ(table.Commit(first, 0, kNow).reason(), "NOT_RESERVED");
  EXPECT_TRUE(table.Commit(second, 0, kNow).ok());
  EXPECT_EQ(table.WriterOf("j", 0), std::nullopt);
}

TEST_F(TableTest, AnOlderAttemptIsRefusedAndItsMemoryIsNotWrittenAgain) {
  const auto old = Join("j", 1);
  ASSERT_TRUE(Save(old, {1, 1, 0}).ok());
  ASSERT_TRUE(Save(old, {1, 2, 0}).ok());
  const std::uint64_t first_region = table.Open(old, {1, 1, 0}, kNow)->region->number();
  table.Leave(old, kNow);
  const auto zombie = Join("j", 1);
  const auto fresh = Join("j", 2);
  const auto refused = table.Reserve(zombie, {1, 3, 0}, kSize, kNow);
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.status().reason(), "STALE_ATTEMPT");
  EXPECT_EQ(table.Join(next++, "j", "kim", 1, kNow).reason(), "STALE_ATTEMPT");
  // What the older attempt left is there to be loaded until there is something newer.
  EXPECT_THAT(Steps(fresh), ElementsAre(1, 2));
  const auto grant = table.Reserve(fresh, {2, 2, 0}, kSize, kNow);
  ASSERT_TRUE(grant.ok());
  EXPECT_NE((*grant)->number(), first_region) << "the zombie may still have mapped that";
  EXPECT_THAT(Steps(fresh), ElementsAre(2));
}

TEST_F(TableTest, AStepThatIsNotAboveTheHeldOneIsRefused) {
  const auto writer = Join("j", 1);
  ASSERT_TRUE(Save(writer, {1, 5, 0}).ok());
  EXPECT_EQ(Save(writer, {1, 5, 0}).reason(), "STALE_STEP");
  EXPECT_EQ(Save(writer, {1, 4, 0}).reason(), "STALE_STEP");
  // A later attempt goes on from wherever it likes.
  EXPECT_TRUE(Save(Join("j", 2), {2, 3, 0}).ok());
}

TEST_F(TableTest, WhatIsBeyondTheBudgetIsRefusedWithAmountsAndNothingIsLost) {
  const auto writer = Join("j", 1);
  const ReplicaSize large{1, 5 * kMiB, 0};
  ASSERT_TRUE(Save(writer, {1, 1, 0}, large).ok());
  const Status refused = Save(writer, {1, 2, 0}, large);
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.reason(), "REPLICA_MEMORY");
  EXPECT_THAT(refused.message(), HasSubstr("5242880 of 8388608 bytes"));
  EXPECT_THAT(Steps(writer), ElementsAre(1));
  EXPECT_EQ(table.used_bytes(), 5 * kMiB);
  EXPECT_EQ(regions.used, 5 * kMiB);
  const auto other = Join("k", 1);
  EXPECT_EQ(Save(other, {1, 1, 0}, large).code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(Save(other, {1, 1, 0}, {1, 3 * kMiB, 0}).ok());
}

// Whoever came first may have all of it until somebody else wants his share; older copies go before newer ones.
TEST_F(TableTest, OwnersHaveEqualSharesWhereMemoryIsShort) {
  const auto greedy = Join("j", 1, kNow, "kim");
  for (const std::uint64_t step : {1, 2}) {
    for (const std::uint32_t rank : {0, 1}) ASSERT_TRUE(Save(greedy, {1, step, rank}, {2, 2 * kMiB, 0}).ok());
  }
  EXPECT_EQ(table.used_bytes(), 8 * kMiB);
  const auto other = Join("k", 1, kNow, "ana");
  ASSERT_TRUE(Save(other, {1, 1, 0}, {1, 2 * kMiB, 0}).ok());
  EXPECT_THAT(Steps(greedy), ElementsAre(1, 2));
  ASSERT_TRUE(Save(other, {1, 2, 0}, {1, 2 * kMiB, 0}).ok());
  EXPECT_THAT(Steps(greedy), ElementsAre(2)) << "the newest of both ranks";
  EXPECT_EQ(table.List(greedy, 0, kNow).entries.size(), 2U);
  EXPECT_EQ(table.used_bytes(), 8 * kMiB);
  EXPECT_EQ(regions.used, 8 * kMiB);
  // Each has its half now: nobody takes more, and what was refused has cost nobody anything.
  EXPECT_EQ(Save(greedy, {1, 3, 0}, {2, 4 * kMiB, 0}).reason(), "REPLICA_MEMORY");
  EXPECT_THAT(Steps(other), ElementsAre(1, 2));
  EXPECT_TRUE(Save(Join("k2", 1, kNow, "ana"), {1, 1, 0}, {1, 2 * kMiB, 0}).ok()) << "from her own other job";
  EXPECT_THAT(Steps(other), ElementsAre(2));
  EXPECT_THAT(Steps(greedy), ElementsAre(2));
}

TEST_F(TableTest, JobsOfOneOwnerHaveEqualSharesOfHis) {
  const auto first = Join("j", 1);
  for (const std::uint64_t step : {1, 2}) ASSERT_TRUE(Save(first, {1, step, 0}, {1, 4 * kMiB, 0}).ok());
  const auto second = Join("k", 1);
  ASSERT_TRUE(Save(second, {1, 1, 0}, {1, 4 * kMiB, 0}).ok());
  EXPECT_THAT(Steps(first), ElementsAre(2));
  EXPECT_EQ(Save(second, {1, 2, 0}, {1, 4 * kMiB, 0}).reason(), "REPLICA_MEMORY");
  EXPECT_THAT(Steps(first), ElementsAre(2));
}

TEST_F(TableTest, WhatIsBeingReadOrWrittenIsNotTakenBack) {
  const auto writer = Join("j", 1, kNow, "kim");
  const auto reader = Join("j", 0, kNow, "kim");
  ASSERT_TRUE(Save(writer, {1, 1, 0}, {1, 4 * kMiB, 0}).ok());
  ASSERT_TRUE(table.Open(reader, {1, 1, 0}, kNow).ok());
  ASSERT_TRUE(table.Reserve(writer, {1, 2, 0}, {1, 4 * kMiB, 0}, kNow).ok());
  const auto other = Join("k", 1, kNow, "ana");
  EXPECT_EQ(Save(other, {1, 1, 0}, {1, 4 * kMiB, 0}).reason(), "REPLICA_MEMORY");
  table.Leave(reader, kNow);
  EXPECT_TRUE(Save(other, {1, 1, 0}, {1, 4 * kMiB, 0}).ok());
  EXPECT_TRUE(table.Commit(writer, 1, kNow).ok()) << "it was not disturbed";
  EXPECT_THAT(Steps(writer), ElementsAre(2));
}

TEST_F(TableTest, KnowsWhoseElseItHolds) {
  EXPECT_EQ(table.OtherOwner("kim"), "");
  const auto writer = Join("j", 7, kNow, "kim");
  EXPECT_EQ(table.OtherOwner("kim"), "");
  EXPECT_EQ(table.OtherOwner("ana"), "kim") << "connected";
  EXPECT_EQ(table.NewestAttempt("j"), 7U);
  EXPECT_EQ(table.NewestAttempt("k"), 0U);
  ASSERT_TRUE(Save(writer, {7, 1, 0}).ok());
  table.Leave(writer, kNow);
  EXPECT_EQ(table.OtherOwner("ana"), "kim") << "held";
  table.Expire(kNow + Hours(1));
  EXPECT_EQ(table.OtherOwner("ana"), "");
}

TEST_F(TableTest, MemoryThatIsNotToBeHadIsAnErrorOfTheSave) {
  const auto writer = Join("j", 1);
  ASSERT_TRUE(Save(writer, {1, 1, 0}).ok());
  regions.refuse = true;
  EXPECT_EQ(Save(writer, {1, 2, 0}).code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(Steps(writer), ElementsAre(1));
  EXPECT_EQ(table.used_bytes(), kMiB);
}

TEST_F(TableTest, ACopyThatIsBeingReadIsNotWrittenOver) {
  const auto writer = Join("j", 1);
  const auto reader = Join("j", 0);
  ASSERT_TRUE(Save(writer, {1, 1, 0}).ok());
  ASSERT_TRUE(table.Open(reader, {1, 1, 0}, kNow).ok());
  ASSERT_TRUE(Save(writer, {1, 2, 0}).ok());
  EXPECT_EQ(Save(writer, {1, 3, 0}).reason(), "REPLICA_BEING_READ");
  EXPECT_THAT(Steps(writer), ElementsAre(1, 2));
  table.Leave(reader, kNow);
  EXPECT_TRUE(Save(writer, {1, 3, 0}).ok());
}

TEST_F(TableTest, JobsAndRanksAreApart) {
  const auto j = Join("j", 3);
  const auto k = Join("k", 1);
  ASSERT_TRUE(Save(j, {3, 7, 0}, {2, 1000, 0}).ok());
  ASSERT_TRUE(Save(j, {3, 7, 1}, {2, 1000, 0}).ok());
  ASSERT_TRUE(Save(k, {1, 1, 0}).ok());
  EXPECT_EQ(table.List(j, 0, kNow).entries.size(), 2U);
  EXPECT_EQ(table.List(j, 1, kNow).entries.size(), 1U);
  EXPECT_EQ(table.Open(k, {3, 7, 0}, kNow).status().code(), StatusCode::kNotFound);
  table.Drop(j);
  EXPECT_THAT(Steps(j), IsEmpty());
  EXPECT_THAT(Steps(k), ElementsAre(1));
  EXPECT_EQ(regions.used, kMiB);
}

TEST_F(TableTest, AJobThatNobodyUsesGoesWhenItsLeaseIsOver) {
  const auto idle = Join("idle", 1);
  const auto busy = Join("busy", 1);
  ASSERT_TRUE(Save(idle, {1, 1, 0}, {1, 4 * kMiB, 0}).ok());
  ASSERT_TRUE(Save(busy, {1, 1, 0}, {1, 4 * kMiB, 0}).ok());
  table.Leave(idle, kNow);
  EXPECT_THAT(table.Expire(kNow + Hours(1) - Milliseconds(1)), IsEmpty());
  // A connected job stays, however quiet it is; and a save finds the room by itself.
  EXPECT_TRUE(Save(busy, {1, 2, 0}, {1, 4 * kMiB, 0}, kNow + Hours(1)).ok());
  EXPECT_THAT(Steps(busy), ElementsAre(1, 2));
  EXPECT_THAT(table.Expire(kNow + Hours(2)), IsEmpty());
}

TEST_F(TableTest, NonsenseIsRefusedAndLeavesNothingBehind) {
  const auto writer = Join("j", 2);
  const std::pair<ReplicaId, ReplicaSize> cases[] = {
      {{2, 1, 0}, {0, 10, 10}},                 // no ranks
      {{2, 1, 1}, {1, 10, 10}},                 // a rank that is not of the world
      {{2, 1, 0}, {1U << 31, 10, 10}},          // too many ranks
      {{2, 1, 0}, {1, ~std::uint64_t{0}, 10}},  // sizes that overflow
      {{2, 1, 0}, {1, 10, ~std::uint64_t{0} - 5}},
      {{2, 1, 0}, {1, 0, 0}},
      {{3, 1, 0}, {1, 10, 10}},  // another attempt than the one it came as
  };
  for (const auto& [id, size] : cases) {
    EXPECT_EQ(table.Reserve(writer, id, size, kNow).status().code(), StatusCode::kInvalidArgument) << id.rank;
  }
  EXPECT_EQ(table.used_bytes(), 0U);
  const auto reader = Join("r", 0);
  EXPECT_EQ(Save(reader, {0, 1, 0}).code(), StatusCode::kInvalidArgument) << "a tool writes nothing";
}

TEST_F(TableTest, AListIsGivenInPages) {
  ReplicaTable large(regions, 4096 * kMiB, Hours(1));
  ASSERT_TRUE(large.Join(1, "j", "kim", 1, kNow).ok());
  for (std::uint32_t rank = 0; rank < 1500; ++rank) {
    ASSERT_TRUE(large.Reserve(1, {1, 1, rank}, {1500, 1, 0}, kNow).ok());
    ASSERT_TRUE(large.Commit(1, 0, kNow).ok());
  }
  std::set<std::uint32_t> ranks;
  std::uint32_t from = 0;
  for (bool more = true; more;) {
    const Listing page = large.List(1, from, kNow);
    ASSERT_LE(page.entries.size(), kListedMax);
    ASSERT_FALSE(page.entries.empty());
    for (const Listed& entry : page.entries) EXPECT_TRUE(ranks.insert(entry.id.rank).second);
    from = page.entries.back().id.rank + 1;
    more = page.more;
  }
  EXPECT_EQ(ranks.size(), 1500U);
}

// Whatever comes in whatever order: the budget holds, nobody is given memory that somebody else writes or reads, and a
// whole copy goes only for a newer one.
TEST(ReplicaTableWalk, KeepsItsPromises) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FakeRegions regions;
    ReplicaTable table(regions, 12 * kMiB, Seconds(60));
    Rng rng(seed);
    std::map<ReplicaTable::User, std::uint32_t> users;    // and their attempts
    std::map<ReplicaTable::User, std::uint64_t> writing;  // regions
    std::map<ReplicaTable::User, std::set<std::uint64_t>> reading;
    ReplicaTable::User next = 1;
    std::uint64_t step = 0;
    TimePoint now = kNow;
    for (int i = 0; i < 300; ++i) {
      now = now + Milliseconds(static_cast<std::int64_t>(Below(rng, 1000)));
      if (users.empty() || Below(rng, 8) == 0) {
        const auto attempt = static_cast<std::uint32_t>(1 + Below(rng, 3));
        if (table.Join(next, "j", "kim", attempt, now).ok()) {
          users[next] = attempt;
          std::erase_if(writing, [&](const auto& entry) { return users[entry.first] < attempt; });
        }
        ++next;
        continue;
      }
      auto at = users.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(Below(rng, users.size())));
      const ReplicaTable::User user = at->first;
      const std::uint32_t attempt = at->second;
      const auto rank = static_cast<std::uint32_t>(Below(rng, 2));
      const Listing before = table.List(user, 0, now);
      switch (Below(rng, 4)) {
        case 0: {
          const auto grant = table.Reserve(user, {attempt, ++step, rank}, {2, Below(rng, 4 * kMiB) + 1, 7}, now);
          // Whom it has ended, the service has closed before.
          std::erase_if(writing, [&](const auto& entry) {
            return entry.first == user ||
                   (table.WriterOf("j", 0) != entry.first && table.WriterOf("j", 1) != entry.first);
          });
          if (!grant.ok()) break;
          for (const auto& [other, region] : writing) EXPECT_NE(region, (*grant)->number());
          for (const auto& [other, regions_read] : reading) EXPECT_FALSE(regions_read.contains((*grant)->number()));
          writing[user] = (*grant)->number();
          break;
        }
        case 1:
          if (table.Commit(user, 1, now).ok()) {
            EXPECT_TRUE(writing.contains(user));
            writing.erase(user);
            EXPECT_GT(table.List(user, 0, now).entries.size(), before.entries.size());
          }
          break;
        case 2:
          if (!before.entries.empty()) {
            const auto opened = table.Open(user, before.entries[Below(rng, before.entries.size())].id, now);
            ASSERT_TRUE(opened.ok());
            reading[user].insert(opened->region->number());
          }
          break;
        default:
          if (Below(rng, 3) != 0) break;
          table.Leave(user, now);
          writing.erase(user);
          reading.erase(user);
          users.erase(user);
      }
      EXPECT_LE(table.used_bytes(), 12 * kMiB);
      EXPECT_EQ(table.used_bytes(), regions.used);
    }
  }
}

}  // namespace
}  // namespace glim::checkpoint
