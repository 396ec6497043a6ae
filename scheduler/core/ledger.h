// The ledger: where every GPU-millisecond went, per node (summed to pools by readers) and per job, in exactly one Use.
//
// A node's time is booked whenever its use changes: `ledger[use] += GPUs x (now - use_since)`. What has been productive
// since the holder's last durable save is at risk; a loss moves it from productive to lost.
#pragma once

#include "scheduler/core/rows.h"

namespace glim::core {

class Changes;
class ClusterState;

// What an attempt uses the nodes for that it holds.
Use UseByHolder(const Attempt& attempt);
// What a node is used for, as its rows say.
Use UseOf(const ClusterState& state, const Node& node);

// Called by Changes when a node's row is about to become `next` (old: null for a new node): books up to now.
void BookNode(Changes& changes, const Node* old, Node& next);
// Called by Changes after an attempt's row changed: its nodes' use may have.
void BookAttempt(Changes& changes, AttemptId attempt);

// A durable save: nothing of the attempt is at risk any more.
void ClearAtRisk(Changes& changes, const Attempt& attempt);
// The node is about to be released: what its holder has at risk on it, booked up to now.
std::int64_t TakeAtRisk(Changes& changes, NodeId node);
// Moves that much of the node's and the job's productive time to lost.
void LoseGpuMs(Changes& changes, NodeId node, JobId job, std::int64_t gpu_ms);

// GPU-milliseconds that the node has been registered for.
std::int64_t RegisteredGpuMs(const Node& node, TimePoint now);

}  // namespace glim::core
