// glim secret, admin token, node, audit, ca and user: what is asked of the scheduler, and what is shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <pwd.h>

#include "cli/testing/cli_fixture.h"
#include "sdk/base/time.h"

namespace glim::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class IdentityCommandsTest : public CliTest {
 protected:
  FakeIdentity Seen() { return server_.Lock()->identity; }
  glim::v1::AccountUser LastUser() { return server_.Lock()->row_changes.back().changes(0).user(); }
};

TEST_F(IdentityCommandsTest, ASecretIsReadAsItIsAndNeverShown) {
  const GlimResult set = Glim({"secret", "set", "wandb"}, "s3cret\n");
  EXPECT_EQ(set.exit_code, 0) << set.err;
  EXPECT_EQ(set.err, "secret wandb: 7 bytes\n");
  EXPECT_EQ(Seen().secrets_set[0].value(), "s3cret\n");
  EXPECT_THAT(Glim({"secret", "set", "wandb", "-o", "json"}, "other").out, Not(HasSubstr("other")));
  EXPECT_EQ(Glim({"secret", "set", "wandb"}, "").exit_code, 2) << "nothing came";
  {
    const auto state = server_.Lock();
    auto* const row = state->identity.secrets.add_secrets();
    row->set_name("wandb");
    row->set_bytes(7);
  }
  EXPECT_THAT(Glim({"secret", "list"}).out, HasSubstr("wandb       7"));
  EXPECT_EQ(Glim({"secret", "rm", "wandb"}).exit_code, 0);
  EXPECT_THAT(Seen().secrets_removed, ElementsAre("wandb"));
}

TEST_F(IdentityCommandsTest, AnAddressForABrowserIsAllOfTheOutput) {
  server_.Lock()->identity.web_code.set_url("https://head:7604/#code=c0de");
  const GlimResult opened = Glim({"login", "--web"});
  EXPECT_EQ(opened.out, "https://head:7604/#code=c0de\n");
  EXPECT_THAT(opened.err, HasSubstr("counts once"));
  EXPECT_EQ(json::parse(Glim({"login", "--web", "-o", "json"}).out)["url"], "https://head:7604/#code=c0de");
  EXPECT_EQ(Glim({"login", "--web", "--token"}).exit_code, 2);
}

TEST_F(IdentityCommandsTest, AMadeTokenIsAllOfTheOutput) {
  {
    const auto state = server_.Lock();
    state->identity.created.set_token("glim_00112233aabbccdd_x");
    state->identity.created.mutable_row()->set_id("00112233aabbccdd");
    state->identity.created.mutable_row()->set_user("lee");
  }
  const GlimResult made =
      Glim({"admin", "token", "create", "--user", "lee", "--scope", "read", "--ttl", "7d", "--note", "ci"});
  EXPECT_EQ(made.out, "glim_00112233aabbccdd_x\n");
  EXPECT_THAT(made.err, HasSubstr("token 00112233aabbccdd of lee"));
  EXPECT_EQ(Seen().create_requests[0].user() + Seen().create_requests[0].scope(), "leeread");
  EXPECT_EQ(Seen().create_requests[0].ttl_ms(), Hours(7 * 24).ms);
  EXPECT_EQ(Glim({"admin", "token", "create", "--scope", "everything"}).exit_code, 2);
}

TEST_F(IdentityCommandsTest, TokensAreListedAndRevoked) {
  {
    const auto state = server_.Lock();
    auto* const token = state->identity.tokens.add_tokens();
    token->set_id("00112233aabbccdd");
    token->set_user("kim");
    token->set_scope("submit");
    token->set_origin("job");
    token->set_job_id(7);
  }
  EXPECT_THAT(Glim({"admin", "token", "list", "--all"}).out,
              HasSubstr("00112233aabbccdd  kim   submit  job            never      never ends  of job 7"));
  EXPECT_TRUE(Seen().list_requests[0].all());
  const json listed = json::parse(Glim({"admin", "token", "list", "-o", "json"}).out);
  EXPECT_EQ(listed["tokens"][0]["last_used"], nullptr);
  const GlimResult dry = Glim({"admin", "token", "revoke", "--all-of", "kim", "--dry-run"});
  EXPECT_THAT(dry.out, HasSubstr("00112233aabbccdd  kim   submit"));
  EXPECT_THAT(dry.out, HasSubstr("they count no more\n"));
  EXPECT_EQ(Glim({"admin", "token", "revoke", "0011", "--dry-run"}).exit_code, 3);
  EXPECT_EQ(Glim({"admin", "token", "revoke", "00112233aabbccdd"}).exit_code, 2) << "no terminal, and no -y";
  EXPECT_THAT(Seen().revoked, IsEmpty());
  EXPECT_EQ(Glim({"admin", "token", "revoke", "00112233aabbccdd", "-y"}).err, "1 token counts no more\n");
  EXPECT_EQ(Glim({"admin", "token", "revoke", "--all-of", "kim", "-y"}).exit_code, 0);
  EXPECT_EQ(Seen().revoked[1].all_of_user(), "kim");
  EXPECT_EQ(Glim({"admin", "token", "revoke"}).exit_code, 2);
}

TEST_F(IdentityCommandsTest, AnInvitationKeepsItsTokenOutOfTheCommand) {
  {
    const auto state = server_.Lock();
    state->identity.invited.set_token("glim_00112233aabbccdd_y");
    state->identity.invited.set_ca_fingerprint("ab12");
    state->identity.invited.set_listen("head:7601");
  }
  const GlimResult invited =
      Glim({"admin", "node", "invite", "n1", "--pool", "a100", "--zone", "A", "--gpus", "8", "--ttl", "2h", "-y"});
  EXPECT_EQ(invited.exit_code, 0) << invited.err;
  EXPECT_EQ(invited.out,
            "glim-agent enrol --scheduler head:7601 --ca-fingerprint ab12 --name n1 --state-dir /var/lib/glim-agent\n"
            "glim_00112233aabbccdd_y\n");
  EXPECT_EQ(Seen().invitations[0].labels().pool(), "a100");
  EXPECT_EQ(Seen().invitations[0].labels().gpu_count(), 8u);
  EXPECT_EQ(Seen().invitations[0].ttl_ms(), Hours(2).ms);
  const json document = json::parse(Glim({"admin", "node", "invite", "login1", "--login", "-y", "-o", "json"}).out);
  EXPECT_EQ(document["token"], "glim_00112233aabbccdd_y");
  EXPECT_THAT(document["command"].get<std::string>(), Not(HasSubstr("glim_0011")));
  EXPECT_TRUE(Seen().invitations[1].login());
}

TEST_F(IdentityCommandsTest, ANodeIsRevokedAndLabelled) {
  EXPECT_EQ(Glim({"admin", "node", "revoke", "n1", "-y"}).exit_code, 0);
  EXPECT_THAT(Seen().nodes_revoked, ElementsAre("n1"));
  EXPECT_EQ(Glim({"admin", "node", "label", "n1", "--zone", "B", "--address", "10.0.0.7", "-y"}).err,
            "node n1: zone, address in force when its job has left\n");
  EXPECT_THAT(Seen().labels[0].fields(), ElementsAre("zone", "address"));
  EXPECT_EQ(Seen().labels[0].labels().zone() + Seen().labels[0].address(), "B10.0.0.7");
  EXPECT_EQ(Glim({"admin", "node", "label", "n1", "-y"}).exit_code, 2);
}

TEST_F(IdentityCommandsTest, WhatBecomesOfANodeIsSaidInWords) {
  {
    const auto state = server_.Lock();
    auto& node = state->nodes.emplace_back();
    node.set_name("n1");
    node.set_state("quarantined");
    node.set_message("the epilog ended with code 7");
    node.mutable_labels()->set_pool("a100");
    node.mutable_labels()->set_zone("A");
    node.mutable_labels()->set_gpu_count(8);
    auto& busy = state->nodes.emplace_back();
    busy.set_name("n2");
    busy.set_state("ready");
    busy.mutable_holder()->set_job_id(7);
    busy.mutable_labels()->set_zone("A");
    auto& heard = state->nodes.emplace_back();
    heard.set_name("n3");
    heard.set_state("ready");
  }
  struct Line {
    std::vector<std::string> words;
    int exit_code;
    const char* says;
  };
  const std::vector<Line> lines = {
      {{"return", "n1"}, 0, "node n1\n  - quarantined: the epilog ended with code 7\n  + jobs start there again\n"},
      {{"return", "n2"}, 0, "node n2\n  it is ready, and stays so\n"},
      {{"return", "n9"}, 3, "no node n9"},
      {{"remove", "n1"}, 0, "  - pool a100, zone A, 8 GPUs\n  + gone: what it alone has of saves is given up"},
      {{"remove", "n2"}, 6, "node n2 is in use by job 7"},
      {{"remove", "n3"}, 6, "the agent of node n3 is connected"},
      {{"remove", "n3", "--connected"}, 0, "+ it registers anew at once"},
      {{"remove", "n9"}, 0, "no agent of that name has registered"},
      {{"label", "n2", "--zone", "B"},
       0,
       "node n2\n  - zone A\n  + zone B\n  job 7 is there: in force when it has left"},
      {{"invite", "n9", "--zone", "B", "--ttl", "2h"},
       0,
       "  + whoever brings the token within 2 h becomes it, once\n  + zone B\n"},
      {{"invite", "n1"}, 0, "it is there already, quarantined"},
      {{"revoke", "n2"}, 0, "its certificate counts no more, and its agent's connection ends"},
      {{"revoke", "login1"}, 0, "no agent of that name has registered"},
  };
  for (const Line& line : lines) {
    std::vector<std::string> words = {"admin", "node"};
    words.insert(words.end(), line.words.begin(), line.words.end());
    words.emplace_back("--dry-run");
    const GlimResult shown = Glim(words);
    EXPECT_EQ(shown.exit_code, line.exit_code) << shown.err;
    EXPECT_THAT(shown.out + shown.err, HasSubstr(line.says));
  }
  const json document =
      json::parse(Glim({"admin", "node", "label", "n2", "--zone", "B", "--dry-run", "-o", "json"}).out);
  EXPECT_EQ(document["changed"], false);
  EXPECT_EQ(document["fields"], json::array({"zone"}));
  EXPECT_THAT(document["meaning"].get<std::string>(), HasSubstr("+ zone B"));
}

TEST_F(IdentityCommandsTest, TheAuditTrailIsReadPageByPage) {
  for (std::uint64_t seq = 1; seq <= 3; ++seq) {
    const auto state = server_.Lock();
    auto& entry = state->identity.audit.emplace_back();
    entry.set_seq(seq);
    entry.set_user(seq == 3 ? "" : "kim");
    entry.set_token("00112233aabbccdd");
    entry.set_peer("10.0.0.9");
    entry.set_method("/glim.v1.ClientApi/Cancel");
    entry.set_object("job 7");
    entry.set_before("running");
    entry.set_after("cancelling\x1b[2J");
    entry.set_outcome(seq == 3 ? "NOT_YOURS" : "ok");
  }
  const GlimResult all = Glim({"admin", "audit", "--since", "7d", "--user", "kim"});
  EXPECT_THAT(all.out, HasSubstr("  1  kim (00112233aabbccdd) from 10.0.0.9  Cancel job 7: running -> cancelling"));
  EXPECT_THAT(all.out, Not(HasSubstr("\x1b[2J"))) << "what strangers wrote moves no cursor";
  EXPECT_THAT(all.out, HasSubstr("  3  - "));
  ASSERT_EQ(Seen().audit_requests.size(), 3u);
  EXPECT_EQ(Seen().audit_requests[2].after(), 2u);
  EXPECT_EQ(Seen().audit_requests[0].user(), "kim");
  EXPECT_GT(Seen().audit_requests[0].since_ms(), 0);
}

TEST_F(IdentityCommandsTest, ABrokenChainIsAFailure) {
  server_.Lock()->identity.verified.set_entries(12);
  server_.Lock()->identity.verified.set_last_hash("cd34");
  const GlimResult good = Glim({"admin", "audit", "verify"});
  EXPECT_EQ(good.exit_code, 0);
  EXPECT_EQ(good.out, "12 entries, and the chain holds\nlast hash  cd34\n");
  EXPECT_THAT(Seen().audit_requests, IsEmpty());
  server_.Lock()->identity.verified.set_broken_at(9);
  const GlimResult broken = Glim({"admin", "audit", "verify"});
  EXPECT_EQ(broken.exit_code, 1);
  EXPECT_THAT(broken.err, HasSubstr("does not fit at entry 9"));
}

TEST_F(IdentityCommandsTest, TheAuthorityIsChangedInTwoSteps) {
  server_.Lock()->identity.rotated.set_ca_fingerprint("ef56");
  server_.Lock()->identity.rotated.add_not_renewed("n2");
  const GlimResult begun = Glim({"admin", "ca", "rotate"});
  EXPECT_EQ(begun.out, "ef56\n");
  EXPECT_THAT(begun.err, HasSubstr("1 node has not renewed yet: n2"));
  EXPECT_EQ(Glim({"admin", "ca", "rotate", "--finish", "--force"}).exit_code, 0);
  EXPECT_FALSE(Seen().rotations[0].finish());
  EXPECT_TRUE(Seen().rotations[1].finish() && Seen().rotations[1].force());
}

TEST_F(IdentityCommandsTest, WhatIsNotGivenOfAUserStays) {
  {
    const auto state = server_.Lock();
    auto* kim = state->accounts.add_users();
    kim->set_name("kim");
    kim->add_teams("vision");
    kim->set_role("user");
    kim->set_has_uid(true);
    kim->set_uid(1001);
  }
  EXPECT_EQ(Glim({"admin", "user", "set", "kim", "--role", "operator", "--disable", "-y"}).out,
            "~ user kim: role none -> operator, disabled none -> true\n");
  EXPECT_THAT(LastUser().teams(), ElementsAre("vision"));
  EXPECT_EQ(LastUser().uid(), 1001u);
  EXPECT_EQ(
      Glim({"admin", "user", "set", "kim", "--team", "vision,speech", "--admin-of", "speech", "--group", "5,6", "-y"})
          .exit_code,
      0);
  EXPECT_THAT(LastUser().admin_of(), ElementsAre("speech"));
  EXPECT_THAT(LastUser().groups(), ElementsAre(5, 6));
  EXPECT_EQ(Glim({"admin", "user", "add", "oda"}).err,
            "user oda: in no team; without a uid no job of theirs runs on nodes with containers: glim admin user set "
            "oda --uid N --gid N\n");
  EXPECT_EQ(Glim({"admin", "user", "add", "lee", "--uid", "1002"}).err, "user lee: in no team, uid 1002, gid 1002\n");
  EXPECT_EQ(server_.Lock()->account_changes.back().user().gid(), 1002u);
  EXPECT_EQ(Glim({"admin", "user", "add", "www", "--uid", "33", "--group", "44,2000"}).err,
            "user www: in no team, uid 33, gid 33, groups 44, 2000; uid 33, gid 33, group 44 below 1000 are the "
            "system's: jobs of www are refused unless the policy lists them (task_users)\n");
  EXPECT_EQ(Glim({"admin", "user", "set", "kim", "--role", "king"}).exit_code, 2);
  EXPECT_EQ(Glim({"admin", "user", "set", "kim", "--group", "staff"}).exit_code, 2);
}

TEST_F(IdentityCommandsTest, ATeamsPoolsStayUnlessTheyAreGiven) {
  {
    const auto state = server_.Lock();
    auto* team = state->accounts.add_teams();
    team->set_name("vision");
    team->set_weight(200);
    team->add_pools("a100");
  }
  EXPECT_EQ(Glim({"admin", "team", "set", "vision", "--default-pool", "a100", "-y"}).out,
            "~ team vision: default_pool none -> a100\n");
  EXPECT_EQ(server_.Lock()->row_changes.back().changes(0).team().weight(), 200u);
  EXPECT_EQ(Glim({"admin", "team", "set", "vision", "--pools", "", "--weight", "50", "-y"}).exit_code, 0);
  EXPECT_EQ(server_.Lock()->row_changes.back().changes(0).team().pools_size(), 0);
}

TEST_F(IdentityCommandsTest, UsersComeFromAFile) {
  server_.Lock()->accounts.add_users()->set_name("kim");
  server_.Lock()->accounts.mutable_users(0)->set_role("operator");
  Write("users.yaml", "users:\n  kim: {teams: [vision], uid: 1001}\n  lee: {role: viewer, disabled: true}\n");
  EXPECT_EQ(Glim({"admin", "user", "import", "--file", "users.yaml"}).err,
            "2 users, 1 of them new\n1 of them without a uid: no job of theirs runs on nodes with containers until "
            "they have one\n");
  const auto changes = server_.Lock()->account_changes;
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].user().role(), "operator") << "what the file does not say stays";
  EXPECT_EQ(changes[0].user().gid(), 1001u);
  EXPECT_TRUE(changes[1].user().disabled());
  Write("users.yaml", "users:\n  kim: {team: vision}\n");
  EXPECT_THAT(Glim({"admin", "user", "import", "--file", "users.yaml"}).err, HasSubstr("did you mean 'teams'?"));
  EXPECT_EQ(Glim({"admin", "user", "import"}).exit_code, 2);
}

TEST_F(IdentityCommandsTest, SystemAccountsComeOnlyByName) {
  const passwd* const daemon = getpwnam("daemon");
  ASSERT_NE(daemon, nullptr);
  const std::uint32_t uid = daemon->pw_uid;
  EXPECT_EQ(Glim({"admin", "user", "import", "--nss", "daemon"}).exit_code, 0);
  EXPECT_EQ(server_.Lock()->account_changes.back().user().uid(), uid);
  EXPECT_THAT(Glim({"admin", "user", "import", "--nss", "root"}).err, HasSubstr("is root"));
  EXPECT_THAT(Glim({"admin", "user", "import", "--nss", "no-such-one"}).err, HasSubstr("[NO_SUCH_ACCOUNT]"));
  server_.Lock()->account_changes.clear();
  Glim({"admin", "user", "import", "--nss"});
  for (const auto state = server_.Lock(); const auto& change : state->account_changes)
    EXPECT_GE(change.user().uid(), 1000u);
}

}  // namespace
}  // namespace glim::cli
