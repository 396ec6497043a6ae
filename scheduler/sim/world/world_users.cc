// Whose rights tasks have: in some worlds users have uids, some machines' agents run one user's jobs alone, and others
// none of a user without a uid. What a machine is told to start it could start.
#include <algorithm>
#include <optional>

#include "scheduler/core/model/node_users.h"
#include "scheduler/core/model/task_user.h"
#include "scheduler/sim/world/world.h"

namespace glim::sim {
namespace {

constexpr std::uint32_t kFirstUid = 1001;
constexpr std::uint32_t kSystemUid = 33;
constexpr std::int64_t kUsers = 3;

}  // namespace

core::User World::UserAtHome(std::int64_t number) const {
  core::User user{"u" + std::to_string(number)};
  if (!uids_) return user;
  user.uid = user.gid = kFirstUid + static_cast<std::uint32_t>(number) - 1;
  if (number == 2) user.groups = {kFirstUid};
  return user;
}

// The machine's for good: an operator chooses the agent's user when it is installed.
void World::DrawRule(core::NodeConnected& hello) {
  if (!uids_) return;
  if (users_rng_.OneIn(6)) hello.only_uid = kFirstUid + static_cast<std::uint32_t>(users_rng_.Between(0, kUsers - 1));
  hello.needs_uid = users_rng_.OneIn(3);
}

void World::RegisterUsers() {
  if (!uids_) return;
  std::vector<core::AccountChange> changes;
  for (std::int64_t number = 1; number <= kUsers; ++number) changes.push_back({UserAtHome(number)});
  Post(core::ChangeAccounts{std::move(changes), "op"});
}

// An operator takes a user's uid away, or gives one that only some policies allow.
void World::ChangeUid(core::User& user) {
  if (!uids_) return;
  switch (users_rng_.Between(0, 3)) {
    case 0:
      user.uid = user.gid = std::nullopt;
      user.groups.clear();
      break;
    case 1: user.uid = kSystemUid + static_cast<std::uint32_t>(user.name.back() - '0'); break;
    default: break;
  }
}

void World::ChangeTaskUsers(core::Policy& policy) {
  if (!uids_) return;
  policy.task_users.allow_uids.clear();
  if (users_rng_.OneIn(2)) policy.task_users.allow_uids = {kSystemUid + 1, kSystemUid + 2};
}

// Nothing but an operator's word makes it start, and all of theirs has been said.
bool World::IsClosedForGood(const core::Job& job, const std::vector<core::Blocker>& blockers) const {
  const auto is_user = [](const core::Blocker& b) { return b.kind == core::BlockerKind::kUser; };
  if (std::none_of(blockers.begin(), blockers.end(), is_user)) return false;
  const auto uid = core::UidOf(state_->accounts(), job.user);
  for (std::int64_t number = 1; number <= kUsers; ++number) {
    const core::User home = UserAtHome(number);
    if (home.name == job.user) return uid == home.uid;
  }
  return !uid;  // of a crowd: nobody registers them
}

void World::SeeLaunch(core::NodeId node, const SentTask& task) {
  const core::NodeConnected& hello = hellos_.at(node);
  const std::optional<std::uint32_t> uid = task.user ? std::optional(task.user->uid) : std::nullopt;
  if (!core::Takes({hello.only_uid, hello.needs_uid}, uid)) {
    Violation("a task on node " + hello.name + ", which may not run its user: " + ToString(task.id.attempt));
  }
  report_.launches_as_users += task.user.has_value();
  report_.launches_on_own += hello.only_uid.has_value();
  const auto known = task_users_.emplace(task.id.attempt, task.user).first;
  if (known->second != task.user) Violation("an attempt whose user changed: " + ToString(task.id.attempt));
}

}  // namespace glim::sim
