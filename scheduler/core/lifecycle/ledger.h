// The ledger: where every GPU-millisecond went, per node (summed to pools by readers) and per job, in exactly one Use.
//
// A node's time is booked whenever its use changes: `ledger[use] += GPUs x (now - use_since)`. What has been productive
// since the holder's last durable save is at risk; a loss moves it from productive to lost.
#pragma once

#include "scheduler/core/model/cluster_state.h"

namespace glim::core {

// What an attempt uses the nodes for that it holds.
Use UseByHolder(const Attempt& attempt);
// What a node is used for, as its rows say.
Use UseOf(const ClusterState& state, const Node& node);

// Of one node: what its holder's job is to be charged with.
struct Booked {
  Use use = Use::kFree;
  std::int64_t gpu_ms = 0;  // 0: nothing
};

// Books the time since use_since under the present use.
Booked BookUntil(Node& node, TimePoint now);

// A node's row is about to become `next` (old: null for a new node): books up to now, for the old row's holder.
Booked BookNode(const ClusterState& state, TimePoint now, const Node* old, Node& next);

// GPU-milliseconds that the node has been registered for.
std::int64_t RegisteredGpuMs(const Node& node, TimePoint now);

}  // namespace glim::core
