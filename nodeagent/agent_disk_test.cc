// The disk of the agent's state folder is full.
#include <gmock/gmock.h>

#include <filesystem>

#include "nodeagent/sync/desired_store.h"
#include "nodeagent/task/task_files.h"
#include "nodeagent/testing/agent_fixture.h"
#include "sdk/io/read_file.h"
#include "sdk/io/testing/small_disk.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

using testing::HasSubstr;

// Unmounts when the fixture, which needs the folder to clean up, has gone.
struct DiskOfTheState {
  std::unique_ptr<SmallDisk> disk;
  std::string root;
  ~DiskOfTheState() {
    disk.reset();
    std::error_code ignored;
    if (!root.empty()) std::filesystem::remove_all(root, ignored);
  }
};

class AgentDiskTest : private DiskOfTheState, public AgentTest {
 protected:
  explicit AgentDiskTest(SmallDisk::Kind kind = SmallDisk::Kind::kTmpfs, int mebibytes = 16) {
    root = root_;
    std::filesystem::create_directory(state_);
    disk = std::make_unique<SmallDisk>(state_, mebibytes, kind);
  }

  // Writes until nothing more fits, and then does `rest`.
  static std::string Flood(const std::string& rest) {
    return "dd if=/dev/zero of=$GLIM_CHECKPOINT_DIR/flood bs=64k 2>/dev/null; " + rest;
  }
  // Until the test says so by a file in the job's workdir, which is on another disk.
  static std::string Wait(const std::string& file) { return "while ! [ -e " + file + " ]; do sleep 0.01; done; "; }
  void Say(const std::string& file) {
    ASSERT_TRUE(WriteFileAtomically(folder_ + "/" + file, "", Durability::kProcess).ok());
  }

  std::string WaitFault() {
    const auto report = scheduler_.WaitReport([](const v1::NodeReport& r) { return r.faults_size() > 0; });
    return report ? report->faults(0).kind() + ": " + report->faults(0).message() : "";
  }
  bool WaitNoFault() {
    return scheduler_.WaitReport([](const v1::NodeReport& r) { return r.faults_size() == 0; }).has_value();
  }
  v1::DesiredState Saved() const { return DesiredStore(state_).Load().set; }
  int Logged(const std::string& event) const {
    const std::string log = ReadFile(folder_ + "/agent.log", 1 << 20).value();
    int count = 0;
    for (std::size_t at = 0; (at = log.find("event=" + event + " ", at)) != std::string::npos; ++at) ++count;
    return count;
  }
  SmallDisk& full_disk() { return *disk; }
};

TEST_P(AgentDiskTest, AStopIsObeyedAndTheFaultNamesWhatFillsTheDisk) {
  StartAgent();
  Launch(kKey, Flood("while :; do sleep 1000; done"));
  Send();
  const std::string fault = WaitFault();
  EXPECT_THAT(fault, HasSubstr("disk_full: the disk of " + state_ + " is full"));
  EXPECT_THAT(fault, HasSubstr("the largest there: checkpoints/7 ("));
  Stop(kKey, 0);
  Send();
  EXPECT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_EQ(scheduler_.hellos(), 1) << "the stream goes on";
}

TEST_P(AgentDiskTest, TheNewestSetIsWrittenWhereTheSpareWas) {
  StartAgent();
  Launch(kKey, Flood("while :; do sleep 1000; done"));
  Send();
  ASSERT_NE(WaitFault(), "");
  Stop(kKey, 0);
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_EQ(Saved().revision(), set_.revision()) << "an agent that starts now knows of the stop";
}

// Everything that the agent holds for this has been taken from it.
TEST_P(AgentDiskTest, AStopIsObeyedThoughNothingAtAllCanBeWritten) {
  StartAgent();
  Launch(kKey, Wait("go"), [&](v1::TaskLaunch& launch) { launch.set_workdir(folder_); });
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kRunning));
  full_disk().Remove("spare");
  full_disk().Fill("flood");
  Listed(TaskKey{7, 2, 0});
  Send();
  ASSERT_NE(WaitFault(), "");
  for (int i = 0; i < 20; ++i) Send();
  Stop(kKey, 0);
  Send();
  EXPECT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_LT(Saved().revision(), set_.revision());
  EXPECT_EQ(scheduler_.hellos(), 1);
  EXPECT_EQ(Logged("desired_state_not_saved"), 1) << "told once, not each time";
  EXPECT_EQ(Logged("node_fault"), 1);
  full_disk().Remove("flood");
  EXPECT_TRUE(WaitNoFault());
  EXPECT_TRUE(Eventually([&] { return Saved().revision() == set_.revision(); })) << "written when there is room";
}

TEST_P(AgentDiskTest, NothingIsStartedUntilThereIsRoom) {
  const TaskKey refused{8, 1, 0}, later{9, 1, 0};
  StartAgent();
  Launch(kKey, Flood(Wait("go")), [&](v1::TaskLaunch& launch) { launch.set_workdir(folder_); });
  Send();
  ASSERT_NE(WaitFault(), "");
  Launch(refused, "echo never");
  Send();
  const auto task = WaitPhase(refused, kReleased);
  ASSERT_TRUE(task);
  EXPECT_TRUE(task->start_failed());
  EXPECT_FALSE(task->job_fault()) << "the node's";
  EXPECT_TRUE(task->disk_fault()) << "not counted";
  EXPECT_THAT(task->message(), HasSubstr("this node cannot start it: the disk of " + state_ + " is full"));
  full_disk().Remove("checkpoints/7/flood");
  EXPECT_TRUE(WaitNoFault());
  Launch(later, "exit 0");
  Send();
  const auto ran = WaitPhase(later, kReleased);
  ASSERT_TRUE(ran);
  EXPECT_FALSE(ran->start_failed()) << ran->message();
  Say("go");
  EXPECT_TRUE(WaitPhase(kKey, kReleased));
}

TEST_P(AgentDiskTest, ASuccessOnAFullDiskIsASuccess) {
  StartAgent();
  Launch(kKey, Flood("exit 0"));
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_FALSE(task->lost()) << task->message();
  EXPECT_EQ(task->exit_code(), 0);
  EXPECT_TRUE(task->ranks(0).exited());
}

// What the ranks fill at once may be full before the shim has written that they run: that word takes the room which is
// kept for words, and there is no more of it afterwards.
TEST_P(AgentDiskTest, AnExitStatusHasRoomThoughAnEarlierWordTookTheSpare) {
  StartAgent();
  Launch(kKey, Wait("go") + "exit 3", [&](v1::TaskLaunch& launch) { launch.set_workdir(folder_); });
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kRunning));
  full_disk().Remove("tasks/7.1.0/status.json.spare");
  full_disk().Fill("flood");
  Say("go");
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_FALSE(task->lost()) << task->message();
  EXPECT_EQ(task->exit_code(), 3);
}

TEST_P(AgentDiskTest, AnExitStatusWaitsForRoomAsLongAsItTakes) {
  StartAgent();
  Launch(kKey, Wait("go") + "exit 3", [&](v1::TaskLaunch& launch) { launch.set_workdir(folder_); });
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kRunning));
  const auto status = ParseTaskStatus(ReadFile(TaskPaths(TaskFolder(kKey)).status(), 1 << 20).value());
  ASSERT_TRUE(status.ok());
  full_disk().Remove("tasks/7.1.0/status.json.spare");
  full_disk().Remove("tasks/7.1.0/status.json.last-spare");
  full_disk().Fill("flood");
  Say("go");
  ASSERT_TRUE(Eventually([&] { return !IsRunning(status->ranks[0].pid); }));
  EXPECT_NE(FindTask(scheduler_.newest(), kKey)->phase(), kReleased) << "its end is not known yet";
  full_disk().Remove("flood");
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_FALSE(task->lost()) << task->message();
  EXPECT_EQ(task->exit_code(), 3);
}

// ext4 counts blocks as free that it gives to nobody.
class AgentExt4DiskTest : public AgentDiskTest {
 protected:
  AgentExt4DiskTest() : AgentDiskTest(SmallDisk::Kind::kExt4, 64) {}
};

TEST_P(AgentExt4DiskTest, IsFullWhenItGivesNothingWhateverItCounts) {
  const TaskKey refused{8, 1, 0}, later{9, 1, 0};
  StartAgent();
  ASSERT_TRUE(scheduler_.WaitReport([](const v1::NodeReport&) { return true; }));
  full_disk().Fill("flood");
  Launch(refused, "echo never");
  Send();
  const auto task = WaitPhase(refused, kReleased);
  ASSERT_TRUE(task);
  EXPECT_TRUE(task->start_failed());
  EXPECT_TRUE(task->disk_fault()) << task->message();
  EXPECT_THAT(WaitFault(), HasSubstr("disk_full: the disk of " + state_ + " is full"));
  full_disk().Remove("flood");
  EXPECT_TRUE(WaitNoFault());
  Launch(later, "exit 0");
  Send();
  const auto ran = WaitPhase(later, kReleased);
  ASSERT_TRUE(ran);
  EXPECT_FALSE(ran->start_failed()) << ran->message();
  EXPECT_EQ(Logged("node_fault"), 1) << "it does not come and go";
}

GLIM_WITH_MOUNTS(AgentDiskTest);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AgentExt4DiskTest);
INSTANTIATE_TEST_SUITE_P(Runtimes, AgentExt4DiskTest,
                         testing::ValuesIn(CanMountExt4() ? RuntimesWithMounts() : std::vector<std::string>()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace glim::nodeagent
