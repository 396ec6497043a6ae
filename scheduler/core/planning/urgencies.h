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
  // GPU-milliseconds that somebody has had lately.
  struct OfTeam {
    std::int64_t gpu_ms = 0;
    std::map<std::string, std::int64_t> users;
  };
  static bool TellsUsersApart(const std::string& name, const OfTeam& team) {
    return !name.empty() && team.users.size() > 1;
  }

  void AddShares();
  Urgency SharesOf(const std::string& team, const std::string& user) const;

  const ClusterState& state_;
  const Policy& policy_;
  const TimePoint now_;
  std::map<std::string, std::int32_t> shares_;                              // by team
  std::map<std::string, std::map<std::string, std::int32_t>> user_shares_;  // by team and user
};

}  // namespace glim::core
