// What an agent says of epochs ends no scheduler: the store is asked, once a second, and alone decides.
#include "scheduler/server/agents/leader_check.h"

#include <gmock/gmock.h>

#include <atomic>
#include <future>

#include "scheduler/server/testing/fake_agent.h"
#include "scheduler/server/testing/test_server.h"
#include "scheduler/store/memory/memory_store.h"
#include "scheduler/store/sqlite/sqlite_db.h"

namespace glim::server {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kAbsurd = ~std::uint64_t{0};

class LeaderCheckTest : public ServerTest {
 protected:
  v1::Hello HelloWithEpoch(std::uint64_t epoch, const std::string& name = "node-1") {
    v1::Hello hello = MakeHello(server_->cluster_id(), name);
    hello.set_epoch(epoch);
    return hello;
  }
  grpc::Status Refusal(const v1::Hello& hello) {
    FakeAgent agent(channel_, hello);
    EXPECT_FALSE(agent.WaitWelcome());
    return agent.WaitEnd().value_or(grpc::Status::OK);
  }
  std::string StoreFile() const { return (folder_ / "glim.db").string(); }
  // As a second leader would leave it in a store that both share.
  void SetEpochInStore(std::uint64_t epoch) {
    auto db = store::SqliteDb::Open(StoreFile());
    ASSERT_TRUE(db.ok()) << db.status().message();
    ASSERT_TRUE((*db)->Exec("PRAGMA busy_timeout = 5000").ok());
    const std::string sql = "UPDATE meta SET value = '" + std::to_string(epoch) + "' WHERE key = 'epoch'";
    ASSERT_TRUE((*db)->Exec(sql.c_str()).ok());
  }
};

TEST_F(LeaderCheckTest, AnEpochThatTheStoreDoesNotKnowEndsOnlyItsStream) {
  for (const std::uint64_t claimed : {server_->snapshot()->epoch + 1, kAbsurd}) {
    const grpc::Status status = Refusal(HelloWithEpoch(claimed));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(std::to_string(claimed)));
    EXPECT_EQ(DetailOf(status).reason(), "EPOCH_AHEAD");
    EXPECT_EQ(DetailOf(status).field(), "epoch");
    EXPECT_THAT(DetailOf(status).fix(), HasSubstr("desired.pb"));
  }
  EXPECT_EQ(GetNode("node-1").name(), "") << "it was not let in";
  FakeAgent good(channel_, HelloWithEpoch(0, "node-2"));
  ASSERT_TRUE(good.WaitWelcome());
  EXPECT_TRUE(good.WaitLaunch(MustSubmit(Spec("goes-on"))));
}

TEST_F(LeaderCheckTest, ALeaderThatTheStoreKnowsToBeStaleEnds) {
  server_.reset();
  std::atomic<bool> ended = false;
  auto server = Server::Start(config_, [&](const Status& status) { ended = status.reason() == "STALE_EPOCH"; });
  ASSERT_TRUE(server.ok());
  server_ = std::move(server).value();
  channel_ = grpc::CreateChannel("127.0.0.1:" + std::to_string(port()), grpc::InsecureChannelCredentials());
  client_ = v1::ClientApi::NewStub(channel_);
  const std::uint64_t successor = server_->snapshot()->epoch + 1;
  SetEpochInStore(successor);
  const grpc::Status status = Refusal(HelloWithEpoch(successor));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(Eventually([&] { return ended.load(); }));
  v1::SubmitRequest request;
  *request.add_specs() = Spec("too-late");
  v1::SubmitResponse response;
  EXPECT_EQ(Submit(request, &response).error_code(), grpc::StatusCode::UNAVAILABLE);
}

// What the store says of a leader that came after us is not seen by whoever asks within the same second.
TEST_F(LeaderCheckTest, TheStoreIsAskedOnceASecond) {
  std::atomic<std::int64_t> now_ms{1'000'000};
  SchedulerLoop::Options options;
  options.clock = [&] { return TimePoint{now_ms.load()}; };
  std::atomic<int> fatal = 0;
  options.on_fatal = [&](const Status&) { ++fatal; };
  auto data = std::make_shared<store::MemoryData>();
  auto loop = SchedulerLoop::Open(std::move(options), std::make_unique<store::MemoryStore>(data));
  ASSERT_TRUE(loop.ok());
  (*loop)->Start();
  AgentStrand strand;
  LeaderCheck check(&strand, loop->get());
  const auto ask = [&] {
    std::promise<std::uint64_t> told;
    strand.Post([&] { check.Ask([&](const Result<std::uint64_t>& newest) { told.set_value(*newest); }); });
    return told.get_future().get();
  };
  const std::uint64_t ours = (*loop)->epoch();
  EXPECT_EQ(ask(), ours);
  std::promise<void> raised;
  ASSERT_TRUE((*loop)
                  ->Read([&](store::Store&) {
                    data->epoch = ours + 1;
                    raised.set_value();
                  })
                  .ok());
  raised.get_future().get();
  now_ms += 999;
  EXPECT_EQ(ask(), ours);
  EXPECT_EQ(fatal, 0);
  now_ms += 1;
  EXPECT_EQ(ask(), ours + 1);
  EXPECT_TRUE(Eventually([&] { return fatal == 1; }));
  (*loop)->Stop();
  strand.Stop();
}

}  // namespace
}  // namespace glim::server
