// All pairs of nodes, by turns, and who the slowest partner of each is. Pure.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "nodeagent/validate/reading.h"

namespace glim::validate {

using Pair = std::pair<std::uint32_t, std::uint32_t>;  // the smaller rank first

// Every pair once, in rounds in which no node is twice: the circle method of tournaments (E. Lucas, Recreations
// mathematiques, 1883). With an odd number one node rests in each round.
std::vector<std::vector<Pair>> RoundsOf(std::uint32_t nodes);

// One direction of a pair.
struct PairReading {
  std::uint32_t from = 0, to = 0;
  Reading reading;
};

// Notes on each node's slowest stream that it is that. `names`: by rank.
std::vector<Reading> WithSlowestNoted(std::vector<PairReading> readings, const std::vector<std::string>& names);

}  // namespace glim::validate
