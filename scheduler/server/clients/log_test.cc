// StreamLog through an agent's ServeLogs.
#include <gmock/gmock.h>

#include <utility>

#include "scheduler/server/agents/log_tail_keeper.h"
#include "scheduler/server/testing/fake_agent.h"
#include "scheduler/server/testing/test_server.h"
#include "scheduler/store/sqlite/sqlite_db.h"

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
    std::string kept_of;
    std::int64_t first = -1;  // the offset of the first byte
    std::int64_t end = 0;     // of the log, as it was told first
    grpc::Status status;
  };
  Read ReadLog(const v1::StreamLogRequest& request, const std::function<void(const std::string&)>& on_text = nullptr) {
    grpc::ClientContext context;
    SetUser(&context);
    auto reader = client_->StreamLog(&context, request);
    Read read;
    v1::StreamLogResponse part;
    bool any = false;
    while (reader->Read(&part)) {
      if (std::exchange(any, true)) {
        EXPECT_EQ(part.offset(), read.first + static_cast<std::int64_t>(read.text.size()));
      } else {
        read.first = part.offset();
        read.end = part.log_end();
        EXPECT_TRUE(request.offset() < 0 || read.first == request.offset()) << read.first;
      }
      EXPECT_EQ(part.attempt(), 1u);
      read.text += part.data();
      read.kept_of = part.kept_of_node();
      if (on_text) on_text(read.text);
    }
    read.status = reader->Finish();
    return read;
  }
  // What the scheduler has kept of it, once its node is gone. Asks the store's own row, so that it changes nothing.
  std::string Kept(std::uint64_t job) {
    auto db = store::SqliteDb::Open((folder_ / "glim.db").string());
    if (!db.ok()) return "";
    const std::string sql = "SELECT coalesce(max(CAST(data AS TEXT)), '') FROM log_tails WHERE job_id = ";
    return (*db)->QueryText((sql + std::to_string(job)).c_str()).value();
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

TEST_F(LogTest, ReadsSoManyBytesFromAnOffsetOrBeforeTheEnd) {
  const std::uint64_t job = Started("talks");
  logs_->Append(Name(job), "step 1\nstep 2\nstep 3\n", false);
  ASSERT_TRUE(Eventually([&] { return ReadLog(Of(job)).status.ok(); }));
  const auto read = [&](std::int64_t offset, std::int64_t bytes_max) {
    v1::StreamLogRequest request = Of(job);
    request.set_offset(offset);
    request.set_bytes_max(bytes_max);
    const Read read = ReadLog(request);
    EXPECT_EQ(read.end, 21) << "also where there is nothing to read";
    return std::to_string(read.first) + ":" + read.text;
  };
  EXPECT_EQ(read(-7, 0), "14:step 3\n");
  EXPECT_EQ(read(-15, 9), "6:\nstep 2\ns");
  EXPECT_EQ(read(0, 10), "0:step 1\nste");
  EXPECT_EQ(read(-1000, 2), "0:st") << "from the beginning of a shorter one";
  EXPECT_EQ(read(21, 0), "21:");
}

TEST_F(LogTest, WhoFollowsFromBeforeTheEndMissesNothing) {
  const std::uint64_t job = Started("talks");
  logs_->Append(Name(job), "one\ntwo\n", false);
  ASSERT_TRUE(Eventually([&] { return ReadLog(Of(job)).status.ok(); }));
  v1::StreamLogRequest request = Of(job, true);
  request.set_offset(-4);
  const Read read = ReadLog(request, [&](const std::string& text) {
    if (text == "two\n") logs_->Append(Name(job), "three\nfour\n", true);
  });
  EXPECT_EQ(read.text, "two\nthree\nfour\n");
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
  request.set_bytes_max(-1);
  EXPECT_EQ(DetailOf(ReadLog(request).status).field(), "bytes_max");
}

TEST_F(LogTest, TheEndOfALogOutlivesItsNode) {
  const std::uint64_t job = Started("talks");
  logs_->Append(Name(job), "step 1\nTraceback: out of luck\n", true);
  ASSERT_TRUE(Eventually([&] { return ReadLog(Of(job)).status.ok(); }));
  agent_->Report({Observed(job, 1, 0, ObservedTask::RELEASED)});
  WaitState(job, "succeeded");
  ASSERT_TRUE(Eventually([&] { return Kept(job) == "step 1\nTraceback: out of luck\n"; }));
  logs_.reset();
  agent_.reset();
  // Its streams end a moment after the node.
  ASSERT_TRUE(Eventually([&] { return ReadLog(Of(job)).kept_of == "node-1"; }));
  EXPECT_EQ(ReadLog(Of(job)).text, "step 1\nTraceback: out of luck\n");
  v1::StreamLogRequest rest = Of(job);
  rest.set_offset(7);
  EXPECT_EQ(ReadLog(rest).text, "Traceback: out of luck\n");
  rest.set_offset(-5);
  rest.set_bytes_max(3);
  EXPECT_EQ(ReadLog(rest).text, "luc");
  v1::StreamLogRequest other = Of(job);
  other.set_attempt(2);
  EXPECT_EQ(ReadLog(other).status.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(LogTest, AnEndThatCouldNotBeFetchedIsFetchedWhenItsNodeIsBack) {
  logs_.reset();
  const std::uint64_t job = Started("talks");
  agent_->Report({Observed(job, 1, 0, ObservedTask::RELEASED)});
  WaitState(job, "succeeded");
  EXPECT_EQ(Kept(job), "");
  // The scheduler, too, forgets what it was about to ask.
  agent_.reset();
  RestartServer();
  agent_ = std::make_unique<FakeAgent>(channel_, hello_);
  ASSERT_TRUE(agent_->WaitWelcome());
  logs_ = std::make_unique<FakeLogServer>(channel_, hello_);
  logs_->Append(Name(job), "at last\n", true);
  EXPECT_TRUE(Eventually([&] { return Kept(job) == "at last\n"; }));
}

TEST_F(LogTest, OfALongLogTheEndIsKeptFromTheBeginningOfALine) {
  const std::uint64_t job = Started("talks");
  std::string text;
  for (int line = 0; text.size() < kLogTailBytesMax + 1000; ++line) {
    text += "line " + std::to_string(line) + std::string(1 << 16, '.') + "\n";
  }
  logs_->set_chunk_bytes(1 << 16);
  logs_->Append(Name(job), text, true);
  ASSERT_TRUE(Eventually([&] { return ReadLog(Of(job)).status.ok(); }));
  agent_->Report({Observed(job, 1, 0, ObservedTask::RELEASED)});
  ASSERT_TRUE(Eventually([&] { return !Kept(job).empty(); }));
  const std::string kept = Kept(job);
  EXPECT_LE(kept.size(), kLogTailBytesMax);
  EXPECT_TRUE(kept.starts_with("line 2.")) << kept.substr(0, 20);
  EXPECT_TRUE(text.ends_with(kept));
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
  EXPECT_LT(std::chrono::steady_clock::now() - begin, LongWait()) << "it does not wait for the other side";
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
