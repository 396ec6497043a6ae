// How urgent the jobs of a pass are inside their class: the teams' shares, summed once a pass, and the jobs' scores
// (job_order.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "scheduler/core/planning/job_order.h"

namespace glim::core {

class Urgencies {
 public:
  // State and policy are lent and outlive it.
  Urgencies(const ClusterState& state, const Policy& policy, TimePoint now);

  Urgency OfWaiting(const Shape& shape) const;
  Urgency OfRunning(const Job& job, const Attempt& attempt) const;

 private:
  void AddShares();
  std::int32_t ShareOfTeam(const std::string& team) const;

  const ClusterState& state_;
  const Policy& policy_;
  const TimePoint now_;
  std::map<std::string, std::int32_t> shares_;
};

}  // namespace glim::core
