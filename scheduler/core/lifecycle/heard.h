// Whether an attempt's nodes are heard. No clock of the scheduler's runs against a job while one of them is not: what
// falls due is judged by words that are not older, and the time without a word does not count. docs/protocols/clocks.md
// has the clocks. Pure.
#pragma once

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// An agent speaks at least so often.
Duration ReportEvery(const Policy& policy);

// A simulated world whose nodes are never lost has no heartbeats either: who has a stream is heard.
bool NeedsNoReports(const Policy& policy);

// Whether the node is ready, or was taken out and has a stream: such a one speaks on.
bool Speaks(const ClusterState& state, NodeId node);

// The newest word of the node, or when this leader began to listen.
TimePoint HeardAt(const ClusterState& state, NodeId node);
// Likewise, but for one whose agent is refused: that has signs of life, and nobody tells it anything.
TimePoint SpokeAt(const ClusterState& state, NodeId node);

// Whether the attempt has the node: one that it has left need not be heard for it.
bool IsThere(const ClusterState& state, const Attempt& attempt, NodeId node);

// Whether what falls due then may be judged: the node, or each that the attempt has, has spoken since, or so lately
// that no report of it is overdue.
bool IsHeardAt(const ClusterState& state, const Policy& policy, NodeId node, TimePoint due);
bool AreHeardAt(const ClusterState& state, const Policy& policy, const Attempt& attempt, TimePoint due);
// When it is to be judged if nobody speaks before; 0: not before somebody speaks.
TimePoint JudgedAt(const ClusterState& state, const Policy& policy, NodeId node, TimePoint due);
TimePoint JudgedAt(const ClusterState& state, const Policy& policy, const Attempt& attempt, TimePoint due);

// Since when the attempt's start counts: since this leader could order it, its image or a copy of its save grew, or its
// nodes were heard.
TimePoint StartSince(const ClusterState& state, const Attempt& attempt);

}  // namespace glim::core
