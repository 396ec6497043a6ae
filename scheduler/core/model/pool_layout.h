// Where the nodes of each pool are, in numbers: zones and leaves by an index that follows the order of their names, so
// that ties break alike in every pass. Labels seldom change; what a pass needs of them is made once.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/core/model/rows.h"

namespace glim::core {

// Whose jobs a node runs (node_users.h).
struct UserRule {
  std::optional<std::uint32_t> only_uid{};
  bool needs_uid = false;
  friend auto operator<=>(const UserRule&, const UserRule&) = default;
};

// Nodes of a pool that no job tells apart, but by their leaf.
struct NodeKind {
  NodeLabels labels;          // of one of them
  std::uint32_t folders = 0;  // index in PoolLayout::folder_lists
  std::uint32_t users = 0;    // index in PoolLayout::user_rules
  std::size_t nodes = 0;
};

struct PoolLayout {
  std::vector<NodeId> nodes;           // ascending
  std::vector<std::uint32_t> zones;    // beside them; an index of Layouts::zone_names
  std::vector<std::uint32_t> leaves;   // no two zones share one
  std::vector<std::uint32_t> folders;  // an index of folder_lists
  std::vector<std::uint32_t> users;    // an index of user_rules

  // What nodes give to jobs (Node::allowed_folders), each list once: few, for operators give many nodes the same.
  std::vector<std::vector<std::string>> folder_lists;
  std::vector<UserRule> user_rules;  // each once: mostly one
  std::vector<NodeKind> kinds;

  // The node's place in these; none of a node that is elsewhere.
  std::optional<std::size_t> IndexOf(NodeId id) const;
};

struct Layouts {
  std::vector<std::string> zone_names;
  std::map<std::string, PoolLayout> pools;
};

Layouts MakeLayouts(const std::vector<const Node*>& nodes_by_id);

}  // namespace glim::core
