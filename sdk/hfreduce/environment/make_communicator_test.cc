#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <span>
#include <utility>

#include "sdk/base/testing/waits.h"
#include "sdk/hfreduce/environment/make_communicator.h"
#include "sdk/hfreduce/node/testing/forked.h"
#include "sdk/hfreduce/rendezvous/tcp_store.h"

namespace glim::hfreduce {
namespace {

using testing::Forked;

std::uint16_t FreePort() { return TcpStore::Create({.serve = true}).value()->port(); }

// Two nodes with two ranks each, all on this machine.
Environment EnvironmentOfRank(std::uint32_t rank, std::uint16_t port) {
  Environment environment{
      .topology = EvenTopology({2}, 2), .rank = rank, .store_host = "127.0.0.1", .store_port = port};
  environment.options.id = "environment-test-" + std::to_string(port);
  environment.options.transport = "tcp";
  environment.options.listen.clear();
  environment.options.timeout = LongWaitDuration();
  return environment;
}

std::string SumOfRanks(Communicator& all) {
  const auto own = static_cast<std::int32_t>(all.rank() + 1);
  std::int32_t sum = 0;
  const Status status = all.AllReduce(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(&sum, 1)),
                                      DType::kI32, ReduceOp::kSum)
                            .Wait();
  if (!status.ok()) return status.message();
  return sum == 10 ? "" : "the sum is " + std::to_string(sum);
}

// No rank takes the first communicator's store for the second's.
TEST(MakeCommunicator, AgainAndAgainOnOnePort) {
  const std::uint16_t port = FreePort();
  Forked ranks(4, [&](std::uint32_t rank) -> std::string {
    for (int round = 0; round < 20; ++round) {
      const auto made = MakeCommunicator(EnvironmentOfRank(rank, port));
      if (!made.ok()) return "round " + std::to_string(round) + ": " + made.status().message();
      if (std::string wrong = SumOfRanks(**made); !wrong.empty()) return wrong;
    }
    return "";
  });
  EXPECT_EQ(ranks.WaitAll(), "");
}

TEST(MakeCommunicator, TwoAtATime) {
  const std::uint16_t port = FreePort();
  Forked ranks(4, [&](std::uint32_t rank) -> std::string {
    const auto first = MakeCommunicator(EnvironmentOfRank(rank, port));
    if (!first.ok()) return "first: " + first.status().message();
    const auto second = MakeCommunicator(EnvironmentOfRank(rank, port));
    if (!second.ok()) return "second: " + second.status().message();
    const std::string wrong = SumOfRanks(**second);
    return wrong.empty() ? SumOfRanks(**first) : wrong;
  });
  EXPECT_EQ(ranks.WaitAll(), "");
}

TEST(MakeCommunicator, LeavesThePortFree) {
  Environment alone = EnvironmentOfRank(0, FreePort());
  alone.topology = EvenTopology({1}, 1);
  const auto made = MakeCommunicator(alone);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_TRUE(TcpStore::Create({.port = alone.store_port, .serve = true}).ok());
}

TEST(MakeCommunicator, APortThatIsTakenIsSaid) {
  const auto other = TcpStore::Create({.serve = true}).value();
  const auto made = MakeCommunicator(EnvironmentOfRank(0, other->port()));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(made.status().message(), ::testing::HasSubstr("127.0.0.1:" + std::to_string(other->port())));
}

TEST(MakeCommunicator, SaysThatRankZeroIsMissing) {
  Environment lonely = EnvironmentOfRank(1, FreePort());
  lonely.options.timeout = Milliseconds(50);
  const auto made = MakeCommunicator(lonely);
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.status().message(), ::testing::HasSubstr("127.0.0.1:" + std::to_string(lonely.store_port)));
}

// Of the process itself; each case in a process of its own, whose environment it may change.
TEST(CommunicatorFromEnvironment, ReadsTheProcessOwnVariables) {
  const std::string port = std::to_string(FreePort() - 1);
  Forked ranks(2, [&](std::uint32_t rank) -> std::string {
    const std::string number = std::to_string(rank);
    ::unsetenv("GLIM_HOSTS");
    ::unsetenv("GLIM_HFREDUCE_PORT");
    const std::pair<const char*, std::string> variables[] = {
        {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", port}, {"RANK", number},
        {"LOCAL_RANK", number},       {"WORLD_SIZE", "2"},   {"LOCAL_WORLD_SIZE", "2"}};
    for (const auto& [name, value] : variables) ::setenv(name, value.c_str(), 1);
    const auto made = CommunicatorFromEnvironment({});
    if (!made.ok()) return made.status().message();
    return (*made)->size() == 2 && (*made)->rank() == rank ? "" : "another rank or size";
  });
  EXPECT_EQ(ranks.WaitAll(), "");
}

}  // namespace
}  // namespace glim::hfreduce
