// Whether an attempt's nodes are heard. No clock of the scheduler's runs against a job while one of them is not: what
// falls due is judged by words that are not older, and the time without a word does not count. docs/protocols/clocks.md
// has the clocks. Pure.
#pragma once

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// An agent speaks at least so often.
Duration ReportEvery(const Policy& policy);

// The newest word of the node, or when this leader began to listen.
TimePoint HeardAt(const ClusterState& state, NodeId node);

// Whether what falls due then may be judged: the node, or each of the attempt's, has spoken since, or so lately that no
// report of it is overdue.
bool IsHeardAt(const ClusterState& state, const Policy& policy, NodeId node, TimePoint due);
bool AreHeardAt(const ClusterState& state, const Policy& policy, const Attempt& attempt, TimePoint due);
// When it is to be judged if nobody speaks before; 0: not before somebody speaks.
TimePoint JudgedAt(const ClusterState& state, const Policy& policy, NodeId node, TimePoint due);
TimePoint JudgedAt(const ClusterState& state, const Policy& policy, const Attempt& attempt, TimePoint due);

// Since when the attempt's start counts: since this leader could order it, a copy of its save grew, or its nodes were
// heard.
TimePoint StartSince(const ClusterState& state, const Attempt& attempt);

// The node speaks, `away` after its last word; `anew`: it was silent, or its agent has a new stream. Whoever has it gets
// the time that was not heard, once for all its nodes: an order that was given meanwhile counts from now.
void GiveTimeAway(Changes& changes, NodeId node, Duration away, bool anew);

}  // namespace glim::core
