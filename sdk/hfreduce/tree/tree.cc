#include "sdk/hfreduce/tree/tree.h"

#include <algorithm>

namespace glim::hfreduce {
namespace {

// In a tree over positions 1..last in which the lowest bit set tells the height: 0 is above all of them.
std::uint32_t ParentPosition(std::uint32_t position, std::uint32_t last) {
  const std::uint32_t low = position & (~position + 1);
  const std::uint32_t higher = (position ^ low) | (low << 1);
  return higher <= last ? higher : position ^ low;
}

// Odd positions are leaves. Tree 1 has the members in another order, in which who was at an even position is at an odd
// one: mirrored if there is an even number of them, else shifted by one.
std::uint32_t Position(std::uint32_t member, std::uint32_t last, int tree) {
  if (tree == 0) return member;
  return last % 2 == 0 ? last + 1 - member : member % last + 1;
}

void ConnectZone(const Topology& topology, std::uint32_t zone, int tree, std::vector<TreePlace>* places) {
  const std::uint32_t gateway = topology.gateways[zone];
  std::vector<std::uint32_t> members;
  for (std::uint32_t node = 0; node < topology.nodes.size(); ++node) {
    if (topology.nodes[node].zone == zone && node != gateway) members.push_back(node);
  }
  const auto last = static_cast<std::uint32_t>(members.size());
  std::vector<std::uint32_t> at(last + 1, gateway);  // node by position
  for (std::uint32_t i = 0; i < last; ++i) at[Position(i + 1, last, tree)] = members[i];
  for (std::uint32_t position = 1; position <= last; ++position) {
    const std::uint32_t parent = at[ParentPosition(position, last)];
    (*places)[at[position]].parent = parent;
    (*places)[parent].children.push_back(at[position]);
  }
}

}  // namespace

std::vector<TreePlace> MakeTree(const Topology& topology, int tree) {
  std::vector<TreePlace> places(topology.nodes.size());
  for (std::uint32_t zone = 0; zone < topology.zones(); ++zone) ConnectZone(topology, zone, tree, &places);
  if (topology.zones() == 2) {
    const std::uint32_t root = topology.gateways[tree == 0 ? 0 : 1];
    const std::uint32_t other = topology.gateways[tree == 0 ? 1 : 0];
    places[other].parent = root;
    places[root].children.push_back(other);
  }
  for (TreePlace& place : places) std::sort(place.children.begin(), place.children.end());
  return places;
}

}  // namespace glim::hfreduce
