// Every collective over real processes, shared memory and sockets, beside what it should come to.
#include "sdk/hfreduce/communicator/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "sdk/base/testing/seeds.h"
#include "sdk/base/testing/waits.h"
#include "sdk/hfreduce/communicator/testing/ranks.h"
#include "sdk/hfreduce/kernels/reduce.h"
#include "sdk/hfreduce/transport/ucx_transport.h"
#include "sdk/net/testing/rdma_folder.h"

namespace glim::hfreduce {
namespace {

using testing::Ranks;
using testing::TestCommunicator;

struct Shape {
  std::vector<std::uint32_t> nodes_by_zone;
  std::uint32_t local_ranks;

  Topology topology() const { return EvenTopology(nodes_by_zone, local_ranks); }
};

void PrintTo(const Shape& shape, std::ostream* out) {
  for (const std::uint32_t nodes : shape.nodes_by_zone) *out << nodes << "_";
  *out << "x" << shape.local_ranks;
}

using Case = std::tuple<std::string, Shape>;

class Collective : public ::testing::TestWithParam<Case> {
 protected:
  void Run(const Ranks::Body& body) {
    const auto& [transport, shape] = GetParam();
    if (transport == "ucx" && !UcxIsBuilt()) GTEST_FAIL() << "this build has no UCX: install libucx-dev";
    Ranks ranks(shape.topology(), TestCommunicator(transport), body);
    EXPECT_EQ(ranks.WaitAll(), "");
  }
};

// Sums of these are exact in fp32, and every element of every rank is another.
float ValueOf(std::uint32_t rank, std::size_t i) { return static_cast<float>((i * 7 + rank * 13) % 1001); }

std::vector<float> PartOf(std::uint32_t rank, std::size_t count) {
  std::vector<float> part(count);
  for (std::size_t i = 0; i < count; ++i) part[i] = ValueOf(rank, i);
  return part;
}

std::vector<float> SumOf(std::uint32_t ranks, std::size_t count) {
  std::vector<float> sum(count);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < count; ++i) sum[i] += ValueOf(rank, i);
  }
  return sum;
}

std::span<const std::byte> In(const std::vector<float>& v) { return std::as_bytes(std::span(v)); }
std::span<std::byte> Out(std::vector<float>& v) { return std::as_writable_bytes(std::span(v)); }

// 1 where the rank's turn is, and in its neighbour's; else 0.
std::vector<std::byte> OnesOf(DType type, std::uint32_t rank, std::uint32_t ranks, std::size_t count) {
  static constexpr std::uint64_t kOne[] = {0x3f800000, 0x3ff0000000000000, 0x3c00, 0x3f80, 0x38, 0x3c, 1, 1};
  const std::size_t size = SizeOf(type);
  std::vector<std::byte> values(count * size);
  for (std::size_t i = 0; i < count; ++i) {
    const bool one = i % ranks == rank || i % (ranks + 1) == rank;
    if (one) std::memcpy(values.data() + i * size, &kOne[static_cast<int>(type)], size);
  }
  return values;
}

std::string Compare(const char* what, std::span<const float> got, std::span<const float> wanted) {
  if (got.size() != wanted.size()) return std::string(what) + ": sizes differ";
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == wanted[i]) continue;
    return std::string(what) + " of " + std::to_string(got.size()) + ": [" + std::to_string(i) + "] is " +
           std::to_string(got[i]) + ", not " + std::to_string(wanted[i]);
  }
  return "";
}

const std::size_t kSizes[] = {0, 1, 17, 1000, 8192, 8193, 16'385, 262'145, 2'400'000};

TEST_P(Collective, AllReduceSums) {
  Run([](Communicator& all) -> std::string {
    for (const std::size_t count : kSizes) {
      const std::vector<float> in = PartOf(all.rank(), count);
      std::vector<float> out(count, -1);
      const Status status = all.AllReduce(In(in), Out(out), DType::kF32, ReduceOp::kSum).Wait();
      if (!status.ok()) return status.message();
      const std::vector<float> sum = SumOf(all.size(), count);
      if (std::string wrong = Compare("sum", out, sum); !wrong.empty()) return wrong;
      std::vector<float> both = in;
      if (!all.AllReduce(In(both), Out(both), DType::kF32, ReduceOp::kSum).Wait().ok()) return "in place";
      if (std::string wrong = Compare("in place", both, sum); !wrong.empty()) return wrong;
    }
    return "";
  });
}

TEST_P(Collective, ManyAreInFlightAndStayInOrder) {
  Run([](Communicator& all) -> std::string {
    constexpr int kOperations = 24;
    std::vector<std::vector<float>> buffers;
    std::vector<Handle> handles;
    for (int i = 0; i < kOperations; ++i) buffers.push_back(PartOf(all.rank(), 5 + (i % 5) * 40'000));
    for (auto& buffer : buffers) {
      handles.push_back(all.AllReduce(In(buffer), Out(buffer), DType::kF32, ReduceOp::kSum));
    }
    for (int i = kOperations - 1; i >= 0; --i) {
      if (Status status = handles[i].Wait(); !status.ok()) return status.message();
      const std::string wrong = Compare("sum", buffers[i], SumOf(all.size(), buffers[i].size()));
      if (!wrong.empty()) return wrong;
    }
    return "";
  });
}

TEST_P(Collective, ReduceAndBroadcastHaveAnyRoot) {
  Run([](Communicator& all) -> std::string {
    for (std::uint32_t root = 0; root < all.size(); ++root) {
      for (const std::size_t count : {std::size_t{3}, std::size_t{300'000}}) {
        const std::vector<float> in = PartOf(all.rank(), count);
        std::vector<float> out(all.rank() == root ? count : 0);
        Status status = all.Reduce(In(in), Out(out), DType::kF32, ReduceOp::kSum, root).Wait();
        if (!status.ok()) return status.message();
        if (all.rank() == root) {
          if (std::string wrong = Compare("reduce", out, SumOf(all.size(), count)); !wrong.empty()) return wrong;
        }
        std::vector<float> buffer = PartOf(all.rank(), count);
        status = all.Broadcast(Out(buffer), root).Wait();
        if (!status.ok()) return status.message();
        if (std::string wrong = Compare("broadcast", buffer, PartOf(root, count)); !wrong.empty()) return wrong;
      }
    }
    return "";
  });
}

TEST_P(Collective, AllGatherAndReduceScatterAreInOrderOfRanks) {
  Run([](Communicator& all) -> std::string {
    for (const std::size_t count : {std::size_t{1}, std::size_t{50'001}}) {
      const std::vector<float> in = PartOf(all.rank(), count);
      std::vector<float> everyone(count * all.size());
      if (Status status = all.AllGather(In(in), Out(everyone)).Wait(); !status.ok()) return status.message();
      for (std::uint32_t rank = 0; rank < all.size(); ++rank) {
        const std::string wrong =
            Compare("gathered", std::span(everyone).subspan(rank * count, count), PartOf(rank, count));
        if (!wrong.empty()) return wrong;
      }
      const std::vector<float> parts = PartOf(all.rank(), count * all.size());
      std::vector<float> own(count);
      const Status status = all.ReduceScatter(In(parts), Out(own), DType::kF32, ReduceOp::kSum).Wait();
      if (!status.ok()) return status.message();
      const std::vector<float> sum = SumOf(all.size(), count * all.size());
      const std::string wrong = Compare("scattered", own, std::span(sum).subspan(all.rank() * count, count));
      if (!wrong.empty()) return wrong;
    }
    return "";
  });
}

TEST_P(Collective, EveryTypeAndOperation) {
  Run([](Communicator& all) -> std::string {
    for (int type = 0; type < kReducibleDTypes; ++type) {
      for (int op = 0; op < kReduceOps; ++op) {
        // An element is 1 on a rank or two and 0 on the others: no type rounds a sum of those, in whatever order.
        const auto dtype = static_cast<DType>(type);
        constexpr std::size_t kCount = 33'001;
        std::vector<std::vector<std::byte>> ones;
        std::vector<const void*> sources;
        for (std::uint32_t rank = 0; rank < all.size(); ++rank) {
          ones.push_back(OnesOf(dtype, rank, all.size(), kCount));
          sources.push_back(ones.back().data());
        }
        const auto which = static_cast<ReduceOp>(op);
        std::vector<std::byte> wanted(ones[0].size());
        Reduce({.type = dtype, .op = which, .divisor = which == ReduceOp::kAverage ? all.size() : 1}, wanted.data(),
               sources, kCount);
        std::vector<std::byte> out(wanted.size(), std::byte{1});
        const Status status = all.AllReduce(ones[all.rank()], out, dtype, which).Wait();
        if (!status.ok()) return status.message();
        if (out != wanted) return std::string(NameOf(dtype)) + " " + std::string(NameOf(which));
      }
    }
    return "";
  });
}

TEST_P(Collective, BuffersFromAllocateAreAsGoodAsOthers) {
  Run([](Communicator& all) -> std::string {
    constexpr std::size_t kCount = 300'000;
    const auto in = all.Allocate(kCount * 4);
    const auto out = all.Allocate(kCount * 4);
    if (!in.ok() || !out.ok()) return "no memory";
    const std::vector<float> part = PartOf(all.rank(), kCount);
    std::memcpy(in->data(), part.data(), in->size());
    const Status status = all.AllReduce(*in, *out, DType::kF32, ReduceOp::kSum).Wait();
    if (!status.ok()) return status.message();
    return Compare("sum", {reinterpret_cast<const float*>(out->data()), kCount}, SumOf(all.size(), kCount));
  });
}

TEST_P(Collective, NobodyLeavesABarrierBeforeAllAreThere) {
  const auto& [transport, shape] = GetParam();
  // A byte of every rank in a pipe before the barrier; behind it all are there.
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const std::uint32_t size = shape.topology().ranks();
  Run([&](Communicator& all) -> std::string {
    if (::write(pipe[1], "x", 1) != 1) return "pipe";
    if (Status status = all.Barrier().Wait(); !status.ok()) return status.message();
    if (all.rank() != 0) return "";
    std::vector<char> seen(size + 1);
    const ssize_t got = ::read(pipe[0], seen.data(), seen.size());
    return got == static_cast<ssize_t>(size) ? "" : std::to_string(got) + " were there";
  });
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST_P(Collective, WhatWasBegunGoesOnWhileNobodyWaits) {
  Run([](Communicator& all) -> std::string {
    // Rank 0 looks without waiting: the others' thread and its own must do the work.
    std::vector<float> buffer = PartOf(all.rank(), 400'000);
    Handle handle = all.AllReduce(In(buffer), Out(buffer), DType::kF32, ReduceOp::kSum);
    if (!Eventually([&] { return handle.Done(); })) return "it did not go on";
    // One that has failed is done too.
    if (const Status status = handle.Wait(); !status.ok()) return status.message();
    return Compare("sum", buffer, SumOf(all.size(), buffer.size()));
  });
}

const Shape kOneNode[] = {{{1}, 1}, {{1}, 4}};
// A sanitized run takes the first few, which have everything: two zones, several ranks a node.
const Shape kNodes[] = {{{2}, 1}, {{2}, 2}, {{2, 1}, 1}, {{2, 2}, 2}, {{5}, 1}, {{3}, 3}, {{3, 4}, 1}};
const std::span kTriedNodes = std::span(kNodes).first(SeedsOf(std::size(kNodes), 4));

std::string NameOfCase(const ::testing::TestParamInfo<Case>& info) {
  return std::get<0>(info.param) + "_" + ::testing::PrintToString(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(OneNode, Collective,
                         ::testing::Combine(::testing::Values("tcp"), ::testing::ValuesIn(kOneNode)), NameOfCase);
INSTANTIATE_TEST_SUITE_P(Nodes, Collective,
                         ::testing::Combine(::testing::ValuesIn(testing::TransportsHere()),
                                            ::testing::ValuesIn(kTriedNodes)),
                         NameOfCase);

TEST(CommunicatorTest, OneResultIsReadByAllInPlace) {
  Ranks ranks(EvenTopology({1}, 4), TestCommunicator("auto"), [](Communicator& all) -> std::string {
    constexpr std::size_t kCount = 300'000;
    const auto in = all.Allocate(kCount * 4);
    const auto out = all.Allocate(all.rank() == 0 ? kCount * 4 : 4096);
    const std::vector<float> part = PartOf(all.rank(), kCount);
    std::memcpy(in->data(), part.data(), in->size());
    std::span<const std::byte> result;
    const Status status = all.AllReduceShared(*in, *out, DType::kF32, ReduceOp::kSum, &result).Wait();
    if (!status.ok()) return status.message();
    if (all.rank() == 0 && result.data() != out->data()) return "it lies elsewhere";
    return Compare("sum", {reinterpret_cast<const float*>(result.data()), result.size() / 4},
                   SumOf(all.size(), kCount));
  });
  EXPECT_EQ(ranks.WaitAll(), "");
}

// A node whose port is down: everybody takes TCP, and rank 0 says why in one line.
TEST(CommunicatorTest, AutoTakesWhatAllNodesHaveAndSaysSo) {
  net::testing::RdmaFolder up, down;
  up.Add("mlx5_0", "4: ACTIVE");
  down.Add("mlx5_0", "1: DOWN");
  int lines[2];
  ASSERT_EQ(::pipe(lines), 0);
  const CommunicatorOptions base = TestCommunicator("auto");
  const auto options = [&](std::uint32_t rank) {
    CommunicatorOptions given = base;
    given.rdma_folder = rank == 1 ? down.path() : up.path();
    given.log = [&](const std::string& line) { (void)!::write(lines[1], line.data(), line.size()); };
    return given;
  };
  Ranks ranks(EvenTopology({3}, 1), options, [](Communicator& all) -> std::string {
    if (std::string(all.transport()) != "tcp") return all.transport();
    return all.Barrier().Wait().message();
  });
  EXPECT_EQ(ranks.WaitAll(), "");
  ::close(lines[1]);
  char said[256] = {};
  EXPECT_GT(::read(lines[0], said, sizeof said - 1), 0);
  const std::string why =
      UcxIsBuilt() ? "node 1: mlx5_0:1 is DOWN" : "every node: this build of hfreduce is without UCX";
  EXPECT_EQ(said, "3 nodes talk over TCP; " + why);
  ::close(lines[0]);
}

TEST(CommunicatorTest, WithoutALatencyPathThereAreStillBarriers) {
  CommunicatorOptions options = TestCommunicator("tcp");
  options.latency_path_bytes_max = 0;
  Ranks ranks(EvenTopology({3}, 2), options, [](Communicator& all) -> std::string {
    if (Status status = all.Barrier().Wait(); !status.ok()) return status.message();
    std::vector<float> one = PartOf(all.rank(), 1);
    const Status status = all.AllReduce(In(one), Out(one), DType::kF32, ReduceOp::kSum).Wait();
    return status.ok() ? Compare("sum", one, SumOf(all.size(), 1)) : status.message();
  });
  EXPECT_EQ(ranks.WaitAll(), "");
}

TEST(CommunicatorTest, OnlyTheGatewaysSendAcrossZones) {
  const Topology topology = EvenTopology({3, 3}, 1);
  Ranks ranks(topology, TestCommunicator("tcp"), [&](Communicator& all) -> std::string {
    constexpr std::size_t kCount = 1'000'000;
    std::vector<float> buffer = PartOf(all.rank(), kCount);
    if (!all.AllReduce(In(buffer), Out(buffer), DType::kF32, ReduceOp::kSum).Wait().ok()) return "failed";
    const std::uint32_t here = topology.nodes[all.rank()].zone;
    for (std::uint32_t node = 0; node < topology.nodes.size(); ++node) {
      if (topology.nodes[node].zone == here) continue;
      const bool gateways = topology.gateways[here] == all.rank() && topology.gateways[1 - here] == node;
      const std::uint64_t sent = all.BytesSentTo(node);
      if (!gateways && sent != 0) return "sends across to " + std::to_string(node);
      if (gateways && (sent < kCount * 4 || sent > kCount * 4 * 101 / 100)) return "sends " + std::to_string(sent);
    }
    return "";
  });
  EXPECT_EQ(ranks.WaitAll(), "");
}

}  // namespace
}  // namespace glim::hfreduce
