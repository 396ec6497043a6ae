// Agents of several releases at one scheduler: those with a version in common are spoken with, the others are told to
// upgrade, and what runs on their nodes runs on.
#include <gmock/gmock.h>

#include "scheduler/server/testing/fake_agent.h"
#include "scheduler/server/testing/test_server.h"

namespace glim::server {
namespace {

using ::testing::HasSubstr;
using v1::ObservedTask;

class AgentVersionsTest : public ServerTest {
 protected:
  // `newest` 0: an agent of the first release, which tells one version.
  v1::Hello Hello(const std::string& name, std::uint32_t oldest, std::uint32_t newest) {
    v1::Hello hello = MakeHello(server_->cluster_id(), name);
    hello.set_protocol_version(oldest);
    hello.set_newest_protocol_version(newest);
    return hello;
  }
};

TEST_F(AgentVersionsTest, TheNewestThatBothKnowIsSpoken) {
  for (const auto& [oldest, newest] : {std::pair(1u, 0u), std::pair(1u, 1u), std::pair(0u, 7u), std::pair(1u, 9u)}) {
    FakeAgent agent(channel_, Hello("node-1", oldest, newest));
    const auto welcome = agent.WaitWelcome();
    ASSERT_TRUE(welcome) << oldest << " to " << newest;
    EXPECT_EQ(welcome->protocol_version(), 1u);
  }
}

TEST_F(AgentVersionsTest, ARefusalNamesTheVersionsAndSaysWhomToUpgrade) {
  struct Row {
    std::uint32_t oldest, newest;
    const char *theirs, *fix;
  };
  for (const Row& row :
       {Row{2, 5, "versions 2 to 5", "upgrade the scheduler"}, Row{9, 0, "version 9", "upgrade the scheduler"},
        Row{0, 0, "version 0", "upgrade glim-agent"}}) {
    FakeAgent agent(channel_, Hello("node-1", row.oldest, row.newest));
    EXPECT_FALSE(agent.WaitWelcome());
    const grpc::Status status = agent.WaitEnd().value_or(grpc::Status::OK);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(status.error_message(), HasSubstr(row.theirs));
    EXPECT_THAT(status.error_message(), HasSubstr("this scheduler"));
    EXPECT_EQ(DetailOf(status).reason(), "PROTOCOL_VERSION");
    EXPECT_THAT(DetailOf(status).fix(), HasSubstr(row.fix));
  }
  EXPECT_EQ(GetNode("node-1").name(), "") << "a stranger is no node";
}

TEST_F(AgentVersionsTest, ARefusedNodesJobRunsOnAndIsNotStartedTwice) {
  auto old = std::make_unique<FakeAgent>(channel_, Hello("node-1", 1, 0));
  ASSERT_TRUE(old->WaitWelcome());
  const std::uint64_t job = MustSubmit(Spec("survives"));
  ASSERT_TRUE(old->WaitLaunch(job));
  old->Report({Observed(job, 1, 0, ObservedTask::RUNNING, 5)});
  WaitState(job, "running");
  FakeAgent other(channel_, Hello("node-2", 1, 1));
  ASSERT_TRUE(other.WaitWelcome());
  EXPECT_TRUE(old->Close().ok());
  ASSERT_TRUE(Eventually([&] { return GetNode("node-1").state() == "silent"; }));
  {
    FakeAgent agent(channel_, Hello("node-1", 9, 9));
    EXPECT_FALSE(agent.WaitWelcome());
  }
  ASSERT_TRUE(Eventually([&] { return GetNode("node-1").state() == "refused"; }));
  EXPECT_THAT(GetNode("node-1").message(), HasSubstr("upgrade"));
  EXPECT_EQ(GetJob(job).state(), "running");
  FakeAgent upgraded(channel_, Hello("node-1", 1, 3));
  ASSERT_TRUE(upgraded.WaitWelcome());
  upgraded.Report({Observed(job, 1, 0, ObservedTask::RUNNING, 6)});
  const v1::Job adopted = WaitJob(
      job, [](const v1::Job& j) { return j.attempts(0).last_step() == 6; }, "the step after the upgrade");
  EXPECT_EQ(adopted.attempts_size(), 1);
  EXPECT_EQ(GetNode("node-1").state(), "ready");
}

}  // namespace
}  // namespace glim::server
