// Which nodes run jobs of which users. An agent that is not root runs everything as itself: jobs of its own uid's user
// alone. One whose tasks are their users runs no job of a user without a uid. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/core/model/accounts.h"
#include "scheduler/core/model/policy.h"
#include "scheduler/core/model/pool_layout.h"
#include "scheduler/core/model/task_ids.h"
#include "sdk/base/container_root_id.h"

namespace glim::core {

UserRule RuleOf(const Node& node);

// `uid`: of the job's user; nothing: the registry has none.
bool Takes(const UserRule& rule, const std::optional<std::uint32_t>& uid);

// The system's own user, whose jobs measure nodes: known without a row in the registry.
inline constexpr char kClusterUser[] = "glim";
// Theirs where nobody says another: an id that owns nothing and that nobody has, as kContainerRootId.
inline constexpr std::uint32_t kClusterUid = kContainerRootId + 1;

// Whose rights their job has on this node: where it runs jobs of one uid alone, that one's; else what the registry
// gives user glim; else kClusterUid, or nothing where the node takes jobs of users without a uid.
std::optional<TaskUser> ClusterUserOn(const Accounts& accounts, const Policy& policy, const Node& node);

// By PoolLayout::user_rules, which of them take jobs of this user; empty: all do, and nobody was looked up.
std::vector<bool> RulesThatTake(const PoolLayout& pool, const Accounts& accounts, const std::string& user);

// Nodes that are as a job asks and run none of its user's, by their rule (an index of PoolLayout::user_rules).
using ClosedNodes = std::map<std::uint32_t, std::size_t>;

// "5 nodes run only jobs of uid 1000 (kim), 2 nodes run no job of a user without a uid".
std::string ClosedInWords(const PoolLayout& pool, const ClosedNodes& closed, const Accounts& accounts);

// Why none of them is the user's, and who mends it: "user lee has no uid in the registry; an operator gives one: ...".
std::string WhyClosed(const Accounts& accounts, const std::string& user);
// Empty: the user has a uid, and only other nodes help.
std::string OpenerOf(const Accounts& accounts, const std::string& user);

}  // namespace glim::core
