// One client floods, and another is served: by user, by peer, then all together.
#include <gmock/gmock.h>

#include <atomic>
#include <deque>
#include <filesystem>
#include <vector>

#include "scheduler/server/testing/fake_agent.h"
#include "scheduler/server/testing/test_server.h"

namespace glim::server {
namespace {

using ::testing::HasSubstr;

class FloodTest : public ServerTest {
 protected:
  // A server with these limits.
  void Use(const std::string& limits) {
    const Status read = ReadConfigText("limits: " + limits, "test", &config_);
    ASSERT_TRUE(read.ok()) << read.message();
    RestartServer();
  }
  grpc::Status Get(const std::string& user) {
    grpc::ClientContext context;
    SetUser(&context, user);
    v1::ListJobsResponse response;
    return client_->ListJobs(&context, {}, &response);
  }
  // One that follows all events, and has read where it stands: it is open.
  struct Follower {
    Follower(v1::ClientApi::Stub* client, const std::string& user) {
      SetUser(&context, user);
      v1::StreamEventsRequest request;
      request.set_follow(true);
      stream = client->StreamEvents(&context, request);
      open = stream->Read(&page);
    }
    ~Follower() { context.TryCancel(); }
    grpc::Status End() { return stream->Finish(); }
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::StreamEventsResponse>> stream;
    v1::StreamEventsResponse page;
    bool open = false;
  };
};

TEST_F(FloodTest, WhoOpensManyStreamsIsRefusedByTheirOwnBoundAndAnotherIsServed) {
  Use("{user: {streams: 8}, peer: {streams: 12}, all: {streams: 20}}");
  std::deque<Follower> floods;
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(floods.emplace_back(client_.get(), "flood").open);
  Follower ninth(client_.get(), "flood");
  ASSERT_FALSE(ninth.open);
  const grpc::Status refused = ninth.End();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(DetailOf(refused).reason(), "OVERLOADED");
  EXPECT_EQ(DetailOf(refused).field(), "limits.user.streams");
  EXPECT_THAT(refused.error_message(), HasSubstr("user flood has as many logs and events being read as may be: 8"));
  EXPECT_THAT(DetailOf(refused).fix(), HasSubstr("try again in 10 s"));

  EXPECT_TRUE(Follower(client_.get(), "kim").open);
  grpc::ClientContext context;
  SetUser(&context, "flood");
  v1::StreamLogResponse part;
  const auto log = client_->StreamLog(&context, {});
  EXPECT_FALSE(log->Read(&part));
  EXPECT_EQ(DetailOf(log->Finish()).field(), "limits.user.streams") << "logs and events count together";

  // Names are free to be made up until there are tokens: then the peer's bound holds.
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(floods.emplace_back(client_.get(), "made-up-" + std::to_string(i)).open);
  Follower more(client_.get(), "made-up-9");
  ASSERT_FALSE(more.open);
  EXPECT_EQ(DetailOf(more.End()).field(), "limits.peer.streams");

  floods.clear();
  EXPECT_TRUE(Eventually([&] { return Follower(client_.get(), "flood").open; })) << "what is ended is given back";
}

TEST_F(FloodTest, WhoAsksWithoutAPauseIsRefusedAndAnotherIsServed) {
  Use("{user: {requests_per_second: 20}}");
  FakeAgent agent(channel_, MakeHello(server_->cluster_id(), "node-1"));
  ASSERT_TRUE(agent.WaitWelcome());
  std::atomic<bool> stop = false;
  std::atomic<int> served = 0, refused = 0, wrong = 0;
  std::vector<std::jthread> floods;
  for (int i = 0; i < 4; ++i) {
    floods.emplace_back([&] {
      while (!stop) {
        const grpc::Status status = Get("flood");
        if (status.ok()) {
          ++served;
        } else if (DetailOf(status).field() == "limits.user.requests_per_second") {
          ++refused;
        } else {
          ++wrong;
        }
      }
    });
  }
  ASSERT_TRUE(Eventually([&] { return refused >= 200; }));
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(Get("kim").ok()) << i;
  MustSubmit(Spec("in-between"));
  stop = true;
  floods.clear();  // joins
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(served, 100) << "the burst";
}

std::uintmax_t BytesIn(const std::filesystem::path& folder) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

// tests/e2e/test_floods.py has a minute of it, in every way, and the memory of a whole scheduler.
TEST_F(FloodTest, WhoSubmitsAllTheTimeIsToldBothBoundsAndTheStoreStaysSmall) {
  constexpr std::int64_t kMost = std::int64_t{4} << 20;
  config_.policy.unfinished_spec_bytes_per_user_max = kMost;
  Use("{user: {changes_kib_per_second: 64}}");  // 8 MiB at once
  FakeAgent agent(channel_, MakeHello(server_->cluster_id(), "node-1"));
  ASSERT_TRUE(agent.WaitWelcome());
  const std::uintmax_t before = BytesIn(folder_);
  v1::SubmitRequest request;
  for (int i = 0; i < 4; ++i) {
    v1::JobSpec* const spec = request.add_specs();
    *spec = Spec("wide-" + std::to_string(i));
    for (int j = 0; j < 15; ++j) {
      auto* var = spec->add_env();
      var->set_name("V" + std::to_string(j));
      var->set_value(std::string(16'000, 'x'));
    }
  }
  std::vector<std::uint64_t> mine;
  const auto submit = [&] {
    v1::SubmitResponse response;
    grpc::Status status = Submit(request, &response, "flood");
    mine.insert(mine.end(), response.job_ids().begin(), response.job_ids().end());
    return status;
  };
  grpc::Status refused;
  while (refused.ok()) refused = submit();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(DetailOf(refused).reason(), "TOO_MANY_BYTES");
  EXPECT_EQ(DetailOf(refused).field(), "specs[0].env");
  EXPECT_EQ(mine.size(), 16u) << "4 MiB of 240 KiB each, four at a time";
  // Who makes room for more is held to the rate.
  for (std::size_t next = 0; DetailOf(refused).reason() == "TOO_MANY_BYTES"; ++next) {
    ASSERT_LT(next, mine.size());
    grpc::ClientContext context;
    SetUser(&context, "flood");
    v1::CancelRequest cancel;
    cancel.set_job_id(mine[next]);
    v1::CancelResponse cancelled;
    refused = client_->Cancel(&context, cancel, &cancelled);
    while (refused.ok()) refused = submit();
  }
  EXPECT_EQ(DetailOf(refused).field(), "limits.user.changes_kib_per_second");
  EXPECT_LT(BytesIn(folder_) - before, 3 * kMost) << "jobs, a quarter of them ended, and SQLite's log";
  MustSubmit(Spec("modest"), "kim");
}

// tests/e2e/test_floods.py has the caller who does not take them.
TEST_F(FloodTest, AnswersThatAreTakenGiveTheirBytesBack) {
  Use("{user: {queued_mib: 1}}");
  v1::JobSpec spec = Spec("wide");
  for (int i = 0; i < 8; ++i) {
    auto* var = spec.add_env();
    var->set_name("V" + std::to_string(i));
    var->set_value(std::string(1 << 14, 'x'));
  }
  FakeAgent agent(channel_, MakeHello(server_->cluster_id(), "node-1"));
  ASSERT_TRUE(agent.WaitWelcome());
  const std::uint64_t job = MustSubmit(spec);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(GetJob(job).spec().env_size(), 8);
}

// Whoever opens streams and says nothing keeps no agent out.
TEST_F(FloodTest, SilentStreamsAreBoundedByPeer) {
  Use("{peer: {agent_hellos: 3}}");
  const auto stub = v1::AgentApi::NewStub(channel_);
  std::deque<grpc::ClientContext> contexts;
  std::vector<std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::SchedulerMessage>>> silent;
  // Three are let in and wait for a hello; which of six these are nobody knows.
  for (int i = 0; i < 6; ++i) silent.push_back(stub->Sync(&contexts.emplace_back()));
  // One more, which may come to the server before some of the six: then it is let in, and another is not.
  grpc::Status refused;
  const auto is_refused = [&] {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + Slower(std::chrono::seconds(2)));
    const auto next = stub->Sync(&context);
    v1::SchedulerMessage message;
    if (next->Read(&message)) return false;
    refused = next->Finish();
    return refused.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
  };
  ASSERT_TRUE(Eventually(is_refused)) << refused.error_message();
  EXPECT_EQ(DetailOf(refused).field(), "limits.peer.agent_hellos");
  EXPECT_THAT(DetailOf(refused).fix(), HasSubstr("try again in 10 s"));
  for (grpc::ClientContext& context : contexts) context.TryCancel();
  EXPECT_TRUE(Eventually([&] {
    FakeAgent agent(channel_, MakeHello(server_->cluster_id(), "node-1"));
    return agent.WaitWelcome().has_value();
  }));
}

}  // namespace
}  // namespace glim::server
