#include "scheduler/sim/world/reach.h"

#include <algorithm>
#include <utility>

namespace glim::sim {

using core::NodeId;

namespace {
constexpr Duration kOnItsWay = Seconds(6);
}  // namespace

void Reach::On(NodeId node, TimePoint now) {
  const auto off = off_.extract(node);
  if (!off.empty()) was_off_[node] = {off.mapped(), now};
}

bool Reach::Ask(NodeId prober, const std::vector<NodeId>& targets, TimePoint now) {
  const auto before = asked_.extract(prober);
  for (const NodeId target : targets) {
    TimePoint since = now;
    if (!before.empty()) {
      const auto known = before.mapped().find(target);
      if (known != before.mapped().end()) since = known->second;
    }
    asked_[prober][target] = since;
  }
  return !targets.empty();
}

std::vector<core::ProbeResult> Reach::Results(NodeId prober, TimePoint now) const {
  std::vector<core::ProbeResult> results;
  const auto asked = asked_.find(prober);
  if (asked == asked_.end()) return results;
  for (const auto& [target, asked_at] : asked->second) {
    std::optional<TimePoint> failing;  // since when, of what is so now
    for (const auto& [of, node] : {std::pair(&off_, target), std::pair(&off_, prober), std::pair(&deaf_, prober)}) {
      const auto found = of->find(node);
      if (found != of->end()) failing = failing ? std::min(*failing, found->second) : found->second;
    }
    const Duration unanswered = failing ? std::max(Milliseconds(1), now - std::max(*failing, asked_at)) : Duration{};
    results.push_back({name_of_(target), unanswered});
  }
  return results;
}

Duration Reach::OffFor(NodeId node, TimePoint now) const {
  const auto off = off_.find(node);
  if (off != off_.end()) return now - off->second;
  const auto was = was_off_.find(node);
  const bool lately = was != was_off_.end() && now - was->second.second <= kOnItsWay;
  return lately ? was->second.second - was->second.first : Duration{};
}

}  // namespace glim::sim
