// Whose a job is, and which role a token carries.
#include "scheduler/server/door/caller.h"

#include <gtest/gtest.h>

namespace glim::server {
namespace {

using core::Role;
using core::TokenOrigin;

core::Job JobOf(const std::string& user, const std::string& team, std::uint64_t id = 7, std::uint64_t parent = 0) {
  core::Job job;
  job.id = core::JobId(id);
  job.user = user;
  job.team = team;
  job.parent = core::JobId(parent);
  return job;
}

Caller By(const std::string& user, Role role = Role::kUser) {
  Caller caller;
  caller.user = user;
  caller.role = role;
  return caller;
}

TEST(Caller, AJobIsItsOwnersItsTeamAdminsAndOperators) {
  const core::Job job = JobOf("kim", "vision");
  EXPECT_TRUE(HasRight(By("kim"), job));
  EXPECT_FALSE(HasRight(By("lee"), job));
  EXPECT_FALSE(HasRight(By(""), job));
  EXPECT_FALSE(HasRight(By(""), JobOf("", ""))) << "nobody owns nothing";
  Caller tess = By("tess", Role::kTeamAdmin);
  tess.admin_of = {"speech"};
  EXPECT_FALSE(HasRight(tess, job)) << "an admin of another team";
  EXPECT_FALSE(HasRight(tess, JobOf("kim", "")));
  tess.admin_of = {"speech", "vision"};
  EXPECT_TRUE(HasRight(tess, job));
  EXPECT_FALSE(Owns(tess, job));
  EXPECT_TRUE(HasRight(By("ora", Role::kOperator), job));
  EXPECT_FALSE(Owns(By("ora", Role::kOperator), job));
}

TEST(Caller, AJobsTokenHasThatJobAndThoseItSubmitted) {
  Caller job = By("kim");
  job.origin = TokenOrigin::kJob;
  job.attempt = {core::JobId(7), 1};
  job.admin_of = {"vision"};  // even if it had one
  EXPECT_TRUE(HasRight(job, JobOf("kim", "vision", 7)));
  EXPECT_TRUE(HasRight(job, JobOf("kim", "vision", 8, 7)));
  EXPECT_FALSE(HasRight(job, JobOf("kim", "vision", 8))) << "its owner's other jobs are not its own";
  EXPECT_FALSE(HasRight(job, JobOf("kim", "vision", 9, 8))) << "nor are a child's children";
  EXPECT_FALSE(HasRight(job, JobOf("lee", "vision", 8, 7))) << "a parent's number on another user's job";
  EXPECT_FALSE(HasRight(job, "kim", "vision")) << "nor jobs that are gone";
}

TEST(Caller, ATokenCarriesNoMoreThanItsOrigin) {
  core::User user{"kim", {"vision"}, Role::kAdmin};
  EXPECT_EQ(RoleInForce(user, TokenOrigin::kPersonal), Role::kAdmin);
  EXPECT_EQ(RoleInForce(user, TokenOrigin::kOidc), Role::kAdmin);
  EXPECT_EQ(RoleInForce(user, TokenOrigin::kLogin), Role::kUser) << "a login host's word makes nobody an admin";
  EXPECT_EQ(RoleInForce(user, TokenOrigin::kJob), Role::kUser);
  user.role = Role::kUser;
  user.admin_of = {"vision"};
  EXPECT_EQ(RoleInForce(user, TokenOrigin::kPersonal), Role::kTeamAdmin);
  EXPECT_EQ(RoleInForce(user, TokenOrigin::kLogin), Role::kTeamAdmin);
  EXPECT_EQ(RoleInForce(user, TokenOrigin::kJob), Role::kUser);
  user.role = Role::kViewer;
  EXPECT_EQ(RoleInForce(user, TokenOrigin::kPersonal), Role::kViewer);
}

// Who may make tokens for kim must not be an admin on the day when kim becomes one.
TEST(Caller, ATokenHandedOutByAnotherCarriesNoMoreThanItsMakerHas) {
  core::Accounts accounts;
  accounts.users["kim"] = {"kim", {"vision"}, Role::kAdmin};
  accounts.users["ora"] = {"ora", {}, Role::kOperator};
  const core::User& kim = accounts.users["kim"];
  core::TokenRow token;
  token.user = "kim";
  token.made_by = "kim";
  EXPECT_EQ(RoleInForce(accounts, kim, token), Role::kAdmin);
  token.made_by = "ora";
  EXPECT_EQ(RoleInForce(accounts, kim, token), Role::kOperator);
  accounts.users["ora"].role = Role::kUser;
  EXPECT_EQ(RoleInForce(accounts, kim, token), Role::kUser);
  accounts.users["ora"] = {"ora", {}, Role::kAdmin};
  EXPECT_EQ(RoleInForce(accounts, kim, token), Role::kAdmin);
  accounts.users["ora"].disabled = true;
  EXPECT_EQ(RoleInForce(accounts, kim, token), Role::kUser);
  token.made_by = "gone";
  EXPECT_EQ(RoleInForce(accounts, kim, token), Role::kUser);
  token.origin = TokenOrigin::kFirst;
  EXPECT_EQ(RoleInForce(accounts, kim, token), Role::kAdmin) << "the scheduler's own";
}

}  // namespace
}  // namespace glim::server
