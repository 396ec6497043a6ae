// Nodes that the scheduler does not hear are probed by others: of the same job, of the same leaf, of the same zone. One
// that none of them reaches for kUnreachable, while each of them reaches another one of them, is lost without waiting
// for node_lost_after: its machine is gone, or cut off from all.
//
//   - who is probed holds a job, was heard by this leader, and a report of it is overdue
//   - at least two have to say it, and more than half of those that were asked; one that reaches nobody has no say
//   - nobody is probed where node_lost_after is more than ten minutes: an operator wants silence to be waited for
//   - nothing is judged where many are silent at once (outage_percent), or more than one and a quarter of a leaf; and
//     not for kUnreachable after that: who comes back last from an outage is no death
//
// Any answer counts, also that of a kernel that refuses the connection: an agent that is gone is no node that is gone.
// docs/protocols/probes.md. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/event.h"

namespace glim::core {

inline constexpr std::size_t kProbedMost = 16;  // nodes at once: more that fall silent together are no single deaths
inline constexpr std::size_t kProbersMost = 6;  // of one node

// After so long without a word a node is probed; 0: never.
Duration ProbedAfter(const Policy& policy);
// For so long nobody may have reached it.
Duration UnreachableAfter(const Policy& policy);

// Begins and ends probes, as nodes are heard or not. Sends new orders to those who are asked.
void ReviewProbes(Changes& changes);
// Results of a node that may have been asked. `results` are no more than it can have been asked for.
void SeeProbes(Changes& changes, NodeId prober, const std::vector<ProbeResult>& results);

// Nodes that are lost by what their probes say, at changes.now(); and the names of who says it.
struct Unreachable {
  NodeId node;
  std::string by;
};
std::vector<Unreachable> FindUnreachable(Changes& changes);

// When the node is to be probed if nothing is heard of it; 0: it is probed, or never.
TimePoint ProbeDue(const ClusterState& state, const Policy& policy, NodeId node);

// Whom `prober` is to reach: who is probed, and the others who are asked. In ascending order.
std::vector<NodeId> ProbesOf(const Probing& probing, NodeId prober);

}  // namespace glim::core
