#include "sdk/hfreduce/engine/direct_schedule.h"

#include <bit>

namespace glim::hfreduce {
namespace {

using Receives = DirectStep::Receives;

// Among `count` nodes: those up to 2 x (count - power) pair up, the even one of a pair goes on for both.
class Doubling {
 public:
  explicit Doubling(NodeIndex count) : power_(std::bit_floor(count)), folded_(count - power_) {}

  std::vector<DirectStep> StepsOf(NodeIndex self) const {
    if (self < 2 * folded_ && self % 2 == 1) {
      return {{.peer = self - 1, .sends = true}, {.peer = self - 1, .receives = Receives::kResult}};
    }
    std::vector<DirectStep> steps;
    if (self < 2 * folded_) steps.push_back({.peer = self + 1, .receives = Receives::kPart});
    const NodeIndex place = self < 2 * folded_ ? self / 2 : self - folded_;
    for (NodeIndex bit = 1; bit < power_; bit <<= 1) {
      const NodeIndex other = place ^ bit;
      steps.push_back({.peer = other < folded_ ? 2 * other : other + folded_,
                       .sends = true,
                       .receives = Receives::kPart,
                       .mine_first = place < other,
                       .last = bit << 1 == power_});
    }
    if (self < 2 * folded_) steps.push_back({.peer = self + 1, .sends = true});
    return steps;
  }

 private:
  NodeIndex power_;
  NodeIndex folded_;
};

// Nodes of the zone, its gateway first.
std::vector<NodeIndex> MembersOf(const Topology& topology, std::uint32_t zone) {
  std::vector<NodeIndex> members = {topology.gateways[zone]};
  for (NodeIndex node = 0; node < topology.nodes.size(); ++node) {
    if (topology.nodes[node].zone == zone && node != topology.gateways[zone]) members.push_back(node);
  }
  return members;
}

std::vector<DirectStep> ThroughGateways(const Topology& topology, NodeIndex self) {
  const std::uint32_t zone = topology.nodes[self].zone;
  const std::vector<NodeIndex> members = MembersOf(topology, zone);
  NodeIndex place = 0;
  while (members[place] != self) ++place;
  std::vector<DirectStep> steps;
  std::vector<NodeIndex> below;
  for (NodeIndex bit = 1; bit < members.size() && (place & bit) == 0; bit <<= 1) {
    if (place + bit >= members.size()) continue;
    below.push_back(members[place + bit]);
    steps.push_back({.peer = below.back(), .receives = Receives::kPart});
  }
  if (place == 0) {
    steps.push_back({.peer = topology.gateways[1 - zone],
                     .sends = true,
                     .receives = Receives::kPart,
                     .mine_first = zone == 0,
                     .last = true});
  } else {
    const NodeIndex above = members[place & (place - 1)];
    steps.push_back({.peer = above, .sends = true});
    steps.push_back({.peer = above, .receives = Receives::kResult});
  }
  for (auto node = below.rbegin(); node != below.rend(); ++node) steps.push_back({.peer = *node, .sends = true});
  return steps;
}

}  // namespace

std::vector<DirectStep> MakeDirectSchedule(const Topology& topology, NodeIndex self) {
  if (topology.zones() == 2) return ThroughGateways(topology, self);
  return Doubling(static_cast<NodeIndex>(topology.nodes.size())).StepsOf(self);
}

}  // namespace glim::hfreduce
