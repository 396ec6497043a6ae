// Whose rights tasks have: what the registry says of a user, and which of the system's ids a policy lets through.
#include "scheduler/core/model/task_user.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/model/accounts.h"
#include "scheduler/core/model/policy.h"

namespace glim::core {
namespace {

using ::testing::HasSubstr;

User With(std::optional<std::uint32_t> uid, std::optional<std::uint32_t> gid, std::vector<std::uint32_t> groups = {}) {
  User kim{"kim"};
  kim.uid = uid;
  kim.gid = gid;
  kim.groups = std::move(groups);
  return kim;
}

Accounts Of(const User& user) {
  Accounts accounts;
  accounts.Change({user});
  return accounts;
}

TEST(TaskUserOf, IsWhatTheRegistrySaysOfTheUser) {
  EXPECT_EQ(TaskUserOf(Of(With(1000, 1001, {44, 2000})), "kim"), (TaskUser{1000, 1001, {44, 2000}}));
  EXPECT_EQ(TaskUserOf(Of(With({}, {})), "kim"), std::nullopt);
  EXPECT_EQ(TaskUserOf(Of(With(1000, {})), "kim"), std::nullopt) << "a row of an earlier version: half is none";
  EXPECT_EQ(TaskUserOf(Of(With(1000, 1000)), "lee"), std::nullopt) << "not registered";
}

TEST(FaultOfTaskUser, IsAnIdOfTheSystemsThatThePolicyDoesNotList) {
  struct Row {
    User user;
    const char* field;  // empty: no fault
    const char* what;
    const char* fix;
  };
  const Row kRows[] = {
      {With(1000, 1000), "", "", ""},
      {With(33, 1000), "", "", ""},
      {With(1000, 44, {109}), "", "", ""},
      {With({}, {}), "", "", ""},
      {With(999, 1000), "uid", "uid 999 of user kim is the system's",
       "or list 999 in the policy's task_users.allow_uids"},
      {With(1000, 33), "gid", "gid 33 of user kim", "task_users.allow_gids"},
      {With(1000, 1000, {1001, 27}), "groups", "group 27 of user kim", "glim admin user set kim --group N,..."},
      {With(0, 1000), "uid", "uid 0 of user kim is root's", "glim admin user set kim --uid N --gid N"},
      {With(1000, 0), "gid", "gid 0 of user kim is root's", "glim admin user set kim --gid N"},
      {With(1000, 1000, {0}), "groups", "group 0 of user kim is root's", "glim admin user set kim --group"},
      {With(65534, 1000), "uid", "is nobody's", "glim admin user set kim"},
      {With(4'294'900'000, 1000), "uid", "stands for root in containers", "glim admin user set kim --uid N --gid N"},
      {With(1000, 1000, {4'294'900'000}), "groups", "group 4294900000 of user kim stands for root in containers",
       "glim admin user set kim --group"},
  };
  Policy policy;
  policy.task_users = {{33, 0}, {44, 109, 0}};  // no policy file lists root's
  for (const Row& row : kRows) {
    const auto fault = FaultOfTaskUser(Of(row.user), policy, "kim");
    EXPECT_EQ(fault ? fault->field : "", row.field) << row.what;
    if (!fault) continue;
    EXPECT_THAT(fault->what, HasSubstr(row.what));
    EXPECT_THAT(fault->fix, HasSubstr(row.fix));
  }
}

TEST(Accounts, CountWhoHasIdsOfTheSystems) {
  Accounts accounts = Of(With(33, 1000));
  EXPECT_EQ(accounts.users_with_system_ids, 1u);
  accounts.Change({With(1000, 1000, {44})});
  EXPECT_EQ(accounts.users_with_system_ids, 1u);
  accounts.Change({With(1000, 1000)});
  EXPECT_EQ(accounts.users_with_system_ids, 0u) << "and so nobody is looked up";
  accounts.Change({With(1000, 0)});
  accounts.Change({With({}, {}), true});
  EXPECT_EQ(accounts.users_with_system_ids, 0u);
}

}  // namespace
}  // namespace glim::core
