// What nodes find that have different devices, and what they are told. The devices are on paper: UCX knows none.
#include "sdk/hfreduce/transport/agree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "sdk/base/testing/waits.h"
#include "sdk/hfreduce/transport/probe.h"
#include "sdk/hfreduce/transport/testing/nodes.h"
#include "sdk/net/testing/rdma_folder.h"

namespace glim::hfreduce {
namespace {

using net::testing::RdmaFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Agree : public ::testing::Test {
 protected:
  // Every node in a thread, each with its folder; the results are in the order of nodes.
  std::vector<Result<Agreed>> Run(const std::string& wanted, const std::vector<const RdmaFolder*>& folders,
                                  const std::string& device = "") {
    const auto nodes = static_cast<NodeIndex>(folders.size());
    std::vector<Result<Agreed>> agreed;
    for (NodeIndex node = 0; node < nodes; ++node) agreed.emplace_back(Status(StatusCode::kInternal, "it did not run"));
    std::vector<std::thread> threads;
    for (NodeIndex self = 0; self < nodes; ++self) {
      threads.emplace_back([&, self] {
        AgreeOptions options;
        options.wanted = wanted;
        options.rdma_folder = folders[self]->path();
        options.transport.id = "agree";
        options.transport.ucx_net_devices = device;
        std::vector<NodeIndex> peers;
        for (NodeIndex peer = 0; peer < nodes; ++peer) {
          if (peer != self) peers.push_back(peer);
        }
        agreed[self] = ConnectAgreed(options, self, nodes, peers, store_, LongWaitDuration());
      });
    }
    for (std::thread& thread : threads) thread.join();
    return agreed;
  }

  MemoryStore store_;
  RdmaFolder none_, up_, down_;

  void SetUp() override {
    ASSERT_TRUE(UcxIsBuilt()) << "this build is without UCX: install libucx-dev";
    up_.Add("mlx5_0", "4: ACTIVE");
    down_.Add("mlx5_0", "1: DOWN");
  }
};

TEST_F(Agree, ANodeWithoutADeviceTakesEverybodyToTcp) {
  for (auto& agreed : Run("auto", {&up_, &none_, &up_})) {
    ASSERT_TRUE(agreed.ok()) << agreed.status().message();
    EXPECT_STREQ(agreed->transport->Name(), "tcp");
    EXPECT_EQ(agreed->line, "3 nodes talk over TCP; node 1: it has no RDMA device");
  }
}

TEST_F(Agree, VerbsThatFailAtSetUpTakeEverybodyToTcpWithOneReason) {
  for (auto& agreed : Run("auto", {&up_, &up_})) {
    ASSERT_TRUE(agreed.ok()) << agreed.status().message();
    EXPECT_STREQ(agreed->transport->Name(), "tcp");
    EXPECT_THAT(agreed->line, AllOf(HasSubstr("2 nodes talk over TCP; verbs failed at set-up: node 0 (rc on mlx5_0:1)"),
                                    HasSubstr("UCX cannot use 'rc' on mlx5_0:1")));
  }
}

TEST_F(Agree, UcxTakesItsOwnTcpWhereANodeHasNoDevice) {
  for (auto& agreed : Run("ucx", {&up_, &none_})) {
    ASSERT_TRUE(agreed.ok()) << agreed.status().message();
    EXPECT_STREQ(agreed->transport->Name(), "ucx");
    EXPECT_THAT(agreed->line, HasSubstr("node 1: it has no RDMA device"));
  }
}

TEST_F(Agree, VerbsThatWereAskedForFailOnAllNodesWithDeviceAndState) {
  for (const auto& agreed : Run("verbs", {&up_, &down_})) {
    ASSERT_FALSE(agreed.ok());
    EXPECT_EQ(agreed.status().code(), StatusCode::kFailedPrecondition);
    EXPECT_EQ(agreed.status().field(), "transport");
    EXPECT_THAT(agreed.status().message(), HasSubstr("node 1: mlx5_0:1 is DOWN"));
    EXPECT_THAT(agreed.status().fix(), HasSubstr("rdma link"));
  }
}

TEST_F(Agree, VerbsThatWereAskedForAndFailAtSetUpFailOnAllNodes) {
  for (const auto& agreed : Run("verbs", {&up_, &up_, &up_})) {
    ASSERT_FALSE(agreed.ok());
    EXPECT_THAT(agreed.status().message(), HasSubstr("node 0 (rc on mlx5_0:1): UCX cannot use 'rc' on mlx5_0:1"));
  }
}

TEST_F(Agree, APortThatWasNamedAndIsDownFailsUcxAndNotAuto) {
  for (const auto& agreed : Run("ucx", {&up_, &down_}, "mlx5_0:1")) {
    ASSERT_FALSE(agreed.ok());
    EXPECT_EQ(agreed.status().field(), "device");
    EXPECT_THAT(agreed.status().message(), HasSubstr("node 1: mlx5_0:1 is DOWN"));
  }
}

TEST_F(Agree, WhoRefusesIsHeardByAll) {
  RefuseToAgree("agree", 1, store_, InvalidArgument("transport", "rank 1 has another one", "give all the same"));
  for (const auto& agreed : Run("tcp", {&up_, &up_, &up_})) {
    ASSERT_FALSE(agreed.ok());
    EXPECT_EQ(agreed.status(), Status(StatusCode::kInvalidArgument, "rank 1 has another one")
                                   .WithField("transport")
                                   .WithFix("give all the same"));
  }
}

class ProbeTest : public ::testing::TestWithParam<Wire> {};

TEST_P(ProbeTest, PeersThatHearEachOtherAreReachedAndTheTransportIsAsNewAfterwards) {
  auto nodes = ConnectAll(OptionsOf(GetParam()), 3);
  std::vector<std::thread> threads;
  for (NodeIndex self = 0; self < 3; ++self) {
    threads.emplace_back([&, self] {
      const std::vector<NodeIndex> peers = {(self + 1) % 3, (self + 2) % 3};
      const Status reached = Probe(*nodes[self].transport, peers, net::Deadline(LongWaitDuration()));
      EXPECT_TRUE(reached.ok()) << reached.message();
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto payload = Pattern(100'000, 1);
  for (std::uint32_t i = 0; i < 3 * kCredits; ++i) {
    ASSERT_TRUE(Until(
        nodes, [&] { return nodes[0].transport->TrySend(1, HeaderOf(Stream::kDirect, i, payload.size()), payload); }));
  }
  ASSERT_TRUE(Until(nodes, [&] { return nodes[1].recorder.messages.size() == std::size_t{3} * kCredits; }));
  DestroyTogether(nodes);
}

TEST_P(ProbeTest, APeerThatIsNotHeardIsNamed) {
  auto nodes = ConnectAll(OptionsOf(GetParam()), 3);
  const NodeIndex peers[] = {1, 2};
  const Status reached = Probe(*nodes[0].transport, peers, net::Deadline(Milliseconds(50)));
  EXPECT_EQ(reached.code(), StatusCode::kUnavailable);
  EXPECT_THAT(reached.message(), HasSubstr("node 1, node 2"));
  DestroyTogether(nodes);
}

INSTANTIATE_TEST_SUITE_P(Wires, ProbeTest, ::testing::ValuesIn(Wires()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace glim::hfreduce
