// Where one node's messages go: computed once for a communicator, shared by its operations.
#pragma once

#include <optional>
#include <vector>

#include "sdk/hfreduce/engine/direct_schedule.h"
#include "sdk/hfreduce/transport/transport.h"
#include "sdk/hfreduce/tree/topology.h"
#include "sdk/hfreduce/tree/tree.h"

namespace glim::hfreduce {

// A neighbour in a tree. A message to the tree's parent goes on an up stream and one to a child on a down stream,
// whatever operation it is of.
struct TreeEdge {
  NodeIndex node = 0;
  Stream sends = Stream::kUp0;
  Stream receives = Stream::kDown0;
};

// A tree seen from a node, hung up at an operation's root.
struct TreeRoute {
  std::optional<TreeEdge> toward;  // the root; none on the root itself
  std::vector<TreeEdge> away;      // lower node first; at most three
};

// Immutable; any thread.
class Routes {
 public:
  // The topology must be one that Check accepts.
  Routes(Topology topology, NodeIndex self);

  const Topology& topology() const { return topology_; }
  NodeIndex self() const { return self_; }
  // Hung up at `root`, or at the tree's own root.
  TreeRoute InTree(int tree, std::optional<NodeIndex> root) const;
  const std::vector<DirectStep>& direct() const { return direct_; }
  // The nodes that any operation may exchange messages with, in order: whom a transport must connect.
  const std::vector<NodeIndex>& neighbours() const { return neighbours_; }

 private:
  Topology topology_;
  NodeIndex self_;
  std::vector<std::vector<TreePlace>> trees_;
  std::vector<DirectStep> direct_;
  std::vector<NodeIndex> neighbours_;
};

}  // namespace glim::hfreduce
