// The numbers that a user is known by on machines, and which of them are no user's own. Plain values.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sdk/base/container_root_id.h"

namespace glim::core {

// Of a user of the registry who has a uid, and so a gid.
struct TaskUser {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups{};  // beside gid
  friend bool operator==(const TaskUser&, const TaskUser&) = default;
};

// Ids below are the system's own: no task has them unless the policy lists them.
inline constexpr std::uint32_t kOwnIdsFrom = 1000;

// What the kernel shows for whoever it cannot name, and -1: such an id is anybody's.
constexpr bool IsNobodys(std::uint32_t id) { return id == 65534 || id == UINT32_MAX; }

// Whose an id is that no user may have: " is nobody's"; empty: it may be a user's.
constexpr std::string_view NoUsersId(std::uint32_t id) {
  if (id == kContainerRootId) return " stands for root in containers";
  return IsNobodys(id) ? " is nobody's" : "";
}

// Those and root's: no task has them, whatever a policy lists.
constexpr bool IsNeverATasks(std::uint32_t id) { return id == 0 || !NoUsersId(id).empty(); }

}  // namespace glim::core
