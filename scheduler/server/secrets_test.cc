// Users' secrets and jobs' tokens, from the call that sets one to the agent that gets it: who has it, and who never
// does.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "scheduler/server/testing/identity_server.h"
#include "sdk/base/hex.h"
#include "sdk/tokens/replica_token.h"

namespace glim::server {
namespace {

constexpr const char* kValue = "correct-horse-battery-staple";

class SecretsTest : public IdentityTest {
 protected:
  void SetUp() override {
    IdentityTest::SetUp();
    kim_ = User("kim");
    ana_ = User("ana");
  }
  std::string User(const std::string& name) {
    v1::AccountUser user;
    user.set_name(name);
    return MakeUser(user);
  }
  grpc::Status Set(const std::string& token, const std::string& name, const std::string& value,
                   v1::SetSecretResponse* response = nullptr) {
    grpc::ClientContext context;
    Authorize(&context, token);
    v1::SetSecretRequest request;
    request.set_name(name);
    request.set_value(value);
    v1::SetSecretResponse unused;
    return client_->SetSecret(&context, request, response != nullptr ? response : &unused);
  }
  grpc::Status Remove(const std::string& token, const std::string& name) {
    grpc::ClientContext context;
    Authorize(&context, token);
    v1::RemoveSecretRequest request;
    request.set_name(name);
    v1::RemoveSecretResponse response;
    return client_->RemoveSecret(&context, request, &response);
  }
  std::string Names(const std::string& token) {
    grpc::ClientContext context;
    Authorize(&context, token);
    v1::ListSecretsResponse response;
    const grpc::Status status = client_->ListSecrets(&context, {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.DebugString().find(kValue), std::string::npos);
    std::string names;
    for (const v1::SecretInfo& secret : response.secrets()) {
      names += secret.name() + ":" + std::to_string(secret.bytes()) + " ";
    }
    return names;
  }
  grpc::Status SubmitAs(const std::string& token, const v1::JobSpec& spec, std::uint64_t* job = nullptr) {
    grpc::ClientContext context;
    Authorize(&context, token);
    v1::SubmitRequest request;
    *request.add_specs() = spec;
    v1::SubmitResponse response;
    const grpc::Status status = client_->Submit(&context, request, &response);
    if (status.ok() && job != nullptr) *job = response.job_ids(0);
    return status;
  }
  v1::GetJobResponse GetJobAs(const std::string& token, std::uint64_t id) {
    grpc::ClientContext context;
    Authorize(&context, token);
    v1::GetJobRequest request;
    request.set_job_id(id);
    v1::GetJobResponse response;
    EXPECT_TRUE(client_->GetJob(&context, request, &response).ok());
    return response;
  }
  v1::Job JobAs(const std::string& token, std::uint64_t id) { return GetJobAs(token, id).job(); }
  grpc::Status WhoAmI(const std::string& token, v1::WhoAmIResponse* response) {
    grpc::ClientContext context;
    Authorize(&context, token);
    return client_->WhoAmI(&context, {}, response);
  }
  v1::JobSpec SpecWith(const std::string& secret, bool api = false) {
    v1::JobSpec spec = Spec("job");
    if (!secret.empty()) spec.add_secrets()->set_name(secret);
    spec.set_api(api);
    return spec;
  }
  std::unique_ptr<FakeAgent> Connect(const TestNode& node) {
    auto agent = std::make_unique<FakeAgent>(ConnectAgent(&node), HelloOf(node));
    EXPECT_TRUE(agent->WaitWelcome());
    return agent;
  }
  static v1::ObservedTask Ended(std::uint64_t job) {
    v1::ObservedTask ended = Observed(job, 1, 0, v1::ObservedTask::RELEASED);
    ended.mutable_ranks(0)->set_exited(true);
    return ended;
  }
  // Whether any file of the scheduler's has these bytes: its store above all.
  bool IsAtRest(const std::string& bytes) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
      if (!entry.is_regular_file()) continue;
      std::stringstream text;
      text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      if (text.str().find(bytes) != std::string::npos) return true;
    }
    return false;
  }

  std::string kim_;
  std::string ana_;
};

TEST_F(SecretsTest, AreTheUsersOwnByNameAndShownToNobody) {
  v1::SetSecretResponse response;
  ASSERT_TRUE(Set(kim_, "hf", kValue, &response).ok());
  EXPECT_FALSE(response.replaced());
  ASSERT_TRUE(Set(kim_, "hf", std::string(kValue) + "2", &response).ok());
  EXPECT_TRUE(response.replaced());
  EXPECT_EQ(Names(kim_), "hf:29 ");
  EXPECT_EQ(Names(ana_), "");
  EXPECT_EQ(Names(""), "") << "not even an administrator";
  EXPECT_EQ(DetailOf(Remove(ana_, "hf")).reason(), "NO_SUCH_SECRET");
  for (const v1::AuditEntry& entry : Audit("/glim.v1.ClientApi/SetSecret")) {
    EXPECT_EQ(entry.user(), "kim");
    EXPECT_EQ(entry.object(), "secret kim/hf");
    EXPECT_EQ(entry.DebugString().find(kValue), std::string::npos);
  }
  EXPECT_FALSE(IsAtRest(kValue));
  ASSERT_TRUE(Remove(kim_, "hf").ok());
  EXPECT_EQ(Names(kim_), "");
}

TEST_F(SecretsTest, BadOnesAreRefused) {
  EXPECT_EQ(DetailOf(Set(kim_, "../hf", kValue)).field(), "name");
  EXPECT_EQ(DetailOf(Set(kim_, "", kValue)).field(), "name");
  EXPECT_EQ(DetailOf(Set(kim_, "hf", "")).field(), "value");
  EXPECT_EQ(DetailOf(Set(kim_, "hf", std::string((64 << 10) + 1, 'x'))).field(), "value");
  EXPECT_TRUE(Set(kim_, "hf", std::string(64 << 10, 'x')).ok());
}

TEST_F(SecretsTest, ComeWithTheLaunchAndAJobNamesItsUsersAlone) {
  const TestNode node = MustEnrol("n1");
  const auto agent = Connect(node);
  ASSERT_TRUE(Set(ana_, "hf", kValue).ok());
  const grpc::Status refused = SubmitAs(kim_, SpecWith("hf"));
  EXPECT_EQ(DetailOf(refused).reason(), "NO_SUCH_SECRET");
  EXPECT_EQ(DetailOf(refused).field(), "secrets[0]");
  ASSERT_TRUE(Set(kim_, "hf", "kims").ok());
  std::uint64_t job = 0;
  ASSERT_TRUE(SubmitAs(kim_, SpecWith("hf"), &job).ok());
  const auto task = agent->WaitLaunch(job);
  ASSERT_TRUE(task);
  ASSERT_EQ(task->launch().secrets_size(), 1);
  EXPECT_EQ(task->launch().secrets(0).value(), "kims");
  EXPECT_FALSE(task->launch().api());
  EXPECT_EQ(JobAs(kim_, job).spec().secrets(0).name(), "hf");
  EXPECT_NE(GetJobAs(kim_, job).file().find("secrets: [hf]"), std::string::npos) << GetJobAs(kim_, job).file();
  EXPECT_EQ(JobAs(ana_, job).spec().secrets_size(), 0) << "whose names they are is private, too";
  EXPECT_EQ(GetJobAs(ana_, job).file(), "");
}

TEST_F(SecretsTest, OneThatWasRemovedFailsTheJobThatNeedsIt) {
  const TestNode node = MustEnrol("n1");
  const auto agent = Connect(node);
  ASSERT_TRUE(Set(kim_, "hf", kValue).ok());
  std::uint64_t first = 0, job = 0;
  ASSERT_TRUE(SubmitAs(kim_, Spec("first"), &first).ok());
  ASSERT_TRUE(agent->WaitLaunch(first));
  ASSERT_TRUE(SubmitAs(kim_, SpecWith("hf"), &job).ok());  // it waits for the node
  ASSERT_TRUE(Remove(kim_, "hf").ok());
  agent->Report({Ended(first)});
  EXPECT_TRUE(Eventually([&] { return JobAs(kim_, job).state() == "failed"; }));
  EXPECT_NE(JobAs(kim_, job).message().find("secret hf is not set any more"), std::string::npos)
      << JobAs(kim_, job).message();
}

// The first service of a cluster makes the scheduler make the key; it hears of it when it connects again.
TEST_F(SecretsTest, AnAttemptWithAPlaceForCopiesHasATokenThatServicesCanCheck) {
  const TestNode node = MustEnrol("n1"), other = MustEnrol("n2");
  const auto agent = Connect(node);
  v1::Hello hello = HelloOf(other);
  hello.set_replica_address("10.0.0.2:7604");
  hello.set_replica_key(std::string(32, 'k'));
  auto neighbour = std::make_unique<FakeAgent>(ConnectAgent(&other), hello);
  std::optional<v1::Welcome> told = neighbour->WaitWelcome();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->replica_keys_size(), 0);
  EXPECT_TRUE(Eventually([&] {
    neighbour->Report({});
    return neighbour->WaitEnd(std::chrono::milliseconds(50)).has_value();  // the other agent is not to be silent long
  }));
  neighbour = std::make_unique<FakeAgent>(ConnectAgent(&other), hello);
  told = neighbour->WaitWelcome();
  ASSERT_TRUE(told);
  ASSERT_EQ(told->replica_keys_size(), 1);

  std::uint64_t job = 0;
  ASSERT_TRUE(SubmitAs(kim_, Spec("copied"), &job).ok());
  const auto task = agent->WaitLaunch(job);
  ASSERT_TRUE(task);
  const auto token = ParseReplicaToken(task->launch().replica_token());
  ASSERT_TRUE(token.ok()) << token.status().message();
  Ed25519Key key;
  ASSERT_EQ(told->replica_keys(0).size(), key.size());
  std::memcpy(key.data(), told->replica_keys(0).data(), key.size());
  const auto claims = CheckReplicaCertificate(token->certificate, {&key, 1});
  ASSERT_TRUE(claims.ok());
  EXPECT_EQ(claims->job, job);
  EXPECT_EQ(claims->attempt, 1u);
  EXPECT_EQ(claims->user, "kim");
  EXPECT_EQ(claims->cluster, server_->cluster_id());
  const std::string seed(reinterpret_cast<const char*>(token->seed.data()), token->seed.size());
  EXPECT_FALSE(IsAtRest(seed)) << "the attempt's key";
  EXPECT_FALSE(IsAtRest(HexText(token->seed)));
}

TEST_F(SecretsTest, AJobsTokenIsItsOwnAndDiesWithTheAttempt) {
  const TestNode node = MustEnrol("n1");
  auto agent = Connect(node);
  std::uint64_t job = 0, other = 0;
  ASSERT_TRUE(SubmitAs(kim_, SpecWith("", true), &job).ok());
  auto task = agent->WaitLaunch(job);
  ASSERT_TRUE(task);
  EXPECT_TRUE(task->launch().api());
  const std::string token = task->launch().api_token();
  v1::WhoAmIResponse who;
  ASSERT_TRUE(WhoAmI(token, &who).ok());
  EXPECT_EQ(who.user(), "kim");
  EXPECT_EQ(who.scope(), "submit");
  EXPECT_FALSE(IsAtRest(token.substr(22))) << "the secret part";
  ASSERT_TRUE(SubmitAs(token, Spec("child"), &other).ok());
  EXPECT_FALSE(Set(token, "hf", kValue).ok()) << "secrets are no job's affair";

  // The next scheduler makes the same desired state, for it keeps the token nowhere.
  agent.reset();
  RestartServer();
  agent = Connect(node);
  task = agent->WaitLaunch(job);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->launch().api_token(), token);
  agent->Report({Ended(job)});
  EXPECT_TRUE(Eventually([&] { return JobAs(kim_, job).state() == "succeeded"; })) << JobAs(kim_, job).state();
  EXPECT_EQ(DetailOf(WhoAmI(token, &who)).reason(), "BAD_TOKEN");
}

}  // namespace
}  // namespace glim::server
