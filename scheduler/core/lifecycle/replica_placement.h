// Where an attempt's copies go: for each of its nodes a neighbour, whose glim-replica holds copies of that node's
// shards in memory (docs/explanation/checkpoints.md). Chosen once, when the attempt is made: a neighbour that is lost
// later cannot be reached, and nothing is moved.
//
// A neighbour is another node of the same zone that is ready and has a replica service. Of these, in this order:
//   1. one that then holds at most one copy more than its even share of the zone's, by living attempts: memory is what
//      runs out, so what follows does not load all copies of a large gang on the few nodes that it has left;
//   2. a node that is not the attempt's own, which may die together;
//   3. a node on another leaf;
//   4. the one with the fewest copies;
//   5. the first in an order of the job's own, so that the jobs do not all begin with the same node.
//
// Costs a look at each service of the attempt's zones, and for each of its nodes a logarithm of them; nothing where no
// node has one. Reasons: docs/decisions/0016-neighbours.md.
#pragma once

#include <vector>

#include "scheduler/core/model/cluster_state.h"

namespace glim::core {

// Pure. By node rank; no node where none will do; empty if that is so for all. `nodes` are in the state, and the
// attempt is not.
std::vector<NodeId> PlaceReplicas(const ClusterState& state, JobId job, const std::vector<NodeId>& nodes);

}  // namespace glim::core
