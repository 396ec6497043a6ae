// Reading the policy again while the server runs: what changes, what is refused, what a restart finds.
#include <gmock/gmock.h>

#include <fstream>

#include "glim/v1/layout_api.grpc.pb.h"
#include "scheduler/server/loop/policy_keeper.h"
#include "scheduler/server/testing/fake_agent.h"
#include "scheduler/server/testing/test_server.h"
#include "scheduler/server/testing/token_server.h"
#include "scheduler/store/memory/memory_store.h"

namespace glim::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class PolicyReloadTest : public ServerTest {
 protected:
  void WritePolicy(const std::string& text) { std::ofstream(Path()) << text; }
  std::string Path() const { return (folder_ / "policy.yaml").string(); }
  void Use(const std::string& text) {
    WritePolicy(text);
    config_.policy_file = Path();
    const Status read = ReadOwnPolicy(&config_);
    ASSERT_TRUE(read.ok()) << read.message();
    RestartServer();
  }
  grpc::Status Reload(v1::ReloadPolicyResponse* response, bool dry_run = false) {
    grpc::ClientContext context;
    SetUser(&context);
    v1::ReloadPolicyRequest request;
    request.set_dry_run(dry_run);
    return admin_->ReloadPolicy(&context, request, response);
  }
  v1::ReloadPolicyResponse MustReload(bool dry_run = false) {
    v1::ReloadPolicyResponse response;
    const grpc::Status status = Reload(&response, dry_run);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  std::string Show() {
    grpc::ClientContext context;
    SetUser(&context);
    v1::GetPolicyResponse response;
    EXPECT_TRUE(admin_->GetPolicy(&context, {}, &response).ok());
    EXPECT_EQ(response.source(), config_.policy_source.path);
    return response.yaml();
  }
  std::vector<v1::Event> Events(const std::string& kind) {
    grpc::ClientContext context;
    SetUser(&context);
    const auto reader = client_->StreamEvents(&context, {});
    std::vector<v1::Event> found;
    for (v1::StreamEventsResponse page; reader->Read(&page);) {
      for (const v1::Event& event : page.events()) {
        if (event.kind() == kind) found.push_back(event);
      }
    }
    EXPECT_TRUE(reader->Finish().ok());
    return found;
  }
};

TEST_F(PolicyReloadTest, WhatIsShownIsInForceAndReadsBack) {
  Use("quantum_min: 7m\nquotas: {users: {kim: {high: 4}}}\n");
  const std::string shown = Show();
  EXPECT_THAT(shown, HasSubstr("quantum_min: 7m\n"));
  EXPECT_THAT(shown, HasSubstr("    kim: {high: 4}\n"));
  WritePolicy(shown);
  const v1::ReloadPolicyResponse response = MustReload(true);
  EXPECT_EQ(response.changes_size(), 0) << response.DebugString();
  EXPECT_FALSE(response.applied());
}

TEST_F(PolicyReloadTest, AReloadChangesWhatIsDecidedAndIsTold) {
  Use("unfinished_jobs_per_user_max: 1\n");
  FakeAgent agent(channel_, MakeHello(server_->cluster_id(), "node-1"));
  ASSERT_TRUE(agent.WaitWelcome());
  MustSubmit(Spec("first"));
  v1::SubmitRequest request;
  *request.add_specs() = Spec("second");
  v1::SubmitResponse submitted;
  EXPECT_EQ(Submit(request, &submitted).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);

  WritePolicy("unfinished_jobs_per_user_max: 2\nquotas: {users: {kim: {high: 4}}}\n");
  const v1::ReloadPolicyResponse dry = MustReload(true);
  EXPECT_EQ(dry.changes_size(), 2);
  EXPECT_FALSE(dry.applied());
  EXPECT_EQ(Submit(request, &submitted).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(Events("policy_reloaded").empty());

  const v1::ReloadPolicyResponse response = MustReload();
  EXPECT_TRUE(response.applied());
  EXPECT_EQ(response.source(), Path());
  ASSERT_EQ(response.changes_size(), 2);
  EXPECT_EQ(response.changes(0).field(), "quotas.users.kim.high");
  EXPECT_EQ(response.changes(0).before(), "");
  EXPECT_EQ(response.changes(0).after(), "4");
  EXPECT_EQ(response.changes(1).field(), "unfinished_jobs_per_user_max");
  EXPECT_TRUE(Submit(request, &submitted).ok());
  EXPECT_THAT(Show(), HasSubstr("unfinished_jobs_per_user_max: 2\n"));
  const std::vector<v1::Event> events = Events("policy_reloaded");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].message(), "quotas.users.kim.high added: 4, unfinished_jobs_per_user_max 1 -> 2");

  EXPECT_FALSE(MustReload().applied()) << "the same file once more is no change";
  EXPECT_EQ(Events("policy_reloaded").size(), 1u);
}

TEST_F(PolicyReloadTest, AgentsAreToldWhereLogsAreCopiedAndAgainWhenThatIsAnotherFolder) {
  Use("logs_root: /shared/logs\n");
  FakeAgent agent(channel_, MakeHello(server_->cluster_id(), "node-1"));
  const auto told = agent.WaitWelcome();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->logs_root(), "/shared/logs");
  WritePolicy("logs_root: /shared/more\n");
  EXPECT_TRUE(MustReload().applied());
  agent.Report({});
  ASSERT_TRUE(agent.WaitEnd());
  EXPECT_EQ(agent.WaitEnd()->error_code(), grpc::StatusCode::UNAVAILABLE) << "so that it connects again";
  FakeAgent again(channel_, MakeHello(server_->cluster_id(), "node-1"));
  const auto told_anew = again.WaitWelcome();
  ASSERT_TRUE(told_anew);
  EXPECT_EQ(told_anew->logs_root(), "/shared/more");
}

TEST_F(PolicyReloadTest, ReplicaServicesAreToldWhetherUsersTrustEachOtherAndAgainWhenThatChanges) {
  Use("quantum_min: 9m\n");
  v1::Hello hello = MakeHello(server_->cluster_id(), "node-1");
  FakeAgent without(channel_, hello);
  ASSERT_TRUE(without.WaitWelcome());
  hello.set_node_name("node-2");
  hello.set_machine_id("machine-of-node-2");
  hello.set_replica_address("10.0.0.2:7604");
  hello.set_replica_key(std::string(32, 'k'));
  FakeAgent agent(channel_, hello);
  const auto told = agent.WaitWelcome();
  ASSERT_TRUE(told);
  EXPECT_FALSE(told->private_fabric());
  WritePolicy("quantum_min: 9m\nfabric_private: true\n");
  EXPECT_TRUE(MustReload().applied());
  agent.Report({});
  ASSERT_TRUE(agent.WaitEnd());
  EXPECT_EQ(agent.WaitEnd()->error_code(), grpc::StatusCode::UNAVAILABLE) << "so that it connects again";
  FakeAgent again(channel_, hello);
  const auto told_anew = again.WaitWelcome();
  ASSERT_TRUE(told_anew);
  EXPECT_TRUE(told_anew->private_fabric());
}

// Quotas are rows: a file whose quotas were imported and then changed is refused, with the commands to use.
TEST_F(PolicyReloadTest, ChangedQuotasAreRefusedWithTheCommandToUse) {
  Use("quotas: {users: {kim: {high: 4}}}\n");
  WritePolicy("quantum_min: 9m\nquotas: {users: {kim: {high: 4}}}\n");
  const v1::ReloadPolicyResponse same = MustReload();
  EXPECT_TRUE(same.applied());
  ASSERT_EQ(same.warnings_size(), 1);
  EXPECT_THAT(same.warnings(0), HasSubstr("imported before"));
  WritePolicy("quantum_min: 8m\nquotas: {users: {kim: {high: 5}}}\n");
  v1::ReloadPolicyResponse response;
  const grpc::Status refused = Reload(&response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(DetailOf(refused).field(), "quotas");
  EXPECT_THAT(DetailOf(refused).fix(), HasSubstr("glim admin quota set user:kim high 5"));
  EXPECT_THAT(Show(), HasSubstr("quantum_min: 9m\n")) << "nothing of it is in force";
}

// Links are rows likewise, and what is changed of them counts at once.
TEST_F(PolicyReloadTest, AFilesLinksAreImportedAndTheirRowsCount) {
  Use("zones: [A, B]\nlinks: [{zone_a: A, zone_b: B, jobs_max: 0}]\ncross_zone_nodes_min: 2\n");
  auto hello = MakeHello(server_->cluster_id(), "node-2");
  hello.mutable_labels()->set_zone("B");
  FakeAgent first(channel_, MakeHello(server_->cluster_id(), "node-1"));
  FakeAgent second(channel_, hello);
  ASSERT_TRUE(first.WaitWelcome() && second.WaitWelcome());
  v1::SubmitRequest request;
  *request.add_specs() = Spec("wide", 2);
  v1::SubmitResponse submitted;
  EXPECT_EQ(DetailOf(Submit(request, &submitted)).reason(), "INFEASIBLE");
  WritePolicy("links: [{zone_a: A, zone_b: B}]\ncross_zone_nodes_min: 2\n");
  v1::ReloadPolicyResponse response;
  const grpc::Status refused = Reload(&response);
  EXPECT_EQ(DetailOf(refused).reason(), "LAYOUT_IMPORTED");
  EXPECT_THAT(DetailOf(refused).fix(), HasSubstr("glim admin link set A B --jobs-max 1 --pairs-max 1"));

  grpc::ClientContext context;
  SetUser(&context);
  v1::ChangeRowsRequest change;
  v1::LayoutLink* const link = change.add_changes()->mutable_link();
  link->set_zone_a("A");
  link->set_zone_b("B");
  link->set_jobs_max(1);
  link->set_pairs_max(1);
  v1::ChangeRowsResponse changed;
  ASSERT_TRUE(v1::LayoutApi::NewStub(channel_)->ChangeRows(&context, change, &changed).ok());
  const std::uint64_t job = MustSubmit(Spec("wide", 2));
  EXPECT_TRUE(first.WaitLaunch(job) && second.WaitLaunch(job));
}

TEST_F(PolicyReloadTest, ABadFileIsRefusedAndTheOldPolicyStays) {
  Use("quantum_min: 7m\n");
  FakeAgent agent(channel_, MakeHello(server_->cluster_id(), "node-1"));
  ASSERT_TRUE(agent.WaitWelcome());
  const struct {
    const char* text;
    const char* place;
    const char* field;
  } cases[] = {
      {"quantum_min: 5m\nquantum_max: 1m\n", ":2:1: ", "quantum_max"},
      {"quantum_mim: 5m\n", ":1:1: ", "quantum_mim"},
      {"quotas:\n  pools:\n    nowhere: {high: 1}\n", ":3:5: ", "quotas.pools.nowhere"},
      {"links: [{zone_a: A, zone_b: Z}]\n", ":1:29: ", "links[0].zone_b"},
      {"quotas: {teams: {vision: {weight: -1}}}\n", ":1:35: ", "quotas.teams.vision.weight"},
      {"quotas: [\n", ":", ""},
  };
  for (const auto& c : cases) {
    WritePolicy(c.text);
    v1::ReloadPolicyResponse response;
    const grpc::Status status = Reload(&response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << c.text;
    EXPECT_THAT(status.error_message(), HasSubstr(Path() + c.place)) << c.text;
    EXPECT_EQ(DetailOf(status).field(), c.field) << c.text;
    EXPECT_EQ(DetailOf(status).reason(), "BAD_CONFIG") << c.text;
    EXPECT_THAT(Show(), HasSubstr("quantum_min: 7m\n"));
  }
  std::filesystem::remove(Path());
  v1::ReloadPolicyResponse response;
  EXPECT_EQ(Reload(&response).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_TRUE(Events("policy_reloaded").empty());
}

TEST_F(PolicyReloadTest, WithoutAFileThereIsNothingToReload) {
  v1::ReloadPolicyResponse response;
  const grpc::Status status = Reload(&response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(DetailOf(status).reason(), "NO_POLICY_FILE");
  EXPECT_THAT(Show(), HasSubstr("min_run_factor: 0\n"));
}

// A restart must not fail because one of two zones has not registered yet.
TEST_F(PolicyReloadTest, AnUnknownPoolIsAWarningAtEveryStart) {
  Use("quotas: {pools: {later: {high: 1}}}\n");
  {
    FakeAgent agent(channel_, MakeHello(server_->cluster_id(), "node-1"));
    ASSERT_TRUE(agent.WaitWelcome());
  }
  server_.reset();
  auto again = Server::Start(config_, [](const Status&) {});
  EXPECT_TRUE(again.ok()) << again.status().message();
}

TEST(PolicyKeeperTest, OneReloadAtATime) {
  const auto path = std::filesystem::temp_directory_path() / ("glim-keeper-" + std::to_string(::getpid()));
  std::ofstream(path) << "quantum_min: 3m\n";
  SchedulerLoop::Options options;
  options.clock = MonotonicWallClock();
  auto loop = SchedulerLoop::Open(std::move(options), std::make_unique<store::MemoryStore>());
  ASSERT_TRUE(loop.ok()) << loop.status().message();
  PolicyKeeper keeper(loop->get(), {path.string(), [&] { return ReadPolicyAgain({path.string(), false}); }}, {});
  std::vector<Status> ends;  // before the strand runs on this thread, then on the strand's, which Stop joins
  const auto done = [&](const Result<PolicyKeeper::Reloaded>& r) { ends.push_back(r.status()); };
  keeper.Reload(false, {}, done);
  EXPECT_TRUE(ends.empty()) << "the strand does not run yet";
  keeper.Reload(false, {}, done);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].reason(), "RELOADING");
  (*loop)->Start();
  (*loop)->Stop();
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_TRUE(ends[1].ok()) << ends[1].message();
  EXPECT_EQ((*loop)->policy()->quantum_min, Minutes(3));
  EXPECT_THAT(keeper.Yaml(true), HasSubstr("quantum_min: 3m\n"));
  // A strand that has ended takes nothing in, and another reload may be asked for.
  std::ofstream(path) << "quantum_min: 4m\n";
  keeper.Reload(false, {}, done);
  keeper.Reload(true, {}, done);
  ASSERT_EQ(ends.size(), 4u);
  EXPECT_EQ(ends[2].code(), StatusCode::kUnavailable);
  EXPECT_TRUE(ends[3].ok());
  std::filesystem::remove(path);
}

// With identity: who may know where the scheduler sends to.
class PolicyRightsTest : public TokenServerTest {
 protected:
  void Configure() override {
    TokenServerTest::Configure();
    config_.policy_file = (folder_ / "policy.yaml").string();
    Write("T0PSECRET");
    const Status read = ReadOwnPolicy(&config_);
    ASSERT_TRUE(read.ok()) << read.message();
  }
  void Write(const std::string& path) const {
    std::ofstream(config_.policy_file) << "notify: {webhooks: {chat: {url: 'https://chat.example/" << path
                                       << "', secret_file: /etc/glim/s}}}\n";
  }
};

TEST_F(PolicyRightsTest, TheUrlsOfWebhooksAreTheOperators) {
  const auto shown = [this](const char* user) {
    v1::GetPolicyResponse response;
    const grpc::Status status =
        Ask(admin_.get(), &v1::AdminApi::Stub::GetPolicy, TokenOf(user), v1::GetPolicyRequest(), &response);
    EXPECT_TRUE(status.ok()) << user << status.error_message();
    return response.yaml();
  };
  for (const char* user : {"vera", "kim", "tess"}) {
    EXPECT_THAT(shown(user), HasSubstr("https://chat.example/...")) << user;
    EXPECT_THAT(shown(user), Not(HasSubstr("T0PSECRET"))) << user;
  }
  for (const char* user : {"ora", "ada"}) EXPECT_THAT(shown(user), HasSubstr("https://chat.example/T0PSECRET")) << user;

  Write("T0PSECRET2");
  v1::ReloadPolicyResponse reloaded;
  ASSERT_TRUE(
      Ask(admin_.get(), &v1::AdminApi::Stub::ReloadPolicy, TokenOf("ada"), v1::ReloadPolicyRequest(), &reloaded).ok());
  ASSERT_TRUE(reloaded.applied());
  EXPECT_THAT(reloaded.DebugString(), Not(HasSubstr("T0PSECRET")));
  const v1::ListAuditResponse trail = Audit();
  EXPECT_THAT(trail.DebugString(), HasSubstr("https://chat.example/..."));
  EXPECT_THAT(trail.DebugString(), Not(HasSubstr("T0PSECRET")));
}

}  // namespace
}  // namespace glim::server
