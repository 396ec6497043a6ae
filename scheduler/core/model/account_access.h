// Who may start jobs, and where: a user may be disabled or have ids that no task has, a team may have pools of its own.
// Pure.
#pragma once

#include <optional>
#include <string>

#include "scheduler/core/model/accounts.h"
#include "scheduler/core/model/blocker.h"
#include "scheduler/core/model/policy.h"

namespace glim::core {

enum class Bar : std::uint8_t { kNone, kUserDisabled, kPoolNotAllowed, kTaskUser };

// A user who is not registered, and a team that is none, are barred from nothing. Costs nothing where nobody is barred.
Bar BarOf(const Accounts& accounts, const Policy& policy, const std::string& user, const std::string& team,
          const std::string& pool);

// Of a job that waits; nullopt: nothing bars it.
std::optional<Blocker> BarBlocker(const Accounts& accounts, const Policy& policy, const std::string& user,
                                  const std::string& team, const std::string& pool);

// It has a row, or a user is in it.
bool IsTeam(const Accounts& accounts, const std::string& team);

// The pool of a job that names none: its team's, or "default".
std::string DefaultPool(const Accounts& accounts, const std::string& team);

}  // namespace glim::core
