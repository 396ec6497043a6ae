// Whether a task died because it had used up its own memory, and who is told.
#include <filesystem>

#include "nodeagent/testing/agent_fixture.h"
#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

constexpr const char* kTakeMuch = "exec /usr/bin/python3 -c 'x = bytearray(256 << 20)'";

class AgentMemoryTest : public AgentTest {
 protected:
  void LaunchWithin64MiB(const std::string& run) {
    Launch(kKey, run, [](auto& launch) { launch.mutable_limits()->set_memory_bytes(64 << 20); });
    Send();
  }
};

TEST_P(AgentMemoryTest, WhoUsesUpItsLimitIsToldSo) {
  StartAgent();
  LaunchWithin64MiB(kTakeMuch);
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_TRUE(task->out_of_memory());
  EXPECT_EQ(task->exit_code(), 137);
  EXPECT_EQ(task->ranks(0).cause(), "out of memory: the task used up its limit of 64 MiB (limits.memory)");
}

// The rank itself goes on after its helper, and says in its own words why it ends.
TEST_P(AgentMemoryTest, AHelperThatUsesUpTheLimitCountsAndTheRanksOwnWordsStay) {
  StartAgent();
  LaunchWithin64MiB("/usr/bin/python3 -c 'x = bytearray(256 << 20)'; echo the loader died; exit 3");
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_TRUE(task->out_of_memory());
  if (GroupsAreUnified()) return;  // there the kernel ends all of the task at once
  EXPECT_EQ(task->exit_code(), 3);
  EXPECT_EQ(task->ranks(0).cause(), "the loader died");
}

TEST_P(AgentMemoryTest, WhoIsKilledByAnythingElseIsNot) {
  StartAgent();
  LaunchWithin64MiB("echo last words; kill -9 $$");
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->exit_code(), 137);
  EXPECT_FALSE(task->out_of_memory());
  EXPECT_EQ(task->ranks(0).cause(), "") << "it did not know that it would be killed";
}

TEST_P(AgentMemoryTest, AnAgentThatWasAwayMeanwhileSaysItAllTheSame) {
  StartAgent();
  const std::string go = Folder("go") + "/now";
  Launch(kKey, "echo up; until [ -e now ]; do sleep 0.01; done; " + std::string(kTakeMuch), [&](auto& launch) {
    launch.set_workdir(folder_ + "/go");
    launch.mutable_limits()->set_memory_bytes(64 << 20);
  });
  Send();
  WaitLine(kKey, 0, "up");
  KillAgent();
  std::filesystem::create_directory(go);
  const std::string status = TaskFolder(kKey) + "/status.json";
  ASSERT_TRUE(Eventually([&] {
    const auto text = ReadFile(status, 1 << 20);
    return text.ok() && text->find("\"ended\":true") != std::string::npos;
  })) << "the shim writes down the end and its cause";
  StartAgent();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_TRUE(task->out_of_memory());
  EXPECT_EQ(task->ranks(0).cause(), "out of memory: the task used up its limit of 64 MiB (limits.memory)");
}

GLIM_IN_CONTAINERS(AgentMemoryTest);

}  // namespace
}  // namespace glim::nodeagent
