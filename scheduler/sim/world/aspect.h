// What a seed decides beside nodes, jobs and faults: each aspect is drawn by an Rng of its own, so that one more draw
// in one of them leaves what the seed means to all the others.
#pragma once

#include <cstdint>

#include "sdk/base/rng.h"

namespace glim::sim {

enum class Aspect : std::uint64_t {
  kPools = 1,
  kTerms,
  kStarts,
  kTroubles,
  kVersions,
  kReloads,
  kCrowd,
  kAccounts,
  kUsers,
  kOperators,
  kLinks,
  kHealth,
  kMeasuring,
  kReach,
  kRanks,
  kOutages,
  kShape,
  kBackups,
  kPromises,
  kShards,
  kPolicyKeys,
  kFirstStarts,
  kBudgets
};

inline Rng RngOf(std::uint64_t seed, Aspect aspect) {
  // Two seeds' numbers must not be each other's, shifted: an Rng's states are a sequence, and its numbers are not.
  return Rng(Rng(seed * 64 + static_cast<std::uint64_t>(aspect)).Next());
}

// What came later is in an eighth of the worlds, so that the others stay what they were: seeds that are known to show
// something go on showing it.
inline bool HasFirstStarts(std::uint64_t seed) { return seed % 8 == 3; }
inline bool HasBudgets(std::uint64_t seed) { return seed % 8 == 7; }
inline bool HasKeysDrawn(std::uint64_t seed) { return seed % 8 == 5; }

}  // namespace glim::sim
