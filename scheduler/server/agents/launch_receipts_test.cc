// What a node says of tasks that the store does not know counts by the scheduler's own receipt alone: whoever has a
// node's key can speak the agents' protocol, and stops and holds nobody else's jobs with it.
#include <gmock/gmock.h>

#include "scheduler/identity/job_token.h"
#include "scheduler/server/testing/identity_server.h"

namespace glim::server {
namespace {

class LaunchReceiptsTest : public IdentityTest {
 protected:
  void SetUp() override {
    IdentityTest::SetUp();
    v1::AccountUser ben;
    ben.set_name("ben");
    ben_ = MakeUser(ben);
    honest_ = std::make_unique<TestNode>(MustEnrol("n2"));
    agent_ = std::make_unique<FakeAgent>(ConnectAgent(honest_.get()), HelloOf(*honest_));
    ASSERT_TRUE(agent_->WaitWelcome());
  }
  std::uint64_t SubmitJob(const std::string& name) {
    grpc::ClientContext context;
    Authorize(&context, ben_);
    v1::SubmitRequest request;
    *request.add_specs() = Spec(name);
    v1::SubmitResponse response;
    const grpc::Status status = client_->Submit(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return status.ok() ? response.job_ids(0) : 0;
  }
  v1::Job JobOf(std::uint64_t id) {
    grpc::ClientContext context;
    Authorize(&context, ben_);
    v1::GetJobRequest request;
    request.set_job_id(id);
    v1::GetJobResponse response;
    EXPECT_TRUE(client_->GetJob(&context, request, &response).ok());
    return response.job();
  }
  v1::Node NodeOf(const std::string& name) {
    grpc::ClientContext context;
    Authorize(&context);
    v1::ListNodesResponse response;
    EXPECT_TRUE(client_->ListNodes(&context, {}, &response).ok());
    for (const v1::Node& node : response.nodes()) {
      if (node.name() == name) return node;
    }
    return {};
  }

  std::string ben_;
  std::unique_ptr<TestNode> honest_;
  std::unique_ptr<FakeAgent> agent_;
};

TEST_F(LaunchReceiptsTest, ALaunchHasOneOfItsNodeAndTask) {
  const std::uint64_t job = SubmitJob("one");
  const auto launch = agent_->WaitLaunch(job);
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->receipt().size(), 64u);
  agent_->Report({Observed(job, 1, 0, v1::ObservedTask::RUNNING)});
  ASSERT_TRUE(Eventually([&] { return JobOf(job).state() == "running"; }));
  agent_ = std::make_unique<FakeAgent>(ConnectAgent(honest_.get()), HelloOf(*honest_));
  EXPECT_TRUE(agent_->WaitDesired([&](const v1::DesiredState& set) {
    return set.tasks_size() == 1 && !set.tasks(0).has_launch() && set.tasks(0).receipt() == launch->receipt();
  })) << "an agent of an earlier release that is replaced gets it, too";
}

TEST_F(LaunchReceiptsTest, WhoeverHasANodesKeyStopsAndHoldsNobodysJobsAndMovesNoNumber) {
  const std::uint64_t job = SubmitJob("young");
  const auto launch = agent_->WaitLaunch(job);
  ASSERT_TRUE(launch);
  agent_->Report({Observed(job, 1, 0, v1::ObservedTask::RUNNING)});
  ASSERT_TRUE(Eventually([&] { return JobOf(job).state() == "running"; }));

  const TestNode liar = MustEnrol("n1");
  v1::Hello hello = HelloOf(liar);
  hello.set_highest_job_id(1'000'000);
  hello.mutable_highest_launch()->mutable_attempt()->set_job_id(500'000);
  hello.mutable_highest_launch()->mutable_attempt()->set_number(1);
  hello.mutable_highest_launch()->set_receipt(launch->receipt());
  FakeAgent lies(ConnectAgent(&liar), hello);
  ASSERT_TRUE(lies.WaitWelcome());
  std::vector<v1::ObservedTask> claimed = {
      Observed(job, 1, 0, v1::ObservedTask::RUNNING), Observed(job, 5, 0, v1::ObservedTask::RUNNING),
      Observed(job + 1, 1, 0, v1::ObservedTask::RUNNING), Observed(900'000, 1, 0, v1::ObservedTask::RUNNING)};
  claimed[1].set_receipt(std::string(64, 'a'));
  claimed[0].set_receipt(launch->receipt());  // another node's, which somebody has seen there
  lies.Report(claimed);
  ASSERT_TRUE(Eventually([&] { return NodeOf("n1").unproven_size() == 4; }));
  EXPECT_EQ(NodeOf("n1").orphans_size(), 0);
  EXPECT_EQ(JobOf(job).state(), "running");
  EXPECT_EQ(JobOf(job).attempts_size(), 1);

  const std::uint64_t next = SubmitJob("next");
  EXPECT_EQ(next, job + 1) << "no number is moved";
  agent_->Report({});
  EXPECT_TRUE(Eventually([&] { return JobOf(next).state() == "starting"; })) << "nor is a job held that waits";
}

// A store that was put back: it knows nothing of what its own scheduler has launched, and believes it by the receipt.
TEST_F(LaunchReceiptsTest, AfterARestoreAnHonestNodeIsHeard) {
  const std::uint64_t job = SubmitJob("one");
  const auto launch = agent_->WaitLaunch(job);
  ASSERT_TRUE(launch);
  v1::ObservedTask later = Observed(job + 20, 1, 0, v1::ObservedTask::RUNNING);
  const core::TaskId id{{core::JobId(job + 20), 1}, 0};
  const auto key = identity::ReadClusterKey(config_.key_file);
  ASSERT_TRUE(key.ok()) << key.status().message();
  later.set_receipt(identity::LaunchReceiptOf(*key, server_->cluster_id(), "n2", id));
  agent_->Report({later});
  ASSERT_TRUE(Eventually([&] { return NodeOf("n2").orphans_size() == 1; }));
  EXPECT_EQ(NodeOf("n2").unproven_size(), 0);
  EXPECT_EQ(SubmitJob("two"), job + 21) << "its number is nobody else's";
}

}  // namespace
}  // namespace glim::server
