// The recipe's step 4: which links between zones are free for one more job. A link is held by the live attempts that
// cross it, or have claimed it, and by what the pass has planned over it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "scheduler/core/model/zone_link.h"

namespace glim::core {

// Who keeps a job from a link.
struct LinkUse {
  std::vector<AttemptId> holders;  // that have it and do not leave it, ascending
  std::uint32_t planned = 0;       // by starts of this pass, and for those that it keeps it for
  std::uint32_t jobs_max = 0;
  bool Free() const { return holders.size() + planned < jobs_max; }
};

class ZoneLinks {
 public:
  // Lent, and outlives it.
  explicit ZoneLinks(const ClusterState& state);

  // With these attempts gone, beside those that are sure to leave. Whoever begins over it waits until they have left
  // (zone_link.h).
  LinkUse UseOf(const std::string& zone_a, const std::string& zone_b, const std::vector<AttemptId>& leaving) const;

  // The pass plans a job over these zones; a job in one zone takes no link.
  void Take(const std::set<std::string>& zones);
  // The pass takes away the nodes of a claimed attempt, which then leaves its link, too.
  void Displace(AttemptId attempt) { displaced_.insert(attempt); }

 private:
  const ClusterState& state_;
  std::set<AttemptId> displaced_;
  std::map<Link, std::set<AttemptId>> used_;
  std::map<Link, std::uint32_t> planned_;
};

}  // namespace glim::core
