// The cluster's pools by seed: one to three, spread over the same zones, whose links they share. Single-threaded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/core/model/accounts.h"
#include "scheduler/core/model/spec.h"
#include "sdk/base/rng.h"

namespace glim::sim {

class Pools {
 public:
  Pools(std::uint64_t seed, std::uint32_t nodes);

  std::size_t size() const { return names_.size(); }
  // Where the operator put the machine with this number, from 1.
  const std::string& HomeOf(std::uint32_t number) const;
  // Where somebody puts it by mistake: another of the pools, or one of which no job knows.
  std::string Elsewhere(const std::string& home);
  // Gives the job a pool, and not more nodes than that has.
  void Place(core::JobSpec& spec);
  // Quotas on single pools and on all, beside those of the policy.
  std::vector<core::AccountChange> Quotas();

 private:
  Rng rng_;
  std::vector<std::string> names_;    // the first is where most are
  std::vector<std::uint32_t> sizes_;  // beside names_
};

}  // namespace glim::sim
