// What ranks are told when one of them dies, stalls, gives up or asks for something else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <tuple>
#include <vector>

#include "sdk/base/testing/waits.h"
#include "sdk/hfreduce/communicator/testing/ranks.h"
#include "sdk/hfreduce/transport/ucx_transport.h"

namespace glim::hfreduce {
namespace {

using testing::Forked;
using ::testing::HasSubstr;
using testing::Ranks;
using testing::TestCommunicator;

// A rank's 60 MiB, over and over, until that fails; says how.
std::string ReduceUntilItFails(Communicator& all) {
  std::vector<std::byte> buffer(std::size_t{60} << 20);
  for (;;) {
    const Status status = all.AllReduce(buffer, buffer, DType::kF32, ReduceOp::kSum).Wait();
    if (!status.ok()) return status.message();
  }
}

class Death : public ::testing::TestWithParam<std::tuple<std::string, std::uint32_t>> {};

TEST_P(Death, IsToldToAllWithTheNameOfTheNode) {
  const auto& [transport, victim] = GetParam();
  if (transport == "ucx" && !UcxIsBuilt()) GTEST_FAIL() << "this build has no UCX: install libucx-dev";
  const Topology topology = EvenTopology({2, 1}, 2);  // ranks 0-1, 2-3, 4-5
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  Ranks ranks(topology, TestCommunicator(transport), [&](Communicator& all) -> std::string {
    if (!all.Barrier().Wait().ok() || ::write(ready[1], "x", 1) != 1) return "no barrier";
    return ReduceUntilItFails(all);
  });
  for (std::uint32_t rank = 0; rank < topology.ranks(); ++rank) {
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  }
  ranks.forked().Signal(victim, SIGKILL);
  for (std::uint32_t rank = 0; rank < topology.ranks(); ++rank) {
    const std::string said = ranks.forked().Wait(rank);
    if (rank == victim) continue;
    // On its own node the rank is known, elsewhere the node; a leader's death may be seen as either.
    const std::string node = "node " + std::to_string(topology.NodeOf(victim));
    const std::string process = "rank " + std::to_string(victim);
    EXPECT_THAT(said, ::testing::AnyOf(HasSubstr(node), HasSubstr(process))) << "rank " << rank;
  }
  EXPECT_THAT(testing::SegmentFilesOf(""), ::testing::IsEmpty());
  ::close(ready[0]);
  ::close(ready[1]);
}

INSTANTIATE_TEST_SUITE_P(Of, Death,
                         ::testing::Combine(::testing::ValuesIn(testing::TransportsHere()), ::testing::Range(0u, 6u)),
                         [](const auto& info) {
                           return std::get<0>(info.param) + "_rank_" + std::to_string(std::get<1>(info.param));
                         });

// Rank 0 has done its part when the network has taken everything. It leaves, while rank 1 has not begun yet.
class Leaving : public ::testing::TestWithParam<std::tuple<std::string, std::size_t>> {};

TEST_P(Leaving, TakesNothingFromARankThatIsLate) {
  const std::string transport = std::get<0>(GetParam());
  const std::size_t bytes = std::get<1>(GetParam());
  if (transport == "ucx" && !UcxIsBuilt()) GTEST_FAIL() << "this build has no UCX: install libucx-dev";
  int there[2];  // rank 0 keeps it open while it lives
  ASSERT_EQ(::pipe(there), 0);
  Ranks ranks(EvenTopology({2}, 1), TestCommunicator(transport), [&](Communicator& all) -> std::string {
    if (const Status met = all.Barrier().Wait(); !met.ok()) return met.message();
    std::vector<std::byte> buffer(bytes, all.rank() == 0 ? std::byte{7} : std::byte{0});
    if (all.rank() == 1) {
      ::close(there[1]);
      pollfd gone{.fd = there[0], .events = POLLIN, .revents = 0};
      ::poll(&gone, 1, 1500);  // longer than a rank that leaves waits for one that need not hear anything
    }
    if (const Status status = all.Broadcast(buffer, 0).Wait(); !status.ok()) return status.message();
    return buffer == std::vector<std::byte>(bytes, std::byte{7}) ? "" : "something else came";
  });
  ::close(there[1]);
  EXPECT_EQ(ranks.WaitAll(), "");
  ::close(there[0]);
}

INSTANTIATE_TEST_SUITE_P(Of, Leaving,
                         ::testing::Combine(::testing::ValuesIn(testing::TransportsHere()),
                                            ::testing::Values(1000, 100'000, 400'000)),
                         [](const auto& info) {
                           return std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param));
                         });

TEST(CommunicatorFailure, WhoAsksForSomethingElseIsNamed) {
  for (const std::uint32_t odd : {1u, 2u}) {  // on the node of rank 0, and on another
    Ranks ranks(EvenTopology({2}, 2), TestCommunicator("tcp"), [&](Communicator& all) -> std::string {
      std::vector<std::byte> buffer(all.rank() == odd ? 400'000 : 800'000);
      return all.AllReduce(buffer, buffer, DType::kF32, ReduceOp::kSum).Wait().message();
    });
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      EXPECT_THAT(ranks.forked().Wait(rank), ::testing::AnyOf(HasSubstr("400000"), HasSubstr("100000")))
          << "rank " << rank << " of odd " << odd;
    }
  }
}

TEST(CommunicatorFailure, AStalledRankIsNamed) {
  CommunicatorOptions options = TestCommunicator("tcp");
  options.timeout = Slower(Seconds(4));  // which of the others has to wait for, it must not accuse
  Ranks ranks(EvenTopology({3}, 1), options, [](Communicator& all) -> std::string {
    if (!all.Barrier().Wait().ok()) return "no barrier";
    if (all.rank() == 2) ::raise(SIGSTOP);
    return ReduceUntilItFails(all);
  });
  for (const std::uint32_t rank : {0u, 1u}) EXPECT_THAT(ranks.forked().Wait(rank), HasSubstr("node 2"));
}

TEST(CommunicatorFailure, AnAbortEndsEverybodysOperationsWithItsReason) {
  Ranks ranks(EvenTopology({2}, 2), TestCommunicator("tcp"), [](Communicator& all) -> std::string {
    // The abort may come while this rank is still on its way out of the barrier.
    if (const Status met = all.Barrier().Wait(); !met.ok()) return met.message();
    if (all.rank() == 3) all.Abort("the loss is NaN");
    return ReduceUntilItFails(all);
  });
  for (std::uint32_t rank = 0; rank < 4; ++rank) EXPECT_THAT(ranks.forked().Wait(rank), HasSubstr("the loss is NaN"));
}

TEST(CommunicatorFailure, AfterAFailureNothingCanBeStarted) {
  Ranks ranks(EvenTopology({2}, 1), TestCommunicator("tcp"), [](Communicator& all) -> std::string {
    all.Abort("enough");
    std::vector<std::byte> buffer(4096);
    const Status first = all.AllReduce(buffer, buffer, DType::kF32, ReduceOp::kSum).Wait();
    const Status second = all.Barrier().Wait();
    return first.ok() || second.ok() ? "it went on" : "";
  });
  EXPECT_EQ(ranks.WaitAll(), "");
}

TEST(CommunicatorFailure, WhoIsMissingAtCreationIsNamed) {
  CommunicatorOptions options = TestCommunicator("tcp");
  options.timeout = Seconds(1);
  const Topology topology = EvenTopology({2}, 1);
  const auto store = TcpStore::Create({.serve = true}).value();
  const auto alone = Communicator::Create(topology, 0, *store, options);
  ASSERT_FALSE(alone.ok());
  EXPECT_EQ(alone.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(alone.status().message(), HasSubstr("node 1"));
}

TEST(CommunicatorFailure, RanksThatWereGivenDifferentTopologiesFindOut) {
  CommunicatorOptions options = TestCommunicator("tcp");
  options.timeout = LongWaitDuration();
  const auto store = TcpStore::Create({.serve = true}).value();
  ASSERT_TRUE(store->Set("communicator/" + options.id, "7 transport tcp, something else").ok());
  const auto other = Communicator::Create(EvenTopology({2}, 1), 1, *store, options);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(other.status().field(), "topology");
}

// On its own node and on others: nobody waits for a rank that was started with something else.
TEST(CommunicatorFailure, RanksThatWereGivenDifferentTransportsAllFindOut) {
  for (const std::uint32_t odd : {1u, 2u}) {
    const CommunicatorOptions base = TestCommunicator("tcp");
    const auto options = [&](std::uint32_t rank) {
      CommunicatorOptions given = base;
      if (rank == odd) given.transport = "ucx";
      return given;
    };
    Ranks ranks(EvenTopology({3}, 1), options, [](Communicator&) -> std::string { return "it was made"; });
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      EXPECT_THAT(ranks.forked().Wait(rank),
                  HasSubstr("rank 0 was given 'transport tcp' and rank " + std::to_string(odd) + " 'transport ucx'"));
    }
  }
}

TEST(CommunicatorFailure, BadArgumentsAreRefusedWithTheField) {
  const auto store = TcpStore::Create({.serve = true}).value();
  const auto all = Communicator::Create(EvenTopology({1}, 1), 0, *store, TestCommunicator("auto")).value().release();
  const std::unique_ptr<Communicator> owner(all);
  std::vector<std::byte> seven(7), eight(8);
  EXPECT_EQ(all->AllReduce(seven, seven, DType::kF32, ReduceOp::kSum).Wait().field(), "in");
  EXPECT_EQ(all->AllReduce(eight, seven, DType::kF32, ReduceOp::kSum).Wait().field(), "out");
  EXPECT_EQ(all->AllReduce(eight, eight, DType::kU8, ReduceOp::kSum).Wait().field(), "dtype");
  EXPECT_EQ(all->Broadcast(eight, 1).Wait().field(), "root");
  EXPECT_EQ(all->AllGather(eight, seven).Wait().field(), "out");
  EXPECT_TRUE(all->AllReduce(eight, eight, DType::kF32, ReduceOp::kSum).Wait().ok()) << "nothing was disturbed";
}

}  // namespace
}  // namespace glim::hfreduce
