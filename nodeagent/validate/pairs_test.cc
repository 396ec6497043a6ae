// All pairs of nodes by turns.
#include "nodeagent/validate/pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace glim::validate {
namespace {

TEST(Rounds, HaveEveryPairOnceAndNoNodeTwiceInOne) {
  for (std::uint32_t nodes = 0; nodes <= 17; ++nodes) {
    std::set<Pair> seen;
    for (const auto& round : RoundsOf(nodes)) {
      std::set<std::uint32_t> busy;
      for (const auto& [a, b] : round) {
        EXPECT_LT(a, b);
        EXPECT_LT(b, nodes);
        EXPECT_TRUE(seen.insert({a, b}).second) << nodes << " nodes: " << a << " and " << b << " meet twice";
        EXPECT_TRUE(busy.insert(a).second && busy.insert(b).second) << nodes << " nodes";
      }
    }
    EXPECT_EQ(seen.size(), std::size_t{nodes} * (nodes > 0 ? nodes - 1 : 0) / 2);
    EXPECT_LE(RoundsOf(nodes).size(), nodes) << "as few rounds as there are partners";
  }
}

PairReading Stream(std::uint32_t from, std::uint32_t to, double value) {
  return {from, to, {.part = "network", .what = "stream", .device = "", .value = value, .wrong = "", .note = ""}};
}

TEST(SlowestPair, IsNotedForEachNode) {
  const auto readings =
      WithSlowestNoted({Stream(0, 1, 100), Stream(1, 0, 90), Stream(0, 2, 10), Stream(1, 2, 95)}, {"a", "b", "c"});
  EXPECT_EQ(readings[0].note, "");
  EXPECT_EQ(readings[1].note, "the slowest of b");
  EXPECT_EQ(readings[2].note, "the slowest of a and of c");
  EXPECT_EQ(readings[3].note, "");
}

}  // namespace
}  // namespace glim::validate
