// What a message may be: not packed, not too long; and what is too long for an agent fails its job, not the stream.
#include <gmock/gmock.h>

#include "scheduler/server/testing/fake_agent.h"
#include "scheduler/server/testing/test_server.h"

namespace glim::server {
namespace {

using ::testing::HasSubstr;

class AgentLimitsTest : public ServerTest {
 protected:
  v1::Hello Hello(const std::string& name) { return MakeHello(server_->cluster_id(), name); }
};

// 64 MiB of zeros are 64 KiB when they are packed.
TEST_F(AgentLimitsTest, PackedMessagesAreRefusedUnopened) {
  v1::SubmitRequest bomb;
  bomb.add_specs()->set_run(std::string(64 << 20, '\0'));
  grpc::ChannelArguments arguments;
  arguments.SetCompressionAlgorithm(GRPC_COMPRESS_GZIP);
  const auto channel =
      grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port()), grpc::InsecureChannelCredentials(), arguments);
  const auto client = v1::ClientApi::NewStub(channel);
  for (int i = 0; i < 3; ++i) {
    grpc::ClientContext context;
    SetUser(&context);
    v1::SubmitResponse response;
    const grpc::Status status = client->Submit(&context, bomb, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << status.error_message();
  }
  v1::Hello hello = Hello("node-1");
  hello.set_boot_id(std::string(64 << 20, 'b'));
  FakeAgent agent(channel, hello);
  EXPECT_FALSE(agent.WaitWelcome());
  EXPECT_EQ(agent.WaitEnd()->error_code(), grpc::StatusCode::UNIMPLEMENTED);
  FakeAgent good(channel_, Hello("node-1"));
  EXPECT_TRUE(good.WaitWelcome()) << "the scheduler goes on";
}

TEST_F(AgentLimitsTest, AMessageThatIsTooLongIsRefusedUnread) {
  v1::Hello hello = Hello("node-1");
  hello.set_boot_id(std::string(5 << 20, 'b'));
  FakeAgent agent(channel_, hello);
  EXPECT_FALSE(agent.WaitWelcome());
  const grpc::Status status = *agent.WaitEnd();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("bytes long"));
  EXPECT_THAT(DetailOf(status).fix(), HasSubstr("4194304"));
}

// The largest env that a spec may have reaches an agent of the first release; beyond what it takes the job fails.
TEST_F(AgentLimitsTest, TheLargestSpecIsLaunchedAndALargerOneIsRefusedWithItsSum) {
  FakeAgent agent(channel_, Hello("node-1"));
  ASSERT_TRUE(agent.WaitWelcome());
  v1::JobSpec spec = Spec("large");
  std::size_t left = 256 * 1024 - spec.run().size();
  for (int i = 0; left > 0; ++i) {
    auto* var = spec.add_env();
    var->set_name("V" + std::to_string(i));
    const std::size_t value = std::min<std::size_t>(left - var->name().size(), 16 * 1024);
    var->set_value(std::string(value, 'x'));
    left -= value + var->name().size();
    if (left < 4) break;
  }
  EXPECT_TRUE(agent.WaitLaunch(MustSubmit(spec)));
  auto* more = spec.add_env();
  more->set_name("MORE");
  more->set_value("x");
  v1::SubmitRequest request;
  *request.add_specs() = spec;
  v1::SubmitResponse response;
  const grpc::Status status = Submit(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(DetailOf(status).field(), HasSubstr("env"));
  EXPECT_THAT(DetailOf(status).fix(), HasSubstr("262144"));
}

// An order that its agent would not take: before, each message of its node broke the stream, for as long as it queued.
TEST_F(AgentLimitsTest, AnOrderThatDoesNotFitFailsTheJobAndNotTheStream) {
  v1::Hello hello = Hello("node-1");
  hello.set_message_bytes_max(64 << 10);
  FakeAgent agent(channel_, hello);
  ASSERT_TRUE(agent.WaitWelcome());
  v1::JobSpec spec = Spec("poison");
  for (int i = 0; i < 8; ++i) {
    auto* var = spec.add_env();
    var->set_name("V" + std::to_string(i));
    var->set_value(std::string(16 * 1024, 'x'));
  }
  const std::uint64_t poison = MustSubmit(spec);
  const v1::Job failed = WaitState(poison, "failed");
  EXPECT_EQ(failed.attempts_size(), 1) << "it is not tried on one node after the other";
  EXPECT_THAT(failed.message(), HasSubstr("65536"));
  EXPECT_TRUE(agent.WaitLaunch(MustSubmit(Spec("next")))) << "on the same stream";
}

// Both kinds of streams, at once: it takes as long as the bound.
TEST_F(AgentLimitsTest, WhoSaysNothingIsSentAway) {
  const auto stub = v1::AgentApi::NewStub(channel_);
  grpc::ClientContext sync_context, logs_context;
  for (grpc::ClientContext* context : {&sync_context, &logs_context}) {
    context->set_deadline(std::chrono::system_clock::now() + LongWait());
  }
  const auto sync = stub->Sync(&sync_context);
  const auto logs = stub->ServeLogs(&logs_context);
  v1::SchedulerMessage message;
  EXPECT_FALSE(sync->Read(&message));
  EXPECT_THAT(sync->Finish().error_message(), HasSubstr("no hello within"));
  v1::LogRequest request;
  EXPECT_FALSE(logs->Read(&request));
  EXPECT_THAT(logs->Finish().error_message(), HasSubstr("who serves"));
}

}  // namespace
}  // namespace glim::server
