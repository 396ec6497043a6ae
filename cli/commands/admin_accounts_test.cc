// glim admin user, team and quota against a fake scheduler: what is asked and what is shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/testing/cli_fixture.h"

namespace glim::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

class AdminAccountsTest : public CliTest {
 protected:
  glim::v1::ChangeAccountRequest Last() { return server_.Lock()->account_changes.back(); }
};

TEST_F(AdminAccountsTest, AUserIsGivenTeams) {
  const GlimResult result = Glim({"admin", "user", "add", "kim", "--team", "vision,speech"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("user kim: teams vision, speech"));
  EXPECT_THAT(Last().user().teams(), ElementsAre("vision", "speech"));
  EXPECT_TRUE(Last().only_new());
  EXPECT_EQ(Glim({"admin", "user", "remove", "kim"}).exit_code, 0);
  EXPECT_TRUE(Last().remove());
}

TEST_F(AdminAccountsTest, ATeamHasAWeight) {
  EXPECT_EQ(Glim({"admin", "team", "set", "vision", "--weight", "200"}).exit_code, 0);
  EXPECT_EQ(Last().team().weight(), 200u);
  EXPECT_FALSE(Last().only_new());
  EXPECT_EQ(Glim({"admin", "team", "add", "speech"}).exit_code, 0);
  EXPECT_EQ(Last().team().weight(), 100u);
  EXPECT_EQ(Glim({"admin", "team", "add", "speech", "--weight", "0"}).exit_code, 2);
}

TEST_F(AdminAccountsTest, AQuotaIsSetByClassForAPoolOrAllPools) {
  EXPECT_EQ(Glim({"admin", "quota", "set", "user:kim", "high", "4"}).exit_code, 0);
  EXPECT_EQ(Last().quota().of(), "user");
  EXPECT_EQ(Last().quota().subject(), "kim");
  EXPECT_EQ(Last().quota().pool(), "*");
  EXPECT_EQ(Last().quota().priority(), "high");
  EXPECT_EQ(Last().quota().nodes(), 4u);
  EXPECT_EQ(Glim({"admin", "quota", "set", "team-user:vision", "low", "0", "--pool", "a100"}).exit_code, 0);
  EXPECT_EQ(Last().quota().of(), "team_user");
  EXPECT_EQ(Last().quota().pool(), "a100");
  EXPECT_EQ(Glim({"admin", "quota", "remove", "default-user", "high"}).exit_code, 0);
  EXPECT_EQ(Last().quota().of(), "default_user");
  EXPECT_TRUE(Last().remove());
  const GlimResult bad = Glim({"admin", "quota", "set", "user:kim", "high", "many"});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, HasSubstr("'many' is no number of nodes"));
}

TEST_F(AdminAccountsTest, TheListsAreTablesOrJson) {
  {
    const auto state = server_.Lock();
    auto* kim = state->accounts.add_users();
    kim->set_name("kim");
    kim->add_teams("vision");
    auto* team = state->accounts.add_teams();
    team->set_name("vision");
    team->set_weight(200);
    for (const char* priority : {"normal", "high"}) {
      auto* quota = state->accounts.add_quotas();
      quota->set_of("team_user");
      quota->set_subject("vision");
      quota->set_pool("*");
      quota->set_priority(priority);
      quota->set_nodes(4);
      quota->set_meaning("at most 4 nodes");
    }
  }
  EXPECT_EQ(Glim({"admin", "user", "list"}).out, "USER  ROLE  UID  TEAMS   NOTE\nkim   user    -  vision\n");
  EXPECT_EQ(Glim({"admin", "team", "list"}).out,
            "TEAM    WEIGHT  USERS  POOLS  BY DEFAULT\nvision     200      1  all    -\n");
  EXPECT_EQ(Glim({"admin", "quota", "list"}).out,
            "SUBJECT           POOL  CLASS   NODES  MEANING\n"
            "team-user:vision  *     normal      4  at most 4 nodes\n"
            "team-user:vision  *     high        4\n");
  const json document = json::parse(Glim({"admin", "quota", "list", "-o", "json"}).out);
  EXPECT_EQ(document["quotas"][1]["priority"], "high");
  EXPECT_EQ(document["quotas"][1]["nodes"], 4);
}

TEST_F(AdminAccountsTest, NothingIsSaidWhereThereIsNothing) {
  const GlimResult result = Glim({"admin", "quota", "list"});
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("nobody is limited"));
  EXPECT_EQ(json::parse(Glim({"admin", "team", "list", "-o", "json"}).out)["teams"], json::array());
}

}  // namespace
}  // namespace glim::cli
