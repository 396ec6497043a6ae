// Who may change which account: an operator raises nobody, least of all themselves.
#include "scheduler/server/clients/account_calls.h"

#include <gtest/gtest.h>

namespace glim::server {
namespace {

using core::Role;

class AccountRights : public ::testing::Test {
 protected:
  AccountRights() {
    accounts_.teams["vision"] = {"vision"};
    accounts_.users["kim"] = {"kim", {"vision"}};
    accounts_.users["vera"] = {"vera", {}, Role::kViewer};
    accounts_.users["ora"] = {"ora", {}, Role::kOperator};
    accounts_.users["ada"] = {"ada", {}, Role::kAdmin};
  }
  // The field that is refused; empty: it may be.
  std::string Refused(const std::string& by, core::AccountRow row, bool removed = false) const {
    Caller caller;
    caller.user = by;
    caller.role = accounts_.users.at(by).role;
    const Status status = CheckMayChange(caller, accounts_, {std::move(row), removed});
    EXPECT_EQ(status.reason(), status.ok() ? "" : "ROLE");
    return status.field();
  }
  core::Accounts accounts_;
};

TEST_F(AccountRights, RolesAreAnAdminsAffair) {
  for (const Role role : {Role::kViewer, Role::kOperator, Role::kAdmin}) {
    EXPECT_EQ(Refused("ora", core::User{"kim", {"vision"}, role}), "role") << core::ToString(role);
    EXPECT_EQ(Refused("ada", core::User{"kim", {"vision"}, role}), "");
  }
  EXPECT_EQ(Refused("ora", core::User{"vera", {}, Role::kUser}), "role");
  EXPECT_EQ(Refused("ora", core::User{"new", {}, Role::kOperator}), "role");
  EXPECT_EQ(Refused("ora", core::User{"new", {}, Role::kUser}), "");
  EXPECT_EQ(Refused("ora", core::User{"new", {}, Role::kViewer}), "");
}

TEST_F(AccountRights, AnOperatorChangesUsersButNoOperatorAndNoAdmin) {
  core::User kim = accounts_.users["kim"];
  kim.disabled = true;
  kim.admin_of = {"vision"};
  EXPECT_EQ(Refused("ora", kim), "");
  EXPECT_EQ(Refused("ora", kim, true), "");
  for (const std::string name : {"ora", "ada"}) {
    core::User row = accounts_.users[name];
    EXPECT_EQ(Refused("ora", row, true), "user");
    row.uid = 1'000;  // whoever has that uid on a login host
    EXPECT_EQ(Refused("ora", row), "user");
    row.role = Role::kAdmin;
    EXPECT_EQ(Refused("ora", row), "user");
    EXPECT_EQ(Refused("ada", row), "");
  }
}

TEST_F(AccountRights, TeamsAndQuotasAreAnOperators) {
  EXPECT_EQ(Refused("ora", core::Team{"vision", 5}), "");
  EXPECT_EQ(Refused("ora", core::QuotaRow{{core::QuotaOf::kUser, "ora"}, core::PriorityClass::kHigh, 4}), "");
}

TEST_F(AccountRights, RowsInWordsForTheTrail) {
  core::User kim{"kim", {"vision", "speech"}, Role::kUser, {"vision"}, 1'000, 100, {4, 27}, true};
  EXPECT_EQ(RowInWords(kim),
            "role user; teams vision, speech; admin of vision; uid 1000; gid 100; groups 4, 27; disabled");
  EXPECT_EQ(RowNow(accounts_, kim), "role user; teams vision");
  EXPECT_EQ(ObjectOf(kim), "user kim");
  EXPECT_EQ(RowNow(accounts_, core::User{"new"}), "");
}

TEST_F(AccountRights, OthersSeeNamesAndTeamsAlone) {
  v1::ListAccountsResponse list;
  for (const char* name : {"kim", "ora"}) {
    v1::AccountUser* user = list.add_users();
    user->set_name(name);
    user->set_uid(1'000);
    user->set_role("operator");
  }
  Caller kim;
  kim.user = "kim";
  kim.role = Role::kUser;
  HidePrivateParts(kim, &list);
  EXPECT_EQ(list.users(0).uid(), 1'000U) << "one's own";
  EXPECT_EQ(list.users(1).uid(), 0U);
  EXPECT_EQ(list.users(1).role(), "");
  EXPECT_EQ(list.users(1).name(), "ora");
}

}  // namespace
}  // namespace glim::server
