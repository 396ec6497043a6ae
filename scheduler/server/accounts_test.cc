// Users, teams and quotas in a real server with a real store: operators change them, submissions keep to them, restarts
// have them; and a policy file's quotas become rows once.
#include <gmock/gmock.h>

#include <fstream>

#include "scheduler/server/testing/fake_agent.h"
#include "scheduler/server/testing/test_server.h"

namespace glim::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AccountsTest : public ServerTest {
 protected:
  grpc::Status Change(const v1::ChangeAccountRequest& request) {
    grpc::ClientContext context;
    SetUser(&context, "op");
    v1::ChangeAccountResponse response;
    return admin_->ChangeAccount(&context, request, &response);
  }
  void MustSetQuota(const std::string& of, const std::string& subject, const std::string& priority,
                    std::uint32_t nodes) {
    v1::ChangeAccountRequest request;
    auto* quota = request.mutable_quota();
    quota->set_of(of);
    quota->set_subject(subject);
    quota->set_priority(priority);
    quota->set_nodes(nodes);
    const grpc::Status status = Change(request);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  void MustSetTeam(const std::string& team, const std::string& user) {
    v1::ChangeAccountRequest of_team;
    of_team.mutable_team()->set_name(team);
    EXPECT_TRUE(Change(of_team).ok());
    v1::ChangeAccountRequest of_user;
    of_user.mutable_user()->set_name(user);
    of_user.mutable_user()->add_teams(team);
    EXPECT_TRUE(Change(of_user).ok());
  }
  v1::ListAccountsResponse Accounts() {
    grpc::ClientContext context;
    SetUser(&context);
    v1::ListAccountsResponse response;
    EXPECT_TRUE(admin_->ListAccounts(&context, {}, &response).ok());
    return response;
  }
  Status Use(const std::string& policy) {
    config_.policy_file = (folder_ / "policy.yaml").string();
    std::ofstream(config_.policy_file) << policy;
    return ReadOwnPolicy(&config_);
  }
};

TEST_F(AccountsTest, ASubmissionKeepsToTheQuotaAndIsToldOfIt) {
  FakeAgent agent(channel_, MakeHello(server_->cluster_id(), "node-1"));
  ASSERT_TRUE(agent.WaitWelcome());
  FakeAgent other(channel_, MakeHello(server_->cluster_id(), "node-2"));
  ASSERT_TRUE(other.WaitWelcome());
  MustSetQuota("default_user", "", "normal", 1);

  v1::SubmitRequest request;
  *request.add_specs() = Spec("above", 1, "high");
  v1::SubmitResponse response;
  const grpc::Status refused = Submit(request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(DetailOf(refused).reason(), "QUOTA_EXCEEDED");
  EXPECT_EQ(DetailOf(refused).field(), "priority");
  EXPECT_THAT(refused.error_message(), HasSubstr("class high is not allowed: the quota of kim gives it 0 nodes"));
  EXPECT_THAT(DetailOf(refused).fix(), HasSubstr("use class normal or lower"));

  MustSubmit(Spec("within"));
  *request.mutable_specs(0) = Spec("beyond");
  const grpc::Status taken = Submit(request, &response);
  ASSERT_TRUE(taken.ok()) << taken.error_message();
  EXPECT_THAT(response.notes(), ElementsAre(HasSubstr("counts as class low")));
  const v1::Job beyond = GetJob(response.job_ids(0));
  EXPECT_EQ(beyond.priority(), "low");
  ASSERT_EQ(beyond.attempts_size(), 1);
  EXPECT_TRUE(beyond.attempts(0).borrowed());
}

TEST_F(AccountsTest, ATeamIsTheUsersFirstOrTheOneThatTheSpecNames) {
  FakeAgent agent(channel_, MakeHello(server_->cluster_id(), "node-1"));
  ASSERT_TRUE(agent.WaitWelcome());
  MustSetTeam("vision", "kim");
  EXPECT_EQ(GetJob(MustSubmit(Spec("mine"))).team(), "vision");
  v1::SubmitRequest request;
  *request.add_specs() = Spec("theirs");
  request.mutable_specs(0)->set_team("speech");
  v1::SubmitResponse response;
  const grpc::Status refused = Submit(request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(DetailOf(refused).field(), "team");
  EXPECT_THAT(refused.error_message(), HasSubstr("user kim is not in team 'speech'"));
  EXPECT_EQ(DetailOf(refused).fix(), "use one of vision");
}

TEST_F(AccountsTest, ARestartHasThem) {
  MustSetTeam("vision", "kim");
  MustSetQuota("team", "vision", "high", 6);
  RestartServer();
  const v1::ListAccountsResponse accounts = Accounts();
  ASSERT_EQ(accounts.quotas_size(), 1);
  EXPECT_EQ(accounts.quotas(0).subject(), "vision");
  EXPECT_EQ(accounts.quotas(0).nodes(), 6u);
  EXPECT_THAT(accounts.quotas(0).meaning(), HasSubstr("at most 6 nodes at high and above"));
  EXPECT_THAT(accounts.users(0).teams(), ElementsAre("vision"));
}

TEST_F(AccountsTest, WhatIsRefusedNamesTheField) {
  v1::ChangeAccountRequest request;
  request.mutable_quota()->set_of("usr");
  grpc::Status status = Change(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(DetailOf(status).field(), "subject");
  MustSetTeam("vision", "kim");
  request.mutable_team()->set_name("vision");
  request.set_only_new(true);
  status = Change(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(DetailOf(status).fix(), "change it with: glim admin team set");
}

// A number for a pool that is not there would bound nobody, in silence.
TEST_F(AccountsTest, AQuotaIsForAPoolThatExists) {
  v1::ChangeAccountRequest request;
  auto* quota = request.mutable_quota();
  quota->set_of("everybody");
  quota->set_pool("a10");
  quota->set_priority("high");
  quota->set_nodes(4);
  EXPECT_THAT(DetailOf(Change(request)).fix(), HasSubstr("there are no pools yet: use '*'"));
  v1::Hello hello = MakeHello(server_->cluster_id(), "node-1");
  hello.mutable_labels()->set_pool("a100");
  FakeAgent agent(channel_, hello);
  ASSERT_TRUE(agent.WaitWelcome());
  const grpc::Status refused = Change(request);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(DetailOf(refused).field(), "pool");
  EXPECT_THAT(refused.error_message(), HasSubstr("'a10'"));
  EXPECT_THAT(DetailOf(refused).fix(), HasSubstr("did you mean 'a100'? the pools are a100; use '*'"));
  EXPECT_EQ(Accounts().quotas_size(), 0);
  quota->set_pool("a100");
  EXPECT_TRUE(Change(request).ok());
  quota->set_pool("*");
  EXPECT_TRUE(Change(request).ok());

  ASSERT_TRUE(Use("pools: [h100]\n").ok());
  RestartServer();
  quota->set_pool("h100");
  EXPECT_TRUE(Change(request).ok()) << "the policy names it: it is to come";
  request.set_remove(true);
  ASSERT_TRUE(Use("{}\n").ok());
  RestartServer();
  EXPECT_TRUE(Change(request).ok()) << "what is there may be removed";
}

TEST_F(AccountsTest, AWrongClassIsRefusedAsTheClassWithAListOfThem) {
  v1::ChangeAccountRequest request;
  auto* quota = request.mutable_quota();
  quota->set_of("everybody");
  for (const char* wrong : {"hihg", "auto", ""}) {
    quota->set_priority(wrong);
    const grpc::Status refused = Change(request);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << wrong;
    EXPECT_EQ(DetailOf(refused).field(), "class") << wrong;
    EXPECT_THAT(DetailOf(refused).fix(), HasSubstr("use one of low, ")) << wrong;
  }
}

TEST_F(AccountsTest, ThePolicysQuotasBecomeRowsOnce) {
  ASSERT_TRUE(Use("quotas: {users: {kim: {high: 4}}}\n").ok());
  RestartServer();
  ASSERT_EQ(Accounts().quotas_size(), 1);
  MustSetQuota("user", "kim", "high", 9);
  RestartServer();
  ASSERT_EQ(Accounts().quotas_size(), 1) << "the same text is accepted";
  EXPECT_EQ(Accounts().quotas(0).nodes(), 9u) << "and what the operator set counts";

  server_.reset();
  ASSERT_TRUE(Use("quotas: {users: {kim: {high: 5}}}\n").ok());
  const auto refused = Server::Start(config_, [](const Status&) {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().field(), "quotas");
  EXPECT_THAT(refused.status().fix(), HasSubstr("glim admin quota set user:kim high 5"));
  ASSERT_TRUE(Use("quantum_min: 5m\n").ok());
  StartServer();
  EXPECT_EQ(Accounts().quotas_size(), 1) << "without the text the rows stay";
}

}  // namespace
}  // namespace glim::server
