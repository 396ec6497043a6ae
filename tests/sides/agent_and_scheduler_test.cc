// A machine's way through the cluster, by the real programs: invited, enrolled, at work while the authority is changed,
// revoked, enrolled anew. The job runs through all of it, and the agent is never started again.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "scheduler/identity/cluster_authority.h"
#include "scheduler/server/testing/identity_server.h"
#include "sdk/base/testing/folders.h"
#include "sdk/io/random_bytes.h"
#include "sdk/io/read_file.h"

extern char** environ;

namespace glim::server {
namespace {

class SidesTest : public IdentityTest {
 protected:
  void Configure() override {
    IdentityTest::Configure();
    config_.policy.node_lost_after = Seconds(120);  // revoked is not lost
  }
  void TearDown() override {
    if (agent_ > 0) {
      CancelAll();
      EndAgent();
    }
    IdentityTest::TearDown();  // beside the agent's own removals, which may still be under way
  }
  // In order; one that a test has stopped, or that does not end, is killed.
  void EndAgent() {
    ::kill(agent_, SIGTERM);
    ::kill(agent_, SIGCONT);
    const auto ended = [&] { return ::waitpid(agent_, nullptr, WNOHANG) != 0; };
    if (Eventually(ended)) return;
    ADD_FAILURE() << "it did not end on SIGTERM\n" << LogOf("agent.log");
    ::kill(agent_, SIGKILL);
    ::waitpid(agent_, nullptr, 0);
  }
  std::string State() const { return (folder_ / "agent").string(); }

  // As the line that the invitation prints; returns the exit status.
  int RunEnrol(const std::string& node, const v1::InviteNodeResponse& invited) {
    const std::string command = BuiltFile("bin/glim-agent enrol --scheduler ") + invited.listen() +
                                " --ca-fingerprint " + invited.ca_fingerprint() + " --name " + node + " --state-dir " +
                                State() + " > " + (folder_ / "enrol.log").string() + " 2>&1";
    FILE* const pipe = ::popen(command.c_str(), "w");
    std::fprintf(pipe, "%s\n", invited.token().c_str());
    return WEXITSTATUS(::pclose(pipe));
  }
  v1::InviteNodeResponse InviteNode1() {
    v1::InviteNodeRequest invite;
    invite.set_node("node-1");
    invite.mutable_labels()->set_pool("a100");
    return MustInvite(invite);
  }
  void StartAgent() {
    const std::vector<std::string> words = {
        BuiltFile("bin/glim-agent"), "--state-dir", State(), "--runtime", "process", "--any-user", "--gpus", "8",
        "--simulated-gpus",          "--sdk",       "none"};
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    const std::string log = (folder_ / "agent.log").string();
    posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ASSERT_EQ(::posix_spawn(&agent_, argv[0], &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
  }
  std::string LogOf(const std::string& name) {
    const auto text = ReadFile((folder_ / name).string(), 1 << 20);
    return text.ok() ? *text : "";
  }
  std::string StateOfNode() {
    grpc::ClientContext context;
    Authorize(&context);
    v1::ListNodesResponse response;
    EXPECT_TRUE(client_->ListNodes(&context, v1::ListNodesRequest(), &response).ok());
    return response.nodes_size() == 1 ? response.nodes(0).state() : "";
  }
  v1::Job JobNow(std::uint64_t id) {
    grpc::ClientContext context;
    Authorize(&context);
    v1::GetJobRequest request;
    request.set_job_id(id);
    v1::GetJobResponse response;
    EXPECT_TRUE(client_->GetJob(&context, request, &response).ok());
    return response.job();
  }
  std::uint64_t SubmitSleeper() {
    v1::SubmitRequest request;
    v1::JobSpec& spec = *request.add_specs();
    spec = Spec("sleeper");
    spec.set_pool("a100");
    spec.set_run("sleep 300");
    grpc::ClientContext context;
    Authorize(&context);
    v1::SubmitResponse response;
    const grpc::Status status = client_->Submit(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return status.ok() ? response.job_ids(0) : 0;
  }
  void CancelAll() {
    if (job_ == 0 || !server_) return;
    grpc::ClientContext context;
    Authorize(&context);
    v1::CancelRequest request;
    request.set_job_id(job_);
    v1::CancelResponse response;
    (void)client_->Cancel(&context, request, &response);
    (void)Eventually([&] { return JobNow(job_).state() == "cancelled"; }, std::chrono::seconds(10));
  }
  core::NodeIdentity RowNow() { return *server_->snapshot()->tables.identity->nodes.Find("node-1"); }
  v1::RotateCaResponse MustRotate(bool finish, bool force = false) {
    grpc::ClientContext context;
    Authorize(&context);
    v1::RotateCaRequest request;
    request.set_finish(finish);
    request.set_force(force);
    v1::RotateCaResponse response;
    const grpc::Status status = admin_->RotateCa(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  // A machine that is at work.
  void EnrolAndStart() {
    ASSERT_EQ(RunEnrol("node-1", InviteNode1()), 0) << LogOf("enrol.log");
    StartAgent();
    ASSERT_TRUE(Eventually([&] { return StateOfNode() == "ready"; })) << LogOf("agent.log");
  }
  // The authority that signs, as a thief of store and key file has it.
  identity::ClusterAuthority StealAuthority() {
    const auto key = identity::ReadClusterKey(config_.key_file);
    const auto row = *server_->snapshot()->tables.identity->sealed.Find(identity::kAuthorityRow);
    auto opened = identity::ClusterAuthority::Open(server_->cluster_id(), *key, row, std::nullopt, FillRandomly);
    return std::move(opened).value();
  }

  pid_t agent_ = 0;
  std::uint64_t job_ = 0;
};

// Somebody who has an authority's key and the scheduler's address, and waits for agents.
class Impostor final : public v1::AgentApi::Service {
 public:
  Impostor(const identity::ClusterAuthority& authority, int port) {
    const pki::PrivateKey key = pki::PrivateKey::Make();
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto certificate =
        authority.SignScheduler(key, {{"localhost"}, {"127.0.0.1"}},
                                TimePoint{std::chrono::duration_cast<std::chrono::milliseconds>(now).count()});
    grpc::SslServerCredentialsOptions shown;
    shown.pem_key_cert_pairs.push_back({key.Pem(), pki::PemOf(authority.ChainOf(*certificate))});
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:" + std::to_string(port), grpc::SslServerCredentials(shown), &bound);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  grpc::Status Sync(grpc::ServerContext*, grpc::ServerReaderWriter<v1::SchedulerMessage, v1::AgentMessage>*) override {
    ++calls;
    return {grpc::StatusCode::UNAVAILABLE, "no scheduler"};
  }

  int bound = 0;
  std::atomic<int> calls = 0;

 private:
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(SidesTest, AMachineIsInvitedAndItsJobOutlivesEveryChange) {
  StartAgent();
  int status = 0;
  ::waitpid(agent_, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_THAT(LogOf("agent.log"), ::testing::HasSubstr("not enrolled"));
  agent_ = 0;

  v1::InviteNodeResponse wrong = InviteNode1();
  wrong.set_ca_fingerprint(std::string(64, 'a'));
  EXPECT_NE(RunEnrol("node-1", wrong), 0) << "another server answers than the one that invited";
  ASSERT_EQ(RunEnrol("node-1", InviteNode1()), 0) << LogOf("enrol.log");
  StartAgent();
  ASSERT_TRUE(Eventually([&] { return StateOfNode() == "ready"; })) << LogOf("agent.log");
  job_ = SubmitSleeper();
  ASSERT_TRUE(Eventually([&] { return JobNow(job_).state() == "running"; })) << LogOf("agent.log");

  const std::string serial = RowNow().serial;
  EXPECT_THAT(MustRotate(false).not_renewed(), ::testing::ElementsAre("node-1"));
  EXPECT_TRUE(Eventually([&] { return RowNow().serial != serial && RowNow().previous_serial.empty(); }))
      << "it has renewed, and come back with the new one\n"
      << LogOf("agent.log");
  EXPECT_THAT(MustRotate(true).not_renewed(), ::testing::IsEmpty());
  EXPECT_TRUE(Eventually([&] { return StateOfNode() == "ready"; })) << LogOf("agent.log");
  EXPECT_EQ(JobNow(job_).state(), "running");

  grpc::ClientContext context;
  Authorize(&context);
  v1::RevokeNodeRequest revoke;
  revoke.set_node("node-1");
  v1::RevokeNodeResponse revoked;
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(admin_->RevokeNode(&context, revoke, &revoked).ok());
  EXPECT_TRUE(Eventually([&] { return LogOf("agent.log").find("NODE_REVOKED") != std::string::npos; }));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));

  ASSERT_EQ(RunEnrol("node-1", InviteNode1()), 0) << LogOf("enrol.log");
  EXPECT_TRUE(Eventually([&] { return LogOf("agent.log").find("event=enrolled_anew") != std::string::npos; }));
  EXPECT_TRUE(Eventually([&] { return StateOfNode() == "ready"; })) << LogOf("agent.log");
  EXPECT_EQ(JobNow(job_).state(), "running") << "what runs there runs on";
  EXPECT_EQ(::waitpid(agent_, &status, WNOHANG), 0) << "it is the same agent";
}

// A change of the authority is over when nobody can be the scheduler by the old one's key any more, for agents that
// were connected all the time too.
TEST_F(SidesTest, AnAgentThatStaysConnectedTrustsADroppedAuthorityNoLonger) {
  EnrolAndStart();
  const identity::ClusterAuthority before = StealAuthority();
  const std::string serial = RowNow().serial;
  MustRotate(false);
  ASSERT_TRUE(Eventually([&] { return RowNow().serial != serial && RowNow().previous_serial.empty(); }))
      << LogOf("agent.log");
  MustRotate(true);
  const identity::ClusterAuthority now = StealAuthority();
  ASSERT_TRUE(Eventually([&] { return LogOf("agent.log").find("authorities=1 ") != std::string::npos; }))
      << LogOf("agent.log");
  ASSERT_TRUE(Eventually([&] { return StateOfNode() == "ready"; })) << LogOf("agent.log");
  const int port = server_->agents_port();
  server_.reset();
  {
    const Impostor thief(before, port);
    ASSERT_EQ(thief.bound, port);
    EXPECT_FALSE(Eventually([&] { return thief.calls > 0; }, std::chrono::seconds(3))) << "it was believed";
  }
  const Impostor right(now, port);
  ASSERT_EQ(right.bound, port);
  EXPECT_TRUE(Eventually([&] { return right.calls > 0; })) << "it tries all the time\n" << LogOf("agent.log");
}

// An agent that hears of nothing while the authority is changed by force: its old connection is no way back.
TEST_F(SidesTest, AnAgentThatHasNotRenewedIsOutWithItsAuthority) {
  EnrolAndStart();
  const std::string serial = RowNow().serial;
  ::kill(agent_, SIGSTOP);
  MustRotate(false);
  EXPECT_THAT(MustRotate(true, true).not_renewed(), ::testing::ElementsAre("node-1"));
  ::kill(agent_, SIGCONT);
  EXPECT_TRUE(Eventually([&] { return LogOf("agent.log").find("UNKNOWN_AUTHORITY") != std::string::npos; }))
      << LogOf("agent.log");
  // It asks again, over the connection that it has.
  EXPECT_TRUE(Eventually([&] {
    const std::vector<v1::AuditEntry> denied = Audit("/Sync");
    return !denied.empty() && denied.back().outcome() == "UNKNOWN_AUTHORITY";
  })) << LogOf("agent.log");
  EXPECT_NE(StateOfNode(), "ready");
  EXPECT_EQ(RowNow().serial, serial) << "it got none by the connection that it had";
  ASSERT_EQ(RunEnrol("node-1", InviteNode1()), 0) << LogOf("enrol.log");
  EXPECT_TRUE(Eventually([&] { return StateOfNode() == "ready"; })) << LogOf("agent.log");
}

}  // namespace
}  // namespace glim::server
