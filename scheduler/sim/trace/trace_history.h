// A cluster's own history, played: figures by class, and how far they move when other days had come.
//
// The range: whole days are drawn with replacement from the days of the trace and played one after another, as often as
// is asked for (docs/decisions/0044-trace-and-simulate.md says whose method that is). What happens inside a day stays
// together; what is load from before the first day stays where it is. The same seed draws the same days for every
// policy, so that two runs can be compared day by day. Pure but for the runs' own time; the same options give the same
// figures.
#pragma once

#include <cstdint>
#include <vector>

#include <nlohmann/json.hpp>

#include "scheduler/sim/trace/trace_world.h"

namespace glim::sim {

// "all", then each class that a counted job has: jobs, and p50, p99 and the mean of what they waited (JCT - duration).
nlohmann::ordered_json ClassFiguresOf(const TraceOutcome& outcome);

// What `glim admin sched simulate` compares: the classes, interrupts, GPU-hours, shares, the makespan.
nlohmann::ordered_json HistoryFiguresOf(const TraceOutcome& outcome, std::uint32_t nodes);

// The trace of `days` days that were drawn with this seed. `days` is at least 1.
std::vector<TraceJob> DrawDays(const std::vector<TraceJob>& trace, std::uint32_t days, std::uint64_t seed);

}  // namespace glim::sim
