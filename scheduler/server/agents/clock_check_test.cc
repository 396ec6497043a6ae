// A node whose clock is far behind: the agent and `glim nodes` say so.
#include "scheduler/server/agents/clock_check.h"

#include <gmock/gmock.h>

#include "scheduler/server/testing/fake_agent.h"
#include "scheduler/server/testing/test_server.h"

namespace glim::server {
namespace {

using ::testing::HasSubstr;

constexpr TimePoint kClockNow{1'800'000'000'000};
constexpr std::uint64_t kEpoch = 1'800'000'000 - 3600;  // this leader is an hour old

v1::Hello Behind(Duration behind, std::uint64_t accepted = 0) {
  v1::Hello hello;
  hello.set_clock_ms((kClockNow - behind).ms);
  hello.set_epoch(accepted);
  return hello;
}

TEST(ClockCheck, RefusesWhoWouldNotBelieveTheEpoch) {
  const Status refused = CheckClock(Behind(Hours(30)), kEpoch, kClockNow);
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.reason(), "EPOCH_AHEAD");
  EXPECT_THAT(refused.message(), HasSubstr("the clock of this node is 30 h behind the scheduler's"));
  EXPECT_THAT(refused.fix(), HasSubstr("set the node's clock"));
}

TEST(ClockCheck, LetsInWhoBelieves) {
  EXPECT_TRUE(CheckClock(Behind(Hours(23)), kEpoch, kClockNow).ok());
  EXPECT_TRUE(CheckClock(Behind(Hours(24) + Minutes(30)), kEpoch, kClockNow).ok()) << "the epoch is an hour old";
  EXPECT_TRUE(CheckClock(Behind(Hours(900), kEpoch), kEpoch, kClockNow).ok()) << "it follows this leader already";
  EXPECT_TRUE(CheckClock(Behind(Hours(-900)), kEpoch, kClockNow).ok()) << "ahead is no matter";
  EXPECT_TRUE(CheckClock(v1::Hello(), kEpoch, kClockNow).ok()) << "an agent of before does not tell";
}

class ClockCheckTest : public ServerTest {};

TEST_F(ClockCheckTest, TheNodeSaysHowFarItsClockIsBehind) {
  v1::Hello hello = MakeHello(server_->cluster_id(), "node-1");
  auto before = std::make_unique<FakeAgent>(channel_, hello);
  ASSERT_TRUE(before->WaitWelcome());
  EXPECT_TRUE(before->Close().ok());
  ASSERT_TRUE(Eventually([&] { return GetNode("node-1").state() == "silent"; }));
  hello.set_clock_ms(1'000'000);  // a machine that lost its clock
  FakeAgent agent(channel_, hello);
  EXPECT_FALSE(agent.WaitWelcome());
  EXPECT_EQ(DetailOf(agent.WaitEnd().value_or(grpc::Status::OK)).reason(), "EPOCH_AHEAD");
  ASSERT_TRUE(Eventually([&] { return GetNode("node-1").state() == "refused"; }));
  EXPECT_THAT(GetNode("node-1").message(), HasSubstr("h behind the scheduler's"));
  EXPECT_THAT(GetNode("node-1").message(), HasSubstr("set the node's clock"));
}

}  // namespace
}  // namespace glim::server
