// A container's limits where the machine has control groups of version 2 alone: that of `tests/vm/run limits` has.
#include <filesystem>

#include "nodeagent/testing/agent_fixture.h"
#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

class UnifiedLimitsTest : public AgentTest {
 protected:
  // Of the container's group; "" where there is none.
  std::string Setting(const std::string& name) const {
    const std::string agent = "/sys/fs/cgroup/glim/" + std::filesystem::path(root_).filename().string();
    const auto text = ReadFile(agent + "/7.1.0/container/" + name, 1 << 10);
    return text.ok() ? *text : "";
  }
  v1::ObservedTask RunToTheEnd(const std::string& run, std::uint32_t ranks) {
    StartAgent();
    Launch(kKey, run, [&](v1::TaskLaunch& launch) {
      launch.set_ranks(ranks);
      launch.set_per_gpu(true);
      launch.mutable_limits()->set_memory_bytes(64 << 20);
    });
    Send();
    const auto task = WaitPhase(kKey, kReleased);
    EXPECT_TRUE(task);
    return task.value_or(v1::ObservedTask());
  }
};

void ExpectOutOfMemory(const v1::ObservedTask& task) {
  EXPECT_TRUE(task.out_of_memory());
  EXPECT_TRUE(task.message().starts_with("out of memory: the kernel killed ")) << task.message();
  EXPECT_TRUE(task.message().ends_with(" at limits.memory, 64 MiB")) << task.message();
  for (const auto& rank : task.ranks()) EXPECT_EQ(rank.exit_code(), 137);
}

TEST_P(UnifiedLimitsTest, AreTheGroups) {
  StartAgent();
  Launch(kKey, "echo up; sleep 1000", [](v1::TaskLaunch& launch) {
    launch.mutable_limits()->set_memory_bytes(64 << 20);
    launch.mutable_limits()->set_pids(32);
    launch.mutable_limits()->set_cpu_millis(1500);
  });
  Send();
  WaitLine(kKey, 0, "up");
  EXPECT_EQ(Setting("memory.max"), "67108864\n");
  EXPECT_EQ(Setting("memory.swap.max"), "0\n");
  EXPECT_EQ(Setting("memory.oom.group"), "1\n");
  EXPECT_EQ(Setting("pids.max"), "32\n");
  EXPECT_EQ(Setting("cpu.max"), "150000 100000\n");
  Stop(kKey, 0);
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_EQ(Setting("cgroup.procs"), "");
}

// A rank that lost a helper would else wait for it, and the other ranks for that one.
TEST_P(UnifiedLimitsTest, WhoUsesUpTheMemoryIsEndedWithAllOthersOfTheTask) {
  const v1::ObservedTask task = RunToTheEnd(
      "[ $RANK = 0 ] || exec sleep 1000\n"
      "/usr/bin/python3 -c 'b = bytearray(256 << 20); print(len(b))' & sleep 1000",
      2);
  ASSERT_EQ(task.ranks_size(), 2);
  ExpectOutOfMemory(task);
}

// Its default size is half of the machine's memory; what is in it counts against the task's.
TEST_P(UnifiedLimitsTest, SharedMemoryCountsAgainstTheMemory) {
  // Half of the memory is what /dev/shm takes by itself; with what `tail` keeps there is more than all of it.
  const v1::ObservedTask task = RunToTheEnd(
      "head -c 30m /dev/zero >/dev/shm/x; head -c 60m /dev/zero | tail -c 60m >/dev/null; echo survived; sleep 1000",
      1);
  ExpectOutOfMemory(task);
  EXPECT_EQ(LogText(kKey, 0), "");
}

INSTANTIATE_TEST_SUITE_P(Runtimes, UnifiedLimitsTest,
                         testing::ValuesIn(GroupsAreUnified() ? ContainerRuntimes() : std::vector<std::string>{}),
                         [](const auto& info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(UnifiedLimitsTest);

}  // namespace
}  // namespace glim::nodeagent
