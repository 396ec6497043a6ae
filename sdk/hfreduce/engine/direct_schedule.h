// The latency path: who exchanges whole values with whom, in which order.
//
// One zone: recursive doubling (Thakur, Rabenseifner, Gropp: "Optimization of collective communication operations in
// MPICH", 2005), the nodes beyond a power of two folded into neighbours first. Two zones: a binomial tree to
// each gateway, an exchange between the gateways, the same trees back, so that one pair alone crosses.
// Partners combine the same two values in the same order (lower node's first): all nodes get the same bits.
#pragma once

#include <cstdint>
#include <vector>

#include "sdk/hfreduce/transport/transport.h"
#include "sdk/hfreduce/tree/topology.h"

namespace glim::hfreduce {

struct DirectStep {
  enum class Receives : std::uint8_t { kNothing, kPart, kResult };

  NodeIndex peer = 0;
  bool sends = false;  // the value so far, before it takes what it receives
  Receives receives = Receives::kNothing;
  bool mine_first = true;  // order in which a part is added
  bool last = false;       // it adds the last part: the value is the result then

  friend bool operator==(const DirectStep&, const DirectStep&) = default;
};

// Steps of node `self`, in order. Two nodes send each other at most one message each. None: the node is alone.
std::vector<DirectStep> MakeDirectSchedule(const Topology& topology, NodeIndex self);

}  // namespace glim::hfreduce
