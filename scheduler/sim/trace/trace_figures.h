// What a traced run was like, in figures. Times in seconds; percentiles by nearest rank.
#pragma once

#include <nlohmann/json.hpp>

#include "scheduler/sim/trace/trace_world.h"

namespace glim::sim {

// The smallest value that at least `share` of all do not exceed; 0 of none. Sorts them.
double Percentile(std::vector<double>& values, double share);

// The keys in the order in which docs/simulator.md explains them. `wall_s`: of the whole run; below 0: what depends on
// the machine (wall_s, pass_us_*) is left out, so that the same seed gives the same bytes.
nlohmann::ordered_json FiguresOf(const TraceOutcome& outcome, std::uint32_t nodes, double wall_s);

// How far the estimates held, by keys estimates_*: of those that were known and whose jobs have started, the shares
// that started within the range, before and after it.
nlohmann::ordered_json CalibrationOf(const std::vector<AskedEstimate>& asked);

}  // namespace glim::sim
