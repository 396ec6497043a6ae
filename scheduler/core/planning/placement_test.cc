// Where a gang goes: one leaf, else the fewest leaves of one zone, else two zones; suspects last; ties by id.
#include "scheduler/core/planning/placement.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace glim::core {
namespace {

// A leaf as (zone, leaf, its nodes); leaves are numbered across zones, as in a pass.
struct LeafOf {
  std::uint32_t zone;
  std::uint32_t leaf;
  std::vector<std::uint32_t> nodes;
};

std::vector<Candidate> Free(std::initializer_list<LeafOf> leaves) {
  std::vector<Candidate> candidates;
  for (const LeafOf& leaf : leaves) {
    for (const std::uint32_t node : leaf.nodes) {
      Candidate& c = candidates.emplace_back();
      c.node = NodeId(node);
      c.zone = leaf.zone;
      c.leaf = leaf.leaf;
    }
  }
  return candidates;
}

std::vector<Candidate> WithSuspects(std::vector<Candidate> candidates, std::initializer_list<std::uint32_t> suspects) {
  for (Candidate& c : candidates) {
    for (const std::uint32_t node : suspects) c.suspect += c.node == NodeId(node) ? 1 : 0;
  }
  return candidates;
}

std::vector<std::uint32_t> Ids(const std::vector<NodeId>& nodes) {
  std::vector<std::uint32_t> ids;
  for (const NodeId node : nodes) ids.push_back(node.value);
  return ids;
}

struct Row {
  const char* what;
  std::vector<Candidate> candidates;
  std::uint32_t nodes;
  std::vector<std::uint32_t> placed;
};

TEST(Place, InOneZone) {
  const Row kRows[] = {
      {"nothing for nobody", Free({{0, 0, {1, 2}}}), 0, {}},
      {"not enough", Free({{0, 0, {1, 2}}}), 3, {}},
      {"the leaf that is left with the least",
       Free({{0, 0, {1, 2, 3, 4}}, {0, 1, {5, 6}}, {0, 2, {7, 8, 9}}}),
       2,
       {5, 6}},
      {"the first of equals", Free({{0, 0, {1, 2}}, {0, 1, {3, 4}}}), 2, {1, 2}},
      {"the lowest ids of a leaf", Free({{0, 0, {9, 3, 7}}}), 2, {3, 7}},
      {"one leaf even in another zone", Free({{0, 0, {1}}, {0, 1, {2}}, {1, 2, {3, 4}}}), 2, {3, 4}},
      {"the fewest leaves", Free({{0, 0, {1}}, {0, 1, {2, 3}}, {0, 2, {4}}, {0, 3, {5, 6}}}), 4, {2, 3, 5, 6}},
      {"a large leaf and the smallest that holds the rest",
       Free({{0, 0, {1, 2, 3, 4}}, {0, 1, {5, 6, 7}}, {0, 2, {8}}}),
       5,
       {1, 2, 3, 4, 8}},
      {"fewest leaves beats the emptier zone",
       Free({{0, 0, {1}}, {0, 1, {2}}, {0, 2, {3}}, {1, 3, {4, 5}}, {1, 4, {6, 7, 8, 9}}}),
       3,
       {6, 7, 8}},
      {"a zone that is too small is none", Free({{0, 0, {1, 2}}, {1, 1, {3, 4}}}), 3, {}},
  };
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.what);
    EXPECT_EQ(Ids(Place(row.candidates, row.nodes, nullptr)), row.placed);
  }
}

TEST(Place, SuspectsComeLast) {
  const Row kRows[] = {
      {"inside a leaf", WithSuspects(Free({{0, 0, {1, 2, 3}}}), {1}), 2, {2, 3}},
      {"a healthy leaf before the best fit", WithSuspects(Free({{0, 0, {1, 2}}, {0, 1, {3, 4, 5}}}), {2}), 2, {3, 4}},
      {"as few leaves, but healthy",
       WithSuspects(Free({{0, 0, {1, 2}}, {0, 1, {3, 4}}, {0, 2, {5, 6}}}), {1}),
       4,
       {3, 4, 5, 6}},
      {"if nothing else is there", WithSuspects(Free({{0, 0, {1, 2}}}), {1, 2}), 2, {1, 2}},
  };
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.what);
    EXPECT_EQ(Ids(Place(row.candidates, row.nodes, nullptr)), row.placed);
  }
}

TEST(Place, CrossesOnlyIfNoZoneHoldsIt) {
  const auto both = [](std::uint32_t, std::uint32_t) { return true; };
  const Row kRows[] = {
      {"one zone if it fits", Free({{0, 0, {1, 2}}, {1, 1, {3, 4, 5}}}), 3, {3, 4, 5}},
      {"contiguous by zone, all of the larger side", Free({{1, 1, {1, 2, 3}}, {0, 0, {4, 5}}}), 4, {4, 1, 2, 3}},
      {"the tightest pair", Free({{0, 0, {1, 2}}, {1, 1, {3, 4, 5}}, {2, 2, {6, 7}}}), 4, {1, 2, 6, 7}},
      {"never three zones", Free({{0, 0, {1}}, {1, 1, {2}}, {2, 2, {3}}}), 3, {}},
  };
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.what);
    EXPECT_EQ(Ids(Place(row.candidates, row.nodes, both)), row.placed);
  }
}

TEST(Place, CrossesOnlyWhereThereIsALink) {
  const auto candidates = Free({{0, 0, {1, 2}}, {1, 1, {3, 4}}, {2, 2, {5, 6}}});
  const auto only_0_2 = [](std::uint32_t a, std::uint32_t b) { return std::min(a, b) == 0 && std::max(a, b) == 2; };
  EXPECT_EQ(Ids(Place(candidates, 4, only_0_2)), (std::vector<std::uint32_t>{1, 2, 5, 6}));
  EXPECT_TRUE(Place(candidates, 4, [](std::uint32_t, std::uint32_t) { return false; }).empty());
}

TEST(Place, BothSidesOfACrossZoneAllocationGetSomebody) {
  const auto both = [](std::uint32_t, std::uint32_t) { return true; };
  const auto nodes = Place(Free({{0, 0, {1, 2, 3}}, {1, 1, {4, 5, 6}}}), 4, both);
  EXPECT_EQ(Ids(nodes), (std::vector<std::uint32_t>{1, 2, 3, 4}));
}

TEST(TakeCheapest, FreeThenEmptyingThenDisplacedThenVictims) {
  auto candidates = Free({{0, 0, {1, 2, 3, 4, 5}}});
  candidates[0].tier = Tier::kVictim;
  candidates[1].tier = Tier::kDisplaced;
  candidates[2].tier = Tier::kEmptying;
  candidates[4].suspect = 1;
  EXPECT_EQ(Ids(TakeCheapest(candidates, 1)), (std::vector<std::uint32_t>{4}));
  EXPECT_EQ(Ids(TakeCheapest(candidates, 2)), (std::vector<std::uint32_t>{4, 5}));
  EXPECT_EQ(Ids(TakeCheapest(candidates, 3)), (std::vector<std::uint32_t>{3, 4, 5}));
  EXPECT_EQ(Ids(TakeCheapest(candidates, 4)), (std::vector<std::uint32_t>{2, 3, 4, 5}));
}

TEST(TakeCheapest, IsInRankOrder) {
  const auto candidates = Free({{1, 2, {1}}, {0, 1, {2}}, {0, 0, {9}}});
  EXPECT_EQ(Ids(TakeCheapest(candidates, 3)), (std::vector<std::uint32_t>{9, 2, 1}));
}

}  // namespace
}  // namespace glim::core
