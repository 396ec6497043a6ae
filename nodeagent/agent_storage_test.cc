// Storage that hangs: a path that a job names does not answer.
#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>

#include "nodeagent/os/processes.h"
#include "nodeagent/testing/agent_fixture.h"
#include "nodeagent/testing/hung_folder.h"
#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr auto kStarting = v1::ObservedTask::STARTING;
const TaskKey kBeside{8, 1, 0};

// For --path-seconds where a path has to answer within them, however busy the machine is.
std::string BusySeconds(int seconds) { return std::to_string(Slower(Seconds(seconds)).ms / 1000); }

class AgentStorageTest : public AgentTest {
 protected:
  AgentStorageTest() : hung_(folder_ + "/nfs") {
    std::filesystem::create_directories(hung_ + "/me");
    storage_ = std::make_unique<HungFolder>(hung_);
  }

  void LaunchIn(const TaskKey& key, const std::string& workdir, const std::string& run = "echo here") {
    Launch(key, run, [&](v1::TaskLaunch& launch) { launch.set_workdir(workdir); });
  }
  // Of this test's agent: those that look at a job's paths, hanging ones too; not at what ended jobs saved. (A process
  // that has ended and is not reaped yet has a name, and no words.)
  int Lookers() const {
    int count = 0;
    for (const ProcessInfo& process : Descendants(ListProcesses(), agent_)) {
      const std::string place = "/proc/" + std::to_string(process.pid);
      const auto name = ReadFile(place + "/comm", 64);
      const auto words = ReadFile(place + "/cmdline", 4096);
      if (name.ok() && words.ok() && *name == "glim-paths\n" && words->ends_with(std::string("\0job\0", 5))) ++count;
    }
    return count;
  }

  const std::string hung_;
  std::unique_ptr<HungFolder> storage_;  // gone before the fixture cleans up
};

TEST_P(AgentStorageTest, TheTaskFailsWithThePathAndTheWaitAndNobodyElseNotices) {
  const std::string seconds = BusySeconds(3);
  scheduler_.set_report_every_ms(20);
  StartAgent({"--path-seconds", seconds});
  LaunchIn(kBeside, folder_, "echo here; while :; do sleep 1000; done");
  Send();
  ASSERT_TRUE(WaitPhase(kBeside, kRunning));
  LaunchIn(kKey, hung_ + "/me");
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kStarting));
  const int before = scheduler_.reports();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_GT(scheduler_.reports(), before + 10) << "the agent is heard all the time";
  EXPECT_EQ(scheduler_.hellos(), 1);
  EXPECT_TRUE(task->start_failed());
  EXPECT_FALSE(task->job_fault());
  EXPECT_FALSE(task->path_missing());
  EXPECT_EQ(task->hung_path(), hung_ + "/me");
  EXPECT_THAT(task->message(),
              StartsWith("workdir " + hung_ + "/me does not answer on this node: " + seconds + " s were waited for"));
  EXPECT_EQ(FindTask(scheduler_.newest(), kBeside)->phase(), kRunning);
  Stop(kBeside, 0);
  Send();
  EXPECT_TRUE(WaitPhase(kBeside, kReleased));
}

TEST_P(AgentStorageTest, EveryPathOfAJobIsLookedAt) {
  StartAgent({"--path-seconds", BusySeconds(1)});
  const std::pair<std::string, std::function<void(v1::TaskLaunch&)>> cases[] = {
      {"workdir", [&](auto& launch) { launch.set_workdir(hung_); }},
      {"checkpoint.dir", [&](auto& launch) { launch.set_checkpoint_dir(hung_ + "/new"); }},
      {"mounts[0].source",
       [&](auto& launch) {
         launch.add_mounts()->set_source(hung_ + "/data");
         launch.mutable_mounts(0)->set_target(hung_ + "/data");
       }},
  };
  std::uint64_t job = 10;
  for (const auto& [field, change] : cases) {
    const TaskKey key{job++, 1, 0};
    Launch(key, "exit 0", change);
    Send();
    const auto task = WaitPhase(key, kReleased);
    ASSERT_TRUE(task) << field;
    EXPECT_THAT(task->hung_path(), StartsWith(hung_)) << field;
    EXPECT_THAT(task->message(), StartsWith(field + " " + hung_));
  }
}

TEST_P(AgentStorageTest, ATaskIsStoppedWhileItsPathHangs) {
  StartAgent({"--path-seconds", "600"});
  LaunchIn(kKey, hung_ + "/me");
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kStarting));
  Stop(kKey, 0);
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_FALSE(task->start_failed());
  EXPECT_EQ(task->hung_path(), "");
}

TEST_P(AgentStorageTest, NobodyIsSentAfterWhoHangs) {
  StartAgent({"--path-seconds", "1"});
  LaunchIn(kKey, hung_ + "/me");
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  LaunchIn(kBeside, hung_ + "/me");
  Send();
  const auto task = WaitPhase(kBeside, kReleased);
  ASSERT_TRUE(task);
  EXPECT_THAT(task->message(), HasSubstr("an earlier look at it still hangs"));
  EXPECT_EQ(task->hung_path(), hung_ + "/me");
  EXPECT_EQ(Lookers(), 1);
}

TEST_P(AgentStorageTest, WhatAnswersAgainIsUsedAgain) {
  StartAgent({"--path-seconds", BusySeconds(3)});
  LaunchIn(kKey, hung_ + "/me");
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  storage_->Release();
  ASSERT_TRUE(Eventually([&] { return Lookers() == 0; })) << "who hung has ended";
  LaunchIn(kBeside, hung_ + "/me");
  Send();
  const auto task = WaitPhase(kBeside, kReleased);
  ASSERT_TRUE(task);
  EXPECT_FALSE(task->start_failed()) << task->message();
  EXPECT_EQ(LogText(kBeside, 0), "here\n");
}

// A thread of the agent that hung would keep it from ending, and its successor from the state folder.
TEST_P(AgentStorageTest, TheAgentEndsAndItsSuccessorStartsWhileStorageHangs) {
  scheduler_.NameRoot(hung_ + "/root", ".glim-root");
  StartAgent({"--path-seconds", "600"});
  LaunchIn(kKey, hung_ + "/me");
  LaunchIn(kBeside, folder_, "while :; do sleep 1000; done");
  Send();
  ASSERT_TRUE(WaitPhase(kBeside, kRunning));
  EXPECT_EQ(EndAgent(), 0);
  StartAgent();
  ASSERT_TRUE(scheduler_.WaitHello(2));
  EXPECT_TRUE(WaitPhase(kBeside, kRunning));
}

// The scheduler has heard that the task is starting, and does not say again how. The attempt's secret, which was in no
// file, it does.
TEST_P(AgentStorageTest, AnAgentThatWasRestartedLooksAgain) {
  StartAgent({"--path-seconds", "600"});
  LaunchIn(kKey, hung_ + "/me", "tr a-c A-C < $GLIM_ATTEMPT_SECRET_FILE");
  Listed(kKey).set_attempt_secret(std::string(64, 'a'));
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kStarting));
  Listed(kKey).clear_launch();
  Send();
  const auto taken = [&](const v1::NodeReport& report) { return report.revision() == set_.revision(); };
  ASSERT_TRUE(scheduler_.WaitReport(taken));
  KillAgent();
  storage_->Release();
  StartAgent({"--path-seconds", "600"});
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_FALSE(task->lost()) << task->message();
  EXPECT_FALSE(task->start_failed()) << task->message();
  EXPECT_EQ(LogText(kKey, 0), std::string(64, 'A'));
}

// The prolog holds the task between the look at its paths and their use.
TEST_P(AgentStorageTest, WhatBeginsToHangAfterTheLookFailsTheTaskAndNobodyElseNotices) {
  const std::string late = folder_ + "/late", prolog = folder_ + "/prolog", seconds = BusySeconds(2);
  std::filesystem::create_directories(late + "/me");
  ASSERT_TRUE(WriteFileAtomically(
                  prolog,
                  "#!/bin/sh\ntouch " + folder_ + "/looked\nwhile ! [ -e " + folder_ + "/go ]; do sleep 0.01; done\n",
                  Durability::kProcess)
                  .ok());
  std::filesystem::permissions(prolog, std::filesystem::perms::owner_all);
  StartAgent({"--path-seconds", seconds, "--prolog", prolog});
  LaunchIn(kKey, late + "/me");
  Send();
  ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(folder_ + "/looked"); }));
  HungFolder hung(late);
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/go", "", Durability::kProcess).ok());
  LaunchIn(kBeside, folder_, "echo here; while :; do sleep 1000; done");
  Send();
  ASSERT_TRUE(WaitPhase(kBeside, kRunning));
  const auto task = WaitTask(kKey, [](const v1::ObservedTask& seen) { return seen.start_failed(); });
  ASSERT_TRUE(task);
  EXPECT_FALSE(task->lost());
  EXPECT_EQ(task->hung_path(), late + "/me");
  EXPECT_THAT(task->message(), HasSubstr("could not start it within " + std::to_string(3 * std::stoi(seconds)) + " s"));
  EXPECT_EQ(scheduler_.hellos(), 1);
  EXPECT_EQ(FindTask(scheduler_.newest(), kBeside)->phase(), kRunning);
  Stop(kKey, 0);
  Send();
  hung.Release();
  const auto end = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->start_failed());
  EXPECT_FALSE(end->lost());
  EXPECT_EQ(end->hung_path(), late + "/me");
}

TEST_P(AgentStorageTest, AnAgentStartsThoughAFolderThatItGivesToJobsHangs) {
  StartAgent({"--path-seconds", "1", "--mount-allow", hung_ + "/data"});
  ASSERT_TRUE(scheduler_.WaitHello(1));
  if (in_container()) {
    EXPECT_THAT(scheduler_.last_hello().allowed_folders(), ::testing::Contains(hung_ + "/data"));
  }
}

// What hangs in the kernel outlives a SIGKILL and has not exited: it is named all the same.
class HungRankTest : public AgentStorageTest {};

TEST_P(HungRankTest, IsReportedWithItsProcess) {
  StartAgent();
  Launch(kKey, "echo pid $$; exec stat " + hung_ + "/me");
  Send();
  const pid_t rank = WaitPid(kKey, 0, "pid ");
  ASSERT_GT(rank, 0);
  ASSERT_TRUE(Eventually([&] { return storage_->HoldsProcess(rank); }));
  Stop(kKey, 0);
  Send();
  const auto task = WaitTask(kKey, [](const v1::ObservedTask& t) { return t.pids_size() > 0; });
  ASSERT_TRUE(task);
  EXPECT_THAT(task->pids(), testing::ElementsAre(rank)) << "not its supervisor";
  EXPECT_NE(task->phase(), kReleased);
  storage_->Release();
  EXPECT_TRUE(WaitPhase(kKey, kReleased));
}

GLIM_WITH_MOUNTS(AgentStorageTest);
// A container cannot be given a folder that hangs already: plain processes alone.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(HungRankTest);
INSTANTIATE_TEST_SUITE_P(Runtimes, HungRankTest,
                         testing::ValuesIn(RuntimesWithMounts().empty() ? std::vector<std::string>()
                                                                        : std::vector<std::string>{"process"}),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace glim::nodeagent
