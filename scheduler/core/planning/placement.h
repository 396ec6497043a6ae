// Where a gang goes. Pure choice among candidates; the planner says who is a candidate.
//
// One leaf if it fits (the one that is left with the least), else one zone with the fewest leaves, else two zones
// joined by a link. Suspect nodes last, those that have the job's save first; ties break by zone, leaf and id. The
// result is in rank order: contiguous by zone, then leaf, then id.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "scheduler/core/model/ids.h"

namespace glim::core {

// What it takes to get the node. Lower is better; a gang preemption prefers nodes in this order.
enum class Tier : std::uint8_t { kFree, kEmptying, kDisplaced, kVictim };

struct Candidate {
  NodeId node;
  std::uint32_t zone = 0;  // index in the pass, ordered like the names
  std::uint32_t leaf = 0;
  std::uint32_t suspect = 0;
  Tier tier = Tier::kFree;
  AttemptId holder;       // victim or displaced attempt
  bool has_save = false;  // of the job that is placed: nothing is copied to it
  bool left_out = false;  // suspect or unreliable: taken only where the others do not do
  bool avoid = false;     // others that are free come first: it is reserved soon, or others are reserved for the job
};

using MayCrossFn = std::function<bool(std::uint32_t zone_a, std::uint32_t zone_b)>;

// Empty if they do not fit. `may_cross` null: one zone only.
std::vector<NodeId> Place(const std::vector<Candidate>& candidates, std::uint32_t nodes, const MayCrossFn& may_cross);

// Takes `nodes` of the candidates, cheapest tier first, and puts them in rank order. The candidates are enough.
std::vector<NodeId> TakeCheapest(std::vector<Candidate> candidates, std::uint32_t nodes);

}  // namespace glim::core
