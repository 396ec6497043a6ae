// glim admin user, team and quota against a fake scheduler: what is asked and what is shown.
#include <algorithm>

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
  glim::v1::RowChange LastRow() { return server_.Lock()->row_changes.back().changes(0); }
  // How often rows were really changed.
  std::size_t Done() {
    const auto state = server_.Lock();
    const auto done = [](const glim::v1::ChangeRowsRequest& request) { return !request.dry_run(); };
    const auto& asked = state->row_changes;
    return static_cast<std::size_t>(std::count_if(asked.begin(), asked.end(), done)) + state->account_changes.size();
  }
};

TEST_F(AdminAccountsTest, AUserIsGivenTeams) {
  const GlimResult result = Glim({"admin", "user", "add", "kim", "--team", "vision,speech"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("user kim: teams vision, speech"));
  EXPECT_THAT(Last().user().teams(), ElementsAre("vision", "speech"));
  EXPECT_TRUE(Last().only_new());
  const GlimResult gone = Glim({"admin", "user", "remove", "kim", "-y"});
  EXPECT_EQ(gone.exit_code, 0) << gone.err;
  EXPECT_THAT(gone.out, HasSubstr("their tokens count no more; quotas of theirs stay"));
  EXPECT_TRUE(LastRow().remove());
}

TEST_F(AdminAccountsTest, ATeamHasAWeight) {
  EXPECT_EQ(Glim({"admin", "team", "set", "vision", "--weight", "200", "-y"}).out, "+ team vision: weight 200\n");
  EXPECT_EQ(LastRow().team().weight(), 200u);
  EXPECT_EQ(Glim({"admin", "team", "add", "speech"}).exit_code, 0);
  EXPECT_EQ(Last().team().weight(), 100u);
  EXPECT_EQ(Glim({"admin", "team", "add", "speech", "--weight", "0"}).exit_code, 2);
}

TEST_F(AdminAccountsTest, AQuotaIsSetByClassForAPoolOrAllPools) {
  EXPECT_EQ(Glim({"admin", "quota", "set", "user:kim", "high", "4", "-y"}).exit_code, 0);
  EXPECT_EQ(LastRow().quota().of(), "user");
  EXPECT_EQ(LastRow().quota().subject(), "kim");
  EXPECT_EQ(LastRow().quota().pool(), "*");
  EXPECT_EQ(LastRow().quota().priority(), "high");
  EXPECT_EQ(LastRow().quota().nodes(), 4u);
  const GlimResult none = Glim({"admin", "quota", "set", "team-user:vision", "0", "0", "--pool", "a100", "-y"});
  EXPECT_EQ(none.out, "+ quota team-user:vision low in a100: nodes 0\n0 nodes: not allowed\n");
  EXPECT_EQ(LastRow().quota().of(), "team_user");
  EXPECT_EQ(LastRow().quota().pool(), "a100");
  EXPECT_EQ(LastRow().quota().priority(), "low") << "a class goes by its number, too";
  EXPECT_EQ(Glim({"admin", "quota", "remove", "default-user", "high", "-y"}).exit_code, 0);
  EXPECT_EQ(LastRow().quota().of(), "default_user");
  EXPECT_TRUE(LastRow().remove());
  const GlimResult bad = Glim({"admin", "quota", "set", "user:kim", "high", "many"});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, HasSubstr("'many' is no number of nodes"));
  EXPECT_THAT(Glim({"admin", "quota", "set", "user:kim", "hihg", "4", "-y"}).err, HasSubstr("'hihg' is no class"));
}

TEST_F(AdminAccountsTest, OneRowIsShownAndAskedAboutBeforeItChanges) {
  {
    const auto state = server_.Lock();
    auto* lee = state->accounts.add_users();
    lee->set_name("lee");
    lee->set_role("user");
    auto* team = state->accounts.add_teams();
    team->set_name("vision");
    team->set_weight(100);
    auto* quota = state->accounts.add_quotas();
    quota->set_of("user");
    quota->set_subject("kim");
    quota->set_pool("*");
    quota->set_priority("high");
    quota->set_nodes(4);
  }
  const std::vector<std::pair<std::vector<std::string>, std::string>> lines = {
      {{"team", "set", "vision", "--weight", "200"}, "~ team vision: weight 100 -> 200\n"},
      {{"team", "rm", "vision"}, "- team vision\n"},
      {{"quota", "set", "user:kim", "30", "16"}, "~ quota user:kim high: nodes 4 -> 16\n"},
      {{"quota", "rm", "user:kim", "high"}, "- quota user:kim high\n"},
      {{"user", "set", "lee", "--uid", "1005", "--gid", "1006", "--group", "2001,2002"},
       "~ user lee: uid none -> 1005, gid none -> 1006, groups none -> [2001, 2002]\n"},
      {{"user", "rm", "lee"}, "- user lee\ntheir tokens count no more; quotas of theirs stay\n"},
  };
  for (const auto& [words, difference] : lines) {
    std::vector<std::string> line = {"admin"};
    line.insert(line.end(), words.begin(), words.end());
    EXPECT_EQ(Glim(line).exit_code, 2) << words[0] << ": no terminal, and no -y";
    line.emplace_back("--dry-run");
    const GlimResult dry = Glim(line);
    EXPECT_EQ(dry.exit_code, 0) << dry.err;
    EXPECT_EQ(dry.out, difference);
    EXPECT_EQ(dry.err, "nothing was changed\n");
    EXPECT_EQ(Done(), 0u) << words[0] << " " << words[1];
  }
  for (const auto& [words, difference] : lines) {
    const std::size_t before = Done();
    std::vector<std::string> line = {"admin"};
    line.insert(line.end(), words.begin(), words.end());
    line.insert(line.end(), {"-y", "-o", "json"});
    const json document = json::parse(Glim(line).out);
    EXPECT_EQ(document["changed"], true);
    EXPECT_EQ(document["rows"].size(), 1u);
    EXPECT_EQ(Done(), before + 1);
  }
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
