#include "sdk/checkpoint/io/read_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "sdk/base/rng.h"
#include "sdk/checkpoint/io/channel.h"

namespace glim::checkpoint {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kBlock = 4 * kMiB;

// Memory that is never touched, congruent with the file's offsets modulo a page, and `skew`.
std::span<std::byte> At(std::uint64_t offset, std::uint64_t bytes, std::uint64_t skew = 0) {
  return {reinterpret_cast<std::byte*>((std::uint64_t{1} << 40) + offset + skew), bytes};
}

ReadPlan Plan(const std::vector<ReadRange>& ranges, const ReadPlanOptions& options) {
  std::vector<std::uint32_t> order(ranges.size());
  std::iota(order.begin(), order.end(), 0);
  return PlanReads(ranges, order, options);
}

ReadPlanOptions Direct() { return {.block_bytes = kBlock, .direct = true, .memory_alignment = 512, .cached = {}}; }
ReadPlanOptions Buffered() { return {.block_bytes = kBlock, .direct = false, .memory_alignment = 1, .cached = {}}; }

struct Summary {
  std::uint64_t begin, end;
  std::uint32_t pieces;
  bool direct, straight;
  friend bool operator==(const Summary&, const Summary&) = default;
};
std::ostream& operator<<(std::ostream& out, const Summary& s) {
  return out << "[" << s.begin << "," << s.end << ") pieces " << s.pieces << (s.direct ? " direct" : "")
             << (s.straight ? " straight" : "");
}
std::vector<Summary> SummaryOf(const ReadPlan& plan) {
  std::vector<Summary> all;
  for (const PlannedRead& read : plan.reads) {
    all.push_back({read.begin, read.end, read.pieces, read.direct, read.straight});
  }
  return all;
}

using testing::ElementsAre;

TEST(ReadPlan, AnAlignedRangeGoesStraightInBlocks) {
  EXPECT_THAT(SummaryOf(Plan({{0, 0, At(0, 9 * kMiB)}}, Direct())),
              ElementsAre(Summary{0, kBlock, 1, true, true}, Summary{kBlock, 2 * kBlock, 1, true, true},
                          Summary{2 * kBlock, 9 * kMiB, 1, true, true}));
}

TEST(ReadPlan, TheEndsOfACongruentRangeAreReadBesideByWholePages) {
  EXPECT_THAT(SummaryOf(Plan({{0, 1000, At(1000, 3 * kMiB)}}, Direct())),
              ElementsAre(Summary{0, 4096, 1, true, false}, Summary{4096, 3 * kMiB, 1, true, true},
                          Summary{3 * kMiB, 3 * kMiB + 4096, 1, true, false}));
}

TEST(ReadPlan, MemoryThatODirectCannotUseIsReadBeside) {
  EXPECT_THAT(SummaryOf(Plan({{0, 0, At(0, 6 * kMiB, 64)}}, Direct())),
              ElementsAre(Summary{0, kBlock, 1, true, false}, Summary{kBlock, 6 * kMiB, 1, true, false}));
  ReadPlanOptions fine = Direct();
  fine.memory_alignment = 4;
  EXPECT_THAT(SummaryOf(Plan({{0, 0, At(0, kMiB, 64)}}, fine)), ElementsAre(Summary{0, kMiB, 1, true, true}));
}

TEST(ReadPlan, ThePageCacheAsksForNoAlignment) {
  EXPECT_THAT(SummaryOf(Plan({{0, 1001, At(0, 5 * kMiB, 3)}}, Buffered())),
              ElementsAre(Summary{1001, kBlock, 1, false, true}, Summary{kBlock, 5 * kMiB + 1001, 1, false, true}));
}

TEST(ReadPlan, BlocksInThePageCacheAreTakenFromThere) {
  ReadPlanOptions options = Direct();
  options.cached = [](std::uint64_t offset, std::uint64_t bytes) {
    EXPECT_EQ(bytes, kBlock);
    return offset == kBlock;
  };
  EXPECT_THAT(SummaryOf(Plan({{0, 0, At(0, 12 * kMiB)}}, options)),
              ElementsAre(Summary{0, kBlock, 1, true, true}, Summary{kBlock, 2 * kBlock, 1, false, true},
                          Summary{2 * kBlock, 12 * kMiB, 1, true, true}));
}

TEST(ReadPlan, TouchingRangesAndSmallGapsAreOneReadLargeGapsAreNot) {
  const ReadPlan plan = Plan({{0, 0, At(0, 100)},
                              {0, 100, At(9000, 100)},
                              {0, 100 * kKiB, At(0, 10)},
                              {0, 100 * kKiB + 10 + kGapBytes + 1, At(0, 10)}},
                             Buffered());
  EXPECT_THAT(SummaryOf(plan),
              ElementsAre(Summary{0, 100 * kKiB + 10, 3, false, false},
                          Summary{100 * kKiB + 11 + kGapBytes, 100 * kKiB + 21 + kGapBytes, 1, false, false}));
}

TEST(ReadPlan, AHundredThousandSmallRangesAreOneSequentialRead) {
  for (const ReadPlanOptions& options : {Direct(), Buffered()}) {
    std::vector<ReadRange> ranges;
    for (std::uint64_t i = 0; i < 100'000; ++i) ranges.push_back({0, i * kPageBytes, At(i * 4160, kPageBytes)});
    const ReadPlan plan = Plan(ranges, options);
    EXPECT_EQ(plan.reads.size(), (100'000 * kPageBytes + kBlock - 1) / kBlock);
    std::uint64_t at = 0;
    for (const PlannedRead& read : plan.reads) {
      EXPECT_EQ(read.begin, at);
      at = read.end;
    }
    EXPECT_EQ(at, 100'000 * kPageBytes);
  }
}

TEST(ReadPlan, EmptyRangesAskForNothing) {
  EXPECT_THAT(SummaryOf(Plan({{0, 5, At(5, 0)}, {0, 9'000'000, At(0, 0)}}, Direct())), testing::IsEmpty());
}

// Whatever is asked: each byte of each range is in exactly one piece, at its place; pieces lie in their reads; reads
// are no longer than a block, and direct ones lie at whole pages and go only to memory that is aligned.
TEST(ReadPlan, RandomRangesAreCoveredOnce) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    std::vector<ReadRange> ranges;
    for (std::int64_t i = 0, count = rng.Between(1, 30); i < count; ++i) {
      const auto offset = static_cast<std::uint64_t>(rng.Between(0, 20 << 20));
      const auto bytes = static_cast<std::uint64_t>(rng.OneIn(3) ? rng.Between(0, 9 << 20) : rng.Between(0, 50'000));
      const auto skew = static_cast<std::uint64_t>(rng.OneIn(2) ? 0 : rng.Between(0, 4096));
      ranges.push_back({0, offset, At(offset + static_cast<std::uint64_t>(i) * (std::uint64_t{1} << 30), bytes, skew)});
    }
    std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
    ReadPlanOptions options = rng.OneIn(4) ? Buffered() : Direct();
    const bool some_cached = rng.OneIn(2);
    options.cached = [=](std::uint64_t offset, std::uint64_t) { return some_cached && offset / kBlock % 2 == 1; };
    const ReadPlan plan = Plan(ranges, options);

    std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> covered(ranges.size());
    std::uint32_t pieces = 0;
    for (const PlannedRead& read : plan.reads) {
      ASSERT_LE(read.end - read.begin, kBlock) << "seed " << seed;
      ASSERT_LE(read.wanted_end, read.end);
      pieces += read.pieces;
      ASSERT_TRUE(!read.direct || (read.begin % kPageBytes == 0 && read.end % kPageBytes == 0)) << "seed " << seed;
      for (std::uint32_t i = 0; i < read.pieces; ++i) {
        const ReadPiece& piece = plan.pieces[read.first_piece + i];
        const ReadRange& range = ranges[piece.range];
        ASSERT_TRUE(read.begin <= piece.begin && piece.begin + piece.bytes <= read.wanted_end) << "seed " << seed;
        ASSERT_EQ(piece.into, range.into.data() + (piece.begin - range.offset)) << "seed " << seed;
        covered[piece.range].emplace_back(piece.begin, piece.begin + piece.bytes);
        if (!read.straight) continue;
        ASSERT_TRUE(read.pieces == 1 && piece.begin == read.begin && piece.begin + piece.bytes == read.end);
        ASSERT_TRUE(!read.direct || reinterpret_cast<std::uintptr_t>(piece.into) % 512 == 0) << "seed " << seed;
      }
    }
    ASSERT_EQ(pieces, plan.pieces.size()) << "seed " << seed;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      std::sort(covered[i].begin(), covered[i].end());
      std::uint64_t at = ranges[i].offset;
      for (const auto& part : covered[i]) {
        ASSERT_EQ(part.first, at) << "seed " << seed << ", range " << i;
        at = part.second;
      }
      ASSERT_EQ(at, ranges[i].offset + ranges[i].into.size()) << "seed " << seed << ", range " << i;
    }
  }
}

}  // namespace
}  // namespace glim::checkpoint
