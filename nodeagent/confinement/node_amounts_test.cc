#include "nodeagent/confinement/node_amounts.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace glim::nodeagent {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kGiB = std::int64_t{1} << 30;

NodeAmounts Node() {
  NodeAmounts node;
  node.memory_total = 64 * kGiB;
  node.memory_bytes = 60 * kGiB;
  node.cpu_millis = 8000;
  node.pids_total = 30000;
  node.pids = 15000;
  return node;
}

TEST(NodeAmounts, WhoAsksForNothingIsBoundedByTheNode) {
  TaskLimits limits;
  ASSERT_TRUE(HoldTo(Node(), &limits).ok());
  EXPECT_EQ(limits.memory_bytes, 60 * kGiB);
  EXPECT_TRUE(limits.memory_by_default);
  EXPECT_EQ(limits.shm_bytes, 30 * kGiB);
  EXPECT_EQ(limits.pids, 15000);
  EXPECT_EQ(limits.cpu_millis, 0) << "all CPUs";
}

TEST(NodeAmounts, WhatIsAskedForIsKept) {
  TaskLimits limits{.memory_bytes = 64 * kMiB, .cpu_millis = 1500, .pids = 20000};
  ASSERT_TRUE(HoldTo(Node(), &limits).ok());
  EXPECT_EQ(limits.memory_bytes, 64 * kMiB);
  EXPECT_FALSE(limits.memory_by_default);
  EXPECT_EQ(limits.shm_bytes, 32 * kMiB) << "half of the task's memory";
  EXPECT_EQ(limits.pids, 20000);
  EXPECT_EQ(limits.cpu_millis, 1500);
}

TEST(NodeAmounts, WhatTheNodeHasNotIsRefusedAsTheJobsFault) {
  const auto refused = [](TaskLimits limits) {
    const Status status = HoldTo(Node(), &limits);
    EXPECT_EQ(FaultOf(status), StartFault::kJob);
    EXPECT_NE(status.fix(), "");
    return status.field() + ": " + status.message();
  };
  EXPECT_EQ(refused({.memory_bytes = 61 * kGiB}),
            "limits.memory: limits.memory 62464 MiB is more than a task has on this node, 61440 MiB of 65536 MiB");
  EXPECT_EQ(refused({.cpu_millis = 9000}), "limits.cpus: limits.cpus 9 is more than a task has on this node, 8");
  EXPECT_EQ(refused({.pids = 30001}), "limits.pids: limits.pids 30001 is more than a task has on this node, 30000");
  EXPECT_EQ(refused({.memory_bytes = kGiB, .shm_bytes = 2 * kGiB}),
            "limits.shm: limits.shm 2048 MiB is more than the task's memory, 1024 MiB, in which /dev/shm counts");
}

// A kernel without the controllers: what cannot be kept is not asked of the runtime.
TEST(NodeAmounts, WhatTheKernelDoesNotCountIsNotBounded) {
  TaskLimits limits;
  ASSERT_TRUE(HoldTo({.cpu_millis = 8000, .pids_total = 30000}, &limits).ok());
  EXPECT_EQ(limits.memory_bytes, 0);
  EXPECT_EQ(limits.shm_bytes, 0);
  EXPECT_EQ(limits.pids, 0);
}

TEST(NodeAmounts, TheLeastBoundOfTheGroupsAboveCounts) {
  char name[] = "/tmp/glim-amounts-XXXXXX";
  const std::string tree = ::mkdtemp(name);
  std::filesystem::create_directories(tree + "/a/b");
  EXPECT_EQ(LeastBound(tree, "/a/b", "memory.max"), 0);
  std::ofstream(tree + "/a/b/memory.max") << "max\n";
  EXPECT_EQ(LeastBound(tree, "/a/b", "memory.max"), 0);
  std::ofstream(tree + "/a/memory.max") << "1000\n";
  EXPECT_EQ(LeastBound(tree, "/a/b", "memory.max"), 1000);
  std::ofstream(tree + "/a/b/memory.max") << "3000\n";
  EXPECT_EQ(LeastBound(tree, "/a/b", "memory.max"), 1000);
  std::ofstream(tree + "/memory.max") << "500\n";
  EXPECT_EQ(LeastBound(tree, "/a/b", "memory.max"), 500);
  std::filesystem::remove_all(tree);
}

TEST(NodeAmounts, ThisMachineHasSome) {
  const NodeAmounts node = AmountsOf("/glim", 0);
  EXPECT_GT(node.memory_total, 0);
  EXPECT_GE(node.cpu_millis, 1000);
  EXPECT_GT(node.pids_total, 0);
  EXPECT_LE(node.memory_bytes, node.memory_total);
  EXPECT_EQ(AmountsOf("/glim", node.memory_total / 2).memory_bytes,
            node.memory_bytes == 0 ? 0 : node.memory_total - node.memory_total / 2);
}

}  // namespace
}  // namespace glim::nodeagent
