// Whose memory takes a node's copies: a neighbour of the zone, on another leaf, not of the gang, evenly.
#include "scheduler/core/lifecycle/replica_placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "scheduler/core/testing/specs.h"
#include "sdk/base/rng.h"

namespace glim::core {
namespace {

using testing::AttemptRow;
using testing::JobRow;
using testing::Labels;
using testing::NodeRow;

constexpr JobId kJob{1000};

struct NodeOf {
  std::uint32_t id;
  const char* zone;
  const char* leaf;
  bool service = true;
  NodeState state = NodeState::kReady;
};

void AddNode(ClusterState& state, const NodeOf& node) {
  Node row = NodeRow(node.id, Labels(node.zone, node.leaf));
  row.state = node.state;
  if (node.service) row.replica = row.name + ":7010";
  state.Put(std::move(row));
}

// An attempt of another job, whose copies these nodes hold.
void AddCopies(ClusterState& state, std::uint64_t job, AttemptState life, const std::vector<std::uint32_t>& held_by) {
  state.Put(JobRow(job));
  Attempt row = AttemptRow({JobId(job), 1}, life, std::vector<NodeId>(held_by.size(), NodeId(9999)));
  for (const std::uint32_t id : held_by) row.replicas.push_back(NodeId(id));
  state.Put(std::move(row));
}

std::vector<NodeId> Nodes(const std::vector<std::uint32_t>& ids) {
  std::vector<NodeId> nodes;
  for (const std::uint32_t id : ids) nodes.push_back(NodeId(id));
  return nodes;
}

struct Row {
  const char* what;
  std::vector<NodeOf> nodes;
  std::vector<std::uint32_t> held;  // by others
  std::vector<std::uint32_t> attempt;
  std::vector<std::uint32_t> replicas;  // 0: none
};

TEST(PlaceReplicas, ByTheRules) {
  const bool kNoService = false;
  const Row kRows[] = {
      {"another leaf", {{1, "a", "x"}, {2, "a", "x"}, {3, "a", "y"}}, {}, {1}, {3}},
      {"the same leaf where there is no other", {{1, "a", "x"}, {2, "a", "x"}}, {}, {1}, {2}},
      {"never another zone", {{1, "a", "x"}, {2, "b", "y"}}, {}, {1}, {}},
      {"a cross-zone allocation has neighbours in each zone",
       {{1, "a", "x"}, {2, "b", "x"}, {3, "a", "x"}, {4, "b", "x"}},
       {},
       {1, 2},
       {3, 4}},
      {"one zone without a service", {{1, "a", "x"}, {2, "b", "x", kNoService}, {3, "a", "x"}}, {}, {1, 2}, {3, 0}},
      {"not the gang's own, though it is on another leaf",
       {{1, "a", "x"}, {2, "a", "y"}, {3, "a", "x"}},
       {},
       {1, 2},
       {3, 3}},
      {"the gang's own as the last choice", {{1, "a", "x"}, {2, "a", "y"}}, {}, {1, 2}, {2, 1}},
      {"of these too, another leaf",
       {{1, "a", "x"}, {2, "a", "x", kNoService}, {3, "a", "y"}},
       {},
       {1, 2, 3},
       {3, 3, 1}},
      {"never the node itself", {{1, "a", "x"}, {2, "a", "x", kNoService}}, {}, {1}, {}},
      {"the one with the fewest copies",
       {{1, "a", "x"}, {2, "a", "y"}, {3, "a", "y"}, {4, "a", "y"}},
       {2, 4, 4},
       {1},
       {3}},
      {"the same leaf before one that is beyond its share",
       {{1, "a", "x"}, {2, "a", "x"}, {3, "a", "y"}},
       {3, 3},
       {1},
       {2}},
      {"whoever there is, however many copies it holds", {{1, "a", "x"}, {3, "a", "y"}}, {3, 3, 3}, {1}, {3}},
      {"none that is silent, lost or quarantined",
       {{1, "a", "x"},
        {2, "a", "y", true, NodeState::kSilent},
        {3, "a", "y", true, NodeState::kLost},
        {4, "a", "y", true, NodeState::kQuarantined},
        {5, "a", "x"}},
       {},
       {1},
       {5}},
      {"none without a service", {{1, "a", "x"}, {2, "a", "y", kNoService}, {3, "a", "x"}}, {}, {1}, {3}},
      {"nobody has a service", {{1, "a", "x", kNoService}, {2, "a", "y", kNoService}}, {}, {1}, {}},
  };
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.what);
    ClusterState state;
    for (const NodeOf& node : row.nodes) AddNode(state, node);
    AddCopies(state, 1, AttemptState::kRunning, row.held);
    EXPECT_EQ(PlaceReplicas(state, kJob, Nodes(row.attempt)), Nodes(row.replicas));
  }
}

TEST(PlaceReplicas, CopiesOfAttemptsThatHaveEndedDoNotCount) {
  ClusterState state;
  for (const NodeOf& node : {NodeOf{1, "a", "x"}, NodeOf{2, "a", "y"}, NodeOf{3, "a", "y"}}) AddNode(state, node);
  AddCopies(state, 1, AttemptState::kEnded, {2, 2, 2});
  AddCopies(state, 2, AttemptState::kClaimed, {3});
  EXPECT_EQ(PlaceReplicas(state, kJob, Nodes({1})), Nodes({2}));
}

TEST(PlaceReplicas, ALargeGangDoesNotLoadTheFewNodesThatItHasLeft) {
  ClusterState state;
  std::vector<std::uint32_t> gang;
  for (std::uint32_t id = 1; id <= 32; ++id) AddNode(state, {id, "a", "x"});
  for (std::uint32_t id = 1; id <= 30; ++id) gang.push_back(id);
  std::map<NodeId, int> copies;
  for (const NodeId neighbour : PlaceReplicas(state, kJob, Nodes(gang))) ++copies[neighbour];
  EXPECT_EQ(copies[NodeId(31)], 2);
  EXPECT_EQ(copies[NodeId(32)], 2);
  for (const std::uint32_t id : gang) EXPECT_LE(copies[NodeId(id)], 1) << "node " << id;
}

TEST(PlaceReplicas, TheJobsBeginWithDifferentNodes) {
  ClusterState state;
  AddNode(state, {1, "a", "x"});
  for (std::uint32_t id = 2; id <= 65; ++id) AddNode(state, {id, "a", "y"});
  std::set<NodeId> first;
  for (std::uint64_t job = 1; job <= 64; ++job) {
    const std::vector<NodeId> replicas = PlaceReplicas(state, JobId(job), Nodes({1}));
    EXPECT_EQ(replicas, PlaceReplicas(state, JobId(job), Nodes({1})));
    first.insert(replicas.at(0));
  }
  EXPECT_GE(first.size(), 32u);
}

// The rules said once more, for one node after another over all nodes.
class Oracle {
 public:
  Oracle(const ClusterState& state, const std::vector<NodeId>& gang) : state_(state), gang_(gang) {
    state.tables().attempts.ForEach([&](const AttemptId&, const Attempt& row) {
      if (row.state == AttemptState::kEnded) return;
      for (const NodeId id : row.replicas) ++copies_[id];
    });
    state.tables().nodes.ForEach([&](NodeId id, const Node& row) {
      auto& [copies, services] = zones_[row.labels.zone];
      if (row.state == NodeState::kReady && !row.replica.empty()) {
        copies += copies_[id];
        ++services;
      }
      copies += Own(id) ? 1 : 0;
    });
  }

  // No other neighbour is better for `id`, and it has none only if there is none. Equal keys are equally good.
  void ExpectBest(NodeId id, NodeId chosen) {
    const Node& node = *state_.FindNode(id);
    std::optional<Key> best;
    state_.tables().nodes.ForEach([&](NodeId, const Node& other) {
      if (MayTake(node, other) && (!best || KeyOf(node, other) < *best)) best = KeyOf(node, other);
    });
    ASSERT_EQ(static_cast<bool>(chosen), best.has_value());
    if (!chosen) return;
    const Node& neighbour = *state_.FindNode(chosen);
    ASSERT_TRUE(MayTake(node, neighbour)) << node.name << " with " << neighbour.name;
    EXPECT_EQ(KeyOf(node, neighbour), *best) << node.name << " with " << neighbour.name;
    ++copies_[chosen];
  }

 private:
  using Key = std::tuple<bool, bool, bool, std::uint32_t>;

  bool Own(NodeId id) const { return std::find(gang_.begin(), gang_.end(), id) != gang_.end(); }
  static bool MayTake(const Node& node, const Node& other) {
    return other.id != node.id && other.labels.zone == node.labels.zone && other.state == NodeState::kReady &&
           !other.replica.empty();
  }
  Key KeyOf(const Node& node, const Node& other) {
    const auto& [copies, services] = zones_[other.labels.zone];
    const std::uint32_t held = copies_[other.id];
    const bool too_many = held > 0 && (held - 1) * services >= copies;  // held - 1 >= share, before rounding up
    return {too_many, Own(other.id), other.labels.leaf == node.labels.leaf, held};
  }

  const ClusterState& state_;
  const std::vector<NodeId>& gang_;
  std::map<NodeId, std::uint32_t> copies_;
  std::map<std::string, std::pair<std::uint32_t, std::uint32_t>> zones_;
};

TEST(PlaceReplicas, EachChoiceIsTheBestThereIs) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    ClusterState state;
    std::vector<NodeId> gang;
    const auto nodes = static_cast<std::uint32_t>(rng.Between(1, 40));
    const std::int64_t leaves = rng.Between(1, 5);
    for (std::uint32_t id = 1; id <= nodes; ++id) {
      const std::string zone = "z" + std::to_string(rng.Between(1, 2));
      Node row = NodeRow(id, Labels(zone, "l" + std::to_string(rng.Between(1, leaves))));
      if (!rng.OneIn(4)) row.replica = "r:1";
      if (rng.OneIn(8)) row.state = static_cast<NodeState>(rng.Between(0, 3));
      if (gang.empty() || rng.OneIn(3)) gang.push_back(row.id);
      state.Put(std::move(row));
    }
    for (std::uint64_t job = 1; job <= 6; ++job) {
      std::vector<std::uint32_t> held(static_cast<std::size_t>(rng.Between(0, 8)));
      for (std::uint32_t& id : held) id = static_cast<std::uint32_t>(rng.Between(0, nodes));
      AddCopies(state, job, static_cast<AttemptState>(rng.Between(0, 4)), held);
    }
    std::vector<NodeId> replicas = PlaceReplicas(state, kJob, gang);
    replicas.resize(gang.size());  // empty: none for any
    Oracle oracle(state, gang);
    for (std::size_t rank = 0; rank < gang.size(); ++rank) oracle.ExpectBest(gang[rank], replicas[rank]);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace glim::core
