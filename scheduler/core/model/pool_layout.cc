#include "scheduler/core/model/pool_layout.h"

#include <algorithm>
#include <set>
#include <utility>

namespace glim::core {

namespace {

template <typename T>
std::uint32_t IndexIn(std::vector<T>& known, const T& value) {
  const auto found = std::find(known.begin(), known.end(), value);
  const auto index = static_cast<std::uint32_t>(found - known.begin());
  if (found == known.end()) known.push_back(value);
  return index;
}

void CountKind(PoolLayout& pool, const NodeLabels& labels, std::uint32_t folders, std::uint32_t users) {
  const auto kind = std::find_if(pool.kinds.begin(), pool.kinds.end(), [&](const NodeKind& k) {
    if (k.folders != folders || k.users != users) return false;
    NodeLabels other = k.labels;
    other.leaf = labels.leaf;
    return other == labels;
  });
  if (kind != pool.kinds.end()) {
    ++kind->nodes;
  } else {
    pool.kinds.push_back({labels, folders, users, 1});
  }
}

}  // namespace

std::optional<std::size_t> PoolLayout::IndexOf(NodeId id) const {
  if (nodes.empty()) return std::nullopt;
  // Nodes that registered together have numbers in a row.
  const std::size_t guess = id.value - nodes.front().value;
  if (guess < nodes.size() && nodes[guess] == id) return guess;
  const auto at = std::lower_bound(nodes.begin(), nodes.end(), id);
  if (at == nodes.end() || *at != id) return std::nullopt;
  return static_cast<std::size_t>(at - nodes.begin());
}

Layouts MakeLayouts(const std::vector<const Node*>& nodes_by_id) {
  std::map<std::string, std::uint32_t> zones;
  std::map<std::pair<std::string, std::string>, std::uint32_t> leaves;
  for (const Node* node : nodes_by_id) {
    zones.emplace(node->labels.zone, 0);
    leaves.emplace(std::pair(node->labels.zone, node->labels.leaf), 0);
  }
  Layouts layouts;
  for (auto& [name, index] : zones) {
    index = static_cast<std::uint32_t>(layouts.zone_names.size());
    layouts.zone_names.push_back(name);
  }
  std::uint32_t next = 0;
  for (auto& [leaf, index] : leaves) index = next++;
  for (const Node* node : nodes_by_id) {
    PoolLayout& pool = layouts.pools[node->labels.pool];
    pool.nodes.push_back(node->id);
    pool.zones.push_back(zones.find(node->labels.zone)->second);
    pool.leaves.push_back(leaves.find({node->labels.zone, node->labels.leaf})->second);
    pool.folders.push_back(IndexIn(pool.folder_lists, node->allowed_folders));
    pool.users.push_back(IndexIn(pool.user_rules, UserRule{node->only_uid, node->needs_uid}));
    CountKind(pool, node->labels, pool.folders.back(), pool.users.back());
  }
  return layouts;
}

}  // namespace glim::core
