// A machine's way through the cluster, by the real programs: invited, enrolled, at work while the authority is changed,
// revoked, enrolled anew. The job runs through all of it, and the agent is never started again.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "scheduler/server/testing/identity_server.h"
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
      ::kill(agent_, SIGKILL);
      ::waitpid(agent_, nullptr, 0);
    }
    IdentityTest::TearDown();
  }
  std::string State() const { return (folder_ / "agent").string(); }

  // As the line that the invitation prints; returns the exit status.
  int RunEnrol(const std::string& node, const v1::InviteNodeResponse& invited) {
    const std::string command = std::string(GLIM_BINARY_DIR "/bin/glim-agent enrol --scheduler ") + invited.listen() +
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
    const std::vector<std::string> words = {GLIM_BINARY_DIR "/bin/glim-agent",
                                            "--state-dir",
                                            State(),
                                            "--runtime",
                                            "process",
                                            "--gpus",
                                            "8",
                                            "--simulated-gpus",
                                            "--sdk",
                                            "none"};
    std::vector<char*> argv;
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
  v1::RotateCaResponse MustRotate(bool finish) {
    grpc::ClientContext context;
    Authorize(&context);
    v1::RotateCaRequest request;
    request.set_finish(finish);
    v1::RotateCaResponse response;
    const grpc::Status status = admin_->RotateCa(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  pid_t agent_ = 0;
  std::uint64_t job_ = 0;
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

}  // namespace
}  // namespace glim::server
