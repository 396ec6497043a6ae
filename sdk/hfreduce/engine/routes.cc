#include "sdk/hfreduce/engine/routes.h"

#include <algorithm>
#include <utility>

namespace glim::hfreduce {
namespace {

constexpr Stream kUp[kTrees] = {Stream::kUp0, Stream::kUp1};
constexpr Stream kDown[kTrees] = {Stream::kDown0, Stream::kDown1};

// The neighbour of `self` on the way to `root`.
NodeIndex NextHop(const std::vector<TreePlace>& tree, NodeIndex self, NodeIndex root) {
  for (NodeIndex node = root; tree[node].parent.has_value(); node = *tree[node].parent) {
    if (*tree[node].parent == self) return node;
  }
  return *tree[self].parent;
}

}  // namespace

Routes::Routes(Topology topology, NodeIndex self) : topology_(std::move(topology)), self_(self) {
  for (int tree = 0; tree < kTrees; ++tree) trees_.push_back(MakeTree(topology_, tree));
  direct_ = MakeDirectSchedule(topology_, self);
  for (const auto& tree : trees_) {
    if (tree[self].parent.has_value()) neighbours_.push_back(*tree[self].parent);
    neighbours_.insert(neighbours_.end(), tree[self].children.begin(), tree[self].children.end());
  }
  for (const DirectStep& step : direct_) neighbours_.push_back(step.peer);
  std::sort(neighbours_.begin(), neighbours_.end());
  neighbours_.erase(std::unique(neighbours_.begin(), neighbours_.end()), neighbours_.end());
}

TreeRoute Routes::InTree(int tree, std::optional<NodeIndex> root) const {
  const TreePlace& place = trees_[tree][self_];
  std::vector<TreeEdge> edges;
  for (const NodeIndex child : place.children) {
    edges.push_back({.node = child, .sends = kDown[tree], .receives = kUp[tree]});
  }
  if (place.parent.has_value()) edges.push_back({.node = *place.parent, .sends = kUp[tree], .receives = kDown[tree]});
  std::sort(edges.begin(), edges.end(), [](const TreeEdge& a, const TreeEdge& b) { return a.node < b.node; });
  std::optional<NodeIndex> next = place.parent;
  if (root.has_value()) next = *root == self_ ? std::nullopt : std::optional(NextHop(trees_[tree], self_, *root));
  TreeRoute route;
  for (const TreeEdge& edge : edges) {
    if (edge.node == next) {
      route.toward = edge;
    } else {
      route.away.push_back(edge);
    }
  }
  return route;
}

}  // namespace glim::hfreduce
