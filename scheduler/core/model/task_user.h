// Whose rights a task has, as the registry of users and the policy have it (docs/policy.md, Users of tasks). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "scheduler/core/model/task_ids.h"

namespace glim::core {

struct Accounts;
struct Policy;

// Nothing: the registry has no such user, or no uid of theirs.
std::optional<TaskUser> TaskUserOf(const Accounts& accounts, const std::string& user);

// As above.
std::optional<std::uint32_t> UidOf(const Accounts& accounts, const std::string& user);

// What keeps tasks from having a user's rights.
struct TaskUserFault {
  std::string field;  // uid, gid or groups
  std::string what;   // "uid 33 of user kim is the system's: it is below 1000, and the policy does not list it"
  std::string fix;    // what an operator does
};

// Costs nothing where nobody has an id of the system's.
std::optional<TaskUserFault> FaultOfTaskUser(const Accounts& accounts, const Policy& policy, const std::string& user);

}  // namespace glim::core
