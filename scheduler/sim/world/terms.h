// Jobs with unusual terms, by seed: graces near the caps of the policy, saves that need them, extensions, limits
// beside; starts that fail by the job's own fault; and ranks that leave, stand still or say what is not so.
// Single-threaded.
#pragma once

#include <cstdint>

#include "scheduler/core/model/policy.h"
#include "scheduler/sim/world/workload.h"
#include "sdk/base/rng.h"

namespace glim::sim {

class Terms {
 public:
  explicit Terms(std::uint64_t seed);
  void Widen(JobScript& script, const core::Policy& policy);

 private:
  void LongGrace(JobScript& script, const core::Policy& policy);
  void Odd(JobScript& script, const core::Policy& policy);

  Rng terms_;
  Rng starts_;
  Rng ranks_;
  Rng shards_;
};

// A reload: lower caps, or those of before; another quantum and starvation bound; links that carry more.
core::Policy Reloaded(const core::Policy& now, const core::Policy& first, Rng& rng);

}  // namespace glim::sim
