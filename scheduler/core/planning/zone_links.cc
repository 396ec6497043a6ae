#include "scheduler/core/planning/zone_links.h"

#include <algorithm>

#include "scheduler/core/model/feasibility.h"

namespace glim::core {

ZoneLinks::ZoneLinks(const ClusterState& state) : state_(state) {
  for (const auto& [pool, attempts] : state.index().live) {
    for (const AttemptId id : attempts) {
      const Attempt& attempt = *state.FindAttempt(id);
      if (Crosses(attempt)) used_[LinkOf(attempt)].insert(id);
    }
  }
}

LinkUse ZoneLinks::UseOf(const std::string& zone_a, const std::string& zone_b,
                         const std::vector<AttemptId>& leaving) const {
  const Link link = LinkOf(zone_a, zone_b);
  LinkUse use;
  use.jobs_max = LinkJobsMax(state_.accounts().links, link.first, link.second);
  if (const auto it = used_.find(link); it != used_.end()) {
    for (const AttemptId id : it->second) {
      const Attempt& attempt = *state_.FindAttempt(id);
      // Victims of other jobs' preemptions are not among them: their agreements may yet be withdrawn.
      const bool displaced = attempt.state == AttemptState::kClaimed && displaced_.contains(id);
      const bool going = LeavesItsLink(attempt) || HasLeftItsLink(state_, attempt) || displaced ||
                         std::find(leaving.begin(), leaving.end(), id) != leaving.end();
      if (!going) use.holders.push_back(id);
    }
  }
  if (const auto planned = planned_.find(link); planned != planned_.end()) use.planned = planned->second;
  return use;
}

void ZoneLinks::Take(const std::set<std::string>& zones) {
  if (zones.size() == 2) ++planned_[LinkOf(*zones.begin(), *zones.rbegin())];
}

}  // namespace glim::core
