// Nobody makes a token with more than they have themselves.
#include "scheduler/server/clients/token_rules.h"

#include <gtest/gtest.h>

namespace glim::server {
namespace {

using core::Role;
using core::Scope;
using core::TokenOrigin;

constexpr TimePoint kMadeAt{1'000'000};

class TokenRules : public ::testing::Test {
 protected:
  TokenRules() {
    accounts_.users["kim"] = {"kim", {"vision"}};
    accounts_.users["lee"] = {"lee", {"vision"}};
    accounts_.users["ora"] = {"ora", {}, Role::kOperator};
    accounts_.users["ada"] = {"ada", {}, Role::kAdmin};
  }
  Caller By(const std::string& user, TokenOrigin origin = TokenOrigin::kPersonal) const {
    Caller caller;
    caller.user = user;
    caller.role = RoleInForce(accounts_.users.at(user), origin);
    caller.scope = Scope::kAll;
    caller.origin = origin;
    caller.made_by = user;
    return caller;
  }
  // The row, or why not.
  Result<core::TokenRow> Make(const Caller& caller, const std::string& user = "", const std::string& scope = "",
                              std::int64_t ttl_ms = 0) const {
    v1::CreateTokenRequest request;
    request.set_user(user);
    request.set_scope(scope);
    request.set_ttl_ms(ttl_ms);
    return NewToken(caller, accounts_, request, kMadeAt);
  }
  std::string Refusal(const Caller& caller, const std::string& user = "", const std::string& scope = "",
                      std::int64_t ttl_ms = 0) const {
    return Make(caller, user, scope, ttl_ms).status().reason();
  }
  core::Accounts accounts_;
};

TEST_F(TokenRules, OnesOwnWithoutMore) {
  const auto row = Make(By("kim"));
  ASSERT_TRUE(row.ok()) << row.status().message();
  EXPECT_EQ(row->user, "kim");
  EXPECT_EQ(row->made_by, "kim");
  EXPECT_EQ(row->scope, Scope::kAll);
  EXPECT_EQ(row->origin, TokenOrigin::kPersonal);
  EXPECT_EQ(row->expires_at, kMadeAt + kTokenLife);
}

TEST_F(TokenRules, WhoMakesForWhom) {
  struct Case {
    const char* by;
    const char* user;
    const char* refusal;  // empty: made
  };
  const Case cases[] = {
      {"kim", "lee", "NOT_YOURS"}, {"ora", "kim", ""}, {"ora", "ora", ""},          {"ora", "ada", "ROLE"},
      {"ada", "ora", ""},          {"ada", "ada", ""}, {"kim", "ada", "NOT_YOURS"}, {"ada", "none", "NO_SUCH_USER"}};
  for (const Case& one : cases) EXPECT_EQ(Refusal(By(one.by), one.user), one.refusal) << one.by << " for " << one.user;
}

TEST_F(TokenRules, NoLargerScope) {
  Caller kim = By("kim");
  kim.scope = Scope::kSubmit;
  EXPECT_EQ(Refusal(kim, "", "all"), "SCOPE");
  EXPECT_EQ(Refusal(kim, "", "read"), "");
  EXPECT_EQ(Make(kim)->scope, Scope::kSubmit) << "as large as its maker's where none is asked for";
  EXPECT_EQ(Make(kim, "", "everything").status().field(), "scope");
}

TEST_F(TokenRules, ALoginsTokenMakesNoneThatOutlivesItNorOneThatDoes) {
  for (const TokenOrigin origin : {TokenOrigin::kLogin, TokenOrigin::kOidc}) {
    Caller kim = By("kim", origin);
    kim.expires_at = kMadeAt + Hours(12);
    EXPECT_EQ(Refusal(kim, "", "", Hours(13).ms), "OUTLIVES");
    const auto row = Make(kim);
    ASSERT_TRUE(row.ok());
    EXPECT_EQ(row->expires_at, kim.expires_at);
    EXPECT_EQ(row->origin, origin) << "or the one that it makes could make others that live on";
  }
}

TEST_F(TokenRules, ALoginHostsTokenOfAnOperatorStaysAUsers) {
  const Caller ora = By("ora", TokenOrigin::kLogin);
  EXPECT_EQ(Refusal(ora, "kim"), "NOT_YOURS");
  const auto row = Make(ora);
  ASSERT_TRUE(row.ok());
  EXPECT_EQ(RoleInForce(accounts_, accounts_.users["ora"], *row), Role::kUser);
}

// An operator makes a token for kim, makes another one with that, and waits until kim is an admin.
TEST_F(TokenRules, WhoWasHandedATokenMakesNoneThatWasNot) {
  const auto first = Make(By("ora"), "kim");
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->made_by, "ora");
  Caller as_kim = By("kim");
  as_kim.made_by = first->made_by;
  const auto second = Make(as_kim);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->made_by, "ora");
  accounts_.users["kim"].role = Role::kAdmin;
  EXPECT_EQ(RoleInForce(accounts_, accounts_.users["kim"], *second), Role::kOperator) << "no more than ora's own";
}

// The same by way of a third: kim's token, which ora has made, makes one for lee.
TEST_F(TokenRules, WhatAHandedTokenMakesForAnotherIsNoMoreItsUsers) {
  accounts_.users["kim"].role = Role::kOperator;
  Caller as_kim = By("kim");
  as_kim.made_by = "ora";
  const auto for_lee = Make(as_kim, "lee");
  ASSERT_TRUE(for_lee.ok());
  accounts_.users["kim"].role = accounts_.users["lee"].role = Role::kAdmin;
  EXPECT_EQ(RoleInForce(accounts_, accounts_.users["lee"], *for_lee), Role::kOperator) << "ora's word, not kim's";
}

// And by a token of an issuer's login: what it makes for another has its origin.
TEST_F(TokenRules, WhatASignInMakesForAnotherIsNoMoreThanItsMakers) {
  const auto for_kim = Make(By("ora", TokenOrigin::kOidc), "kim");
  ASSERT_TRUE(for_kim.ok());
  EXPECT_EQ(for_kim->origin, TokenOrigin::kOidc);
  accounts_.users["kim"].role = Role::kAdmin;
  EXPECT_EQ(RoleInForce(accounts_, accounts_.users["kim"], *for_kim), Role::kOperator);
}

// Or it would live on when the host is revoked.
TEST_F(TokenRules, WhatALoginHostsTokenMakesIsTheHosts) {
  Caller kim = By("kim", TokenOrigin::kLogin);
  kim.made_by = core::LoginHostAsMaker("front");
  EXPECT_EQ(Make(kim)->made_by, kim.made_by);
}

TEST_F(TokenRules, NothingForWhoIsDisabledAndNothingWithoutProof) {
  accounts_.users["kim"].disabled = true;
  EXPECT_EQ(Refusal(By("ora"), "kim"), "USER_DISABLED");
  Caller by_name = By("ada");
  by_name.by_name = true;
  EXPECT_EQ(Refusal(by_name), "NO_IDENTITY");
}

TEST_F(TokenRules, TheTrailSaysUntilWhen) {
  const auto row = Make(By("kim"), "", "", Hours(1).ms);
  ASSERT_TRUE(row.ok());
  EXPECT_EQ(InWords(*row), "user kim; scope all; personal; until 1970-01-01T01:16:40.000Z");
}

TEST_F(TokenRules, NumbersInRange) {
  EXPECT_EQ(Make(By("kim"), "", "", -1).status().field(), "ttl_ms");
  EXPECT_EQ(Make(By("kim"), "", "", kTokenLifeMax.ms + 1).status().field(), "ttl_ms");
  v1::CreateTokenRequest request;
  request.set_note(std::string(kTokenNoteMax + 1, 'x'));
  EXPECT_EQ(NewToken(By("kim"), accounts_, request, kMadeAt).status().field(), "note");
}

}  // namespace
}  // namespace glim::server
