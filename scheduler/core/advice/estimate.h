// When will a queued job start? A range, or nothing: never a single number.
//
// Nodes come free as the running jobs end, by what is known of jobs like them (service_history.h) and their time
// limits, and as those that must give way to this job may be interrupted; the jobs before it take theirs first.
//
//   earliest   everybody ends as fast as the fastest tenth; jobs before it that want more nodes are passed
//   latest     everybody takes as long as the slowest tenth, nobody is passed; and never beyond the promised bound
//
// Nodes are counted, not placed: zones and leaves are left out. Pure; integers alone.
#pragma once

#include <string>

#include "scheduler/core/planning/queue_ahead.h"

namespace glim::core {

inline constexpr std::size_t kAheadSimulatedMax = 2'000;
inline constexpr std::uint32_t kEndsKnownMin = 10;  // with fewer ended jobs nothing is known of how long jobs take

struct Estimate {
  TimePoint earliest;   // 0: unknown
  TimePoint latest;     // 0: unknown
  std::string unknown;  // why; empty where both are known
};

// Whether the nodes that take jobs would be enough, were they all free. While they are not nothing is promised.
bool HasNodes(Pass& pass, const Job& job);
// Whether they are without those that reservations keep from the job now.
bool HasUnreservedNodes(Pass& pass, const Job& job);

// Whether it must cross two zones, over a link that jobs of another pool may hold for as long as they like.
bool NeedsLinkOfOtherPools(Pass& pass, const Job& job);

// `promised_by`: the end of the promised wait; 0: none is promised. `ahead` has the first kAheadSimulatedMax.
Estimate EstimateStart(Pass& pass, const Job& job, const Ahead& ahead, TimePoint promised_by);

}  // namespace glim::core
