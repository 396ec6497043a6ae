#include "scheduler/sim/world/streams.h"

#include <algorithm>

namespace glim::sim {

void Streams::Up(core::NodeId node, TimePoint now) {
  if (!IsUp(node)) times_[node].push_back({now, {}});
}

void Streams::Down(core::NodeId node, TimePoint now) {
  if (IsUp(node)) times_[node].back().second = now;
}

bool Streams::IsUp(core::NodeId node) const {
  const auto known = times_.find(node);
  return known != times_.end() && !known->second.back().second;
}

TimePoint Streams::UpSince(core::NodeId node) const {
  const auto known = times_.find(node);
  return known == times_.end() ? TimePoint{} : known->second.back().first;
}

std::int64_t Streams::Breaks(core::NodeId node, TimePoint since) const {
  const auto known = times_.find(node);
  if (known == times_.end()) return 0;
  return std::count_if(known->second.begin(), known->second.end(),
                       [&](const auto& one) { return one.second && one.second >= since; });
}

Duration Streams::Away(core::NodeId node, TimePoint since, TimePoint now) const {
  Duration there;
  const auto known = times_.find(node);
  if (known == times_.end()) return now - since;
  for (auto one = known->second.rbegin(); one != known->second.rend(); ++one) {
    const TimePoint to = one->second ? one->second : now;
    if (to <= since) break;
    there = there + (to - std::max(one->first, since));
  }
  return now - since - there;
}

}  // namespace glim::sim
