#include "scheduler/core/model/layout.h"

#include <algorithm>

namespace glim::core {

std::uint32_t LinkJobsMax(const Links& links, const std::string& zone_a, const std::string& zone_b) {
  if (links.empty()) return 1;
  const auto it = links.find(LinkOf(zone_a, zone_b));
  if (it == links.end()) return 0;
  return std::min(it->second.jobs_max, it->second.pairs_max);  // each cross-zone allocation takes one pair
}

}  // namespace glim::core
