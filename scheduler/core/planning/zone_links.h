// The recipe's step 4: which links between zones are free for one more job. A link is held by the live attempts that
// cross it and by what the pass has planned over it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/policy.h"

namespace glim::core {

class ZoneLinks {
 public:
  // Both are lent and outlive it.
  ZoneLinks(const ClusterState& state, const Policy& policy);

  // With these attempts gone, beside those that leave already.
  bool Free(const std::string& zone_a, const std::string& zone_b, const std::vector<AttemptId>& leaving) const;

  // The pass plans a job over these zones; a job in one zone takes no link.
  void Take(const std::set<std::string>& zones);
  // The pass takes away the nodes of a claimed attempt, which then leaves its link, too.
  void Displace(AttemptId attempt) { displaced_.insert(attempt); }

 private:
  using Link = std::pair<std::string, std::string>;  // by name
  static Link LinkOf(const std::string& a, const std::string& b) { return a < b ? Link(a, b) : Link(b, a); }

  const ClusterState& state_;
  const Policy& policy_;
  std::set<AttemptId> displaced_;
  std::map<Link, std::set<AttemptId>> used_;
  std::map<Link, std::uint32_t> planned_;
};

}  // namespace glim::core
