// The numbers that a user is known by on machines, and which of them are no user's own. Plain values.
#pragma once

#include <cstdint>
#include <vector>

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

// Nobody's and root's: no task has them, whatever a policy lists.
constexpr bool IsNeverATasks(std::uint32_t id) { return id == 0 || IsNobodys(id); }

}  // namespace glim::core
