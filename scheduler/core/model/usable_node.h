// Whether a job may be given a node, by what the node's row says. Pure.
#pragma once

#include <compare>
#include <set>

#include "scheduler/core/model/rows.h"

namespace glim::core {

// Ready, not cordoned, healthy, without stale tasks or orphans, and it sees the checkpoint root if there is one: it may
// be given to the job that measures it.
bool IsSound(const Node& node);
// Whose attempts run there and are unknown to the store (orphans); a lost node's are none's any more.
std::set<JobId> JobsLeftOn(const Node& node);
// It takes no other job before it was measured and found good.
bool WaitsToBeMeasured(const Node& node);
// It is to be measured, is sound, and has no holder or claim.
bool MayBeMeasured(const Node& node);
// Sound, and it does not wait to be measured: it may be given to a job.
bool IsUsable(const Node& node);
// Left out while other nodes fit: of late a job failed there, or one stood still there and it was not measured yet.
bool IsSuspect(const Node& node, TimePoint now);
// Usable, without holder and claim.
bool IsFree(const Node& node);
// Ready, not cordoned, and with a replica service: may be chosen for others' copies.
bool TakesReplicas(const Node& node);

// Of a node that is to be measured.
struct MeasureKey {
  int less_urgent = 0;  // the need, negated
  TimePoint since;
  NodeId node;
  friend auto operator<=>(const MeasureKey&, const MeasureKey&) = default;
};

}  // namespace glim::core
