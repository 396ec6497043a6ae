// StreamLog through an agent's ServeLogs.
#include <gmock/gmock.h>

#include "scheduler/server/testing/fake_agent.h"
#include "scheduler/server/testing/test_server.h"

namespace glim::server {
namespace {

using v1::ObservedTask;

class LogTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    hello_ = MakeHello(server_->cluster_id(), "node-1");
    agent_ = std::make_unique<FakeAgent>(channel_, hello_);
    ASSERT_TRUE(agent_->WaitWelcome());
    logs_ = std::make_unique<FakeLogServer>(channel_, hello_);
  }
  void TearDown() override {
    logs_.reset();
    agent_.reset();
    ServerTest::TearDown();
  }
  std::uint64_t Started(const std::string& name) {
    const std::uint64_t job = MustSubmit(Spec(name));
    EXPECT_TRUE(agent_->WaitLaunch(job));
    agent_->Report({Observed(job, 1, 0, ObservedTask::RUNNING)});
    WaitState(job, "running");
    return job;
  }
  struct Read {
    std::string text;
    grpc::Status status;
  };
  Read ReadLog(const v1::StreamLogRequest& request, const std::function<void(const std::string&)>& on_text = nullptr) {
    grpc::ClientContext context;
    SetUser(&context);
    auto reader = client_->StreamLog(&context, request);
    Read read;
    v1::StreamLogResponse part;
    while (reader->Read(&part)) {
      EXPECT_EQ(part.offset(), request.offset() + static_cast<std::int64_t>(read.text.size()));
      EXPECT_EQ(part.attempt(), 1u);
      read.text += part.data();
      if (on_text) on_text(read.text);
    }
    read.status = reader->Finish();
    return read;
  }
  v1::StreamLogRequest Of(std::uint64_t job, bool follow = false) {
    v1::StreamLogRequest request;
    request.set_job_id(job);
    request.set_follow(follow);
    return request;
  }
  static std::string Name(std::uint64_t job) { return std::to_string(job) + ".1.0"; }

  v1::Hello hello_;
  std::unique_ptr<FakeAgent> agent_;
  std::unique_ptr<FakeLogServer> logs_;
};

TEST_F(LogTest, ReadsWhatIsThereInParts) {
  const std::uint64_t job = Started("talks");
  logs_->Append(Name(job), "step 1\nstep 2\nstep 3\n", false);
  // The log stream may come up after the job: until then the refusal says so.
  Read read;
  ASSERT_TRUE(Eventually([&] { return (read = ReadLog(Of(job))).status.ok(); })) << read.status.error_message();
  EXPECT_EQ(read.text, "step 1\nstep 2\nstep 3\n");
  v1::StreamLogRequest rest = Of(job);
  rest.set_offset(14);
  EXPECT_EQ(ReadLog(rest).text, "step 3\n");
}

TEST_F(LogTest, FollowsToTheEndOfTheLog) {
  const std::uint64_t job = Started("talks");
  logs_->Append(Name(job), "begin\n", false);
  const Read read = ReadLog(Of(job, true), [&](const std::string& text) {
    if (text == "begin\n") {
      // The attempt ends, and the log goes on for a line more.
      agent_->Report({Observed(job, 1, 0, ObservedTask::RELEASED)});
      WaitState(job, "succeeded");
      logs_->Append(Name(job), "end\n", true);
    }
  });
  EXPECT_TRUE(read.status.ok()) << read.status.error_message();
  EXPECT_EQ(read.text, "begin\nend\n");
}

TEST_F(LogTest, FollowingAQueuedJobWaitsForItsFirstAttempt) {
  const std::uint64_t blocking = Started("in-the-way");
  const std::uint64_t job = MustSubmit(Spec("waits"));
  const Read refused = ReadLog(Of(job));
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(DetailOf(refused.status).reason(), "NO_LOG_YET");
  EXPECT_FALSE(DetailOf(refused.status).fix().empty());

  logs_->Append(Name(job), "at last\n", true);
  Read read;
  std::thread follower([&] { read = ReadLog(Of(job, true)); });
  agent_->Report({Observed(blocking, 1, 0, ObservedTask::RELEASED)});
  EXPECT_TRUE(agent_->WaitLaunch(job));
  agent_->Report({Observed(job, 1, 0, ObservedTask::RUNNING)});
  follower.join();
  EXPECT_TRUE(read.status.ok()) << read.status.error_message();
  EXPECT_EQ(read.text, "at last\n");
}

TEST_F(LogTest, WrongQuestionsAreAnswered) {
  const std::uint64_t job = Started("talks");
  EXPECT_EQ(ReadLog(Of(4711)).status.error_code(), grpc::StatusCode::NOT_FOUND);
  v1::StreamLogRequest request = Of(job);
  request.set_rank(5);
  EXPECT_EQ(DetailOf(ReadLog(request).status).field(), "rank");
  request = Of(job);
  request.set_attempt(3);
  EXPECT_EQ(DetailOf(ReadLog(request).status).field(), "attempt");
  request = Of(job);
  request.set_offset(-1);
  EXPECT_EQ(DetailOf(ReadLog(request).status).field(), "offset");
}

TEST_F(LogTest, ANodeThatServesNoLogsIsSaidToBeSo) {
  const std::uint64_t job = Started("talks");
  logs_.reset();
  Read read;
  EXPECT_TRUE(Eventually([&] {
    read = ReadLog(Of(job));
    return read.status.error_code() == grpc::StatusCode::UNAVAILABLE;
  })) << read.status.error_message();
  EXPECT_EQ(DetailOf(read.status).reason(), "NO_LOG_STREAM");
}

TEST_F(LogTest, FollowersAreToldOfAStop) {
  const std::uint64_t job = Started("talks");
  logs_->Append(Name(job), "begin\n", false);
  std::thread stopper;
  const Read read =
      ReadLog(Of(job, true), [&](const std::string&) { stopper = std::thread([&] { server_->Stop(); }); });
  ASSERT_TRUE(stopper.joinable());
  const auto begin = std::chrono::steady_clock::now();
  stopper.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_EQ(read.status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(LogTest, LogStreamsOfStrangersAreRefused) {
  v1::Hello stranger = hello_;
  stranger.set_machine_id("somebody-else");
  FakeLogServer second(channel_, stranger);
  ASSERT_TRUE(second.ended());
  EXPECT_EQ(second.ended()->error_code(), grpc::StatusCode::ALREADY_EXISTS);
  stranger = hello_;
  stranger.set_cluster_id("another");
  FakeLogServer third(channel_, stranger);
  ASSERT_TRUE(third.ended());
  EXPECT_EQ(third.ended()->error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

}  // namespace
}  // namespace glim::server
