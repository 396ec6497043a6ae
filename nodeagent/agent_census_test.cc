// Who is in a task: whatever its processes do to their session, their environment and their parents, they are found,
// stopped, and gone before the task is reported released.
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "nodeagent/os/processes.h"
#include "nodeagent/os/run_program.h"
#include "nodeagent/os/unified_group.h"
#include "nodeagent/task/task_files.h"
#include "nodeagent/testing/agent_fixture.h"
#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

// A rank that changes session and clears its environment, and one that is as it was started; neither heeds SIGTERM.
constexpr const char* kHides =
    "env -i /usr/bin/setsid /bin/bash -c 'trap \"\" TERM; echo hidden $$; while :; do /bin/sleep 1000; done' &\n"
    "trap '' TERM; while :; do sleep 1000; done";

class AgentCensusTest : public AgentTest {
 protected:
  // Its shim is killed while its ranks run on; returns the hidden one.
  pid_t LoseShim() {
    Launch(kKey, kHides);
    Send();
    const pid_t hidden = WaitPid(kKey, 0, "hidden ");
    EXPECT_GT(hidden, 0);
    EXPECT_TRUE(WaitPhase(kKey, kRunning));
    SignalShim(kKey, SIGKILL);
    EXPECT_TRUE(WaitTask(kKey, [](const v1::ObservedTask& t) {
      return t.lost() && t.phase() == v1::ObservedTask::EXITED && t.pids_size() >= 2;
    })) << "it is lost, and its node is not free";
    EXPECT_TRUE(IsRunning(hidden));
    return hidden;
  }
  // What all threads of the agent have used so far.
  double CpuSeconds() const {
    double seconds = 0;
    std::error_code error;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(agent_) + "/task", error)) {
      const auto text = ReadFile(thread.path().string() + "/schedstat", 1 << 10);
      if (text.ok()) seconds += std::atof(text->c_str()) / 1e9;
    }
    return seconds;
  }
  // How often all threads of the agent have read from a file or a socket so far.
  std::int64_t Reads() const {
    const auto text = ReadFile("/proc/" + std::to_string(agent_) + "/io", 1 << 10);
    const std::size_t at = text.ok() ? text->find("syscr: ") : std::string::npos;
    return at == std::string::npos ? -1 : std::atoll(text->c_str() + at + 7);
  }
  // Whether the process runs in the moment in which the release is told.
  bool IsThereAtRelease(pid_t process) {
    Stop(kKey, 0);
    Send();
    EXPECT_TRUE(WaitPhase(kKey, kReleased));
    return IsRunning(process);
  }
};

TEST_P(AgentCensusTest, AClearedEnvironmentAndAnotherSessionHideNothing) {
  StartAgent();
  ASSERT_TRUE(scheduler_.WaitHello(1));
  EXPECT_EQ(scheduler_.last_hello().census(), "groups");
  const pid_t hidden = LoseShim();
  EXPECT_FALSE(IsThereAtRelease(hidden));
  Unlist(kKey);
  Send();
  ASSERT_TRUE(scheduler_.WaitReport([](const v1::NodeReport& r) { return r.tasks_size() == 0; }));
  EXPECT_TRUE(Eventually([&] { return NoGroup("/7.1.0"); }));
}

TEST_P(AgentCensusTest, TheNextAgentFindsThemToo) {
  StartAgent();
  const pid_t hidden = LoseShim();
  KillAgent();
  StartAgent();
  ASSERT_TRUE(scheduler_.WaitHello(2));
  ASSERT_TRUE(WaitTask(kKey, [](const v1::ObservedTask& t) {
    return t.lost() && t.phase() == v1::ObservedTask::EXITED && t.pids_size() >= 2;
  }));
  EXPECT_FALSE(IsThereAtRelease(hidden));
}

// Somebody removes the task's folder: what runs is in its group, and so the next agent knows of the task.
TEST_P(AgentCensusTest, TheNextAgentFindsATaskWhoseFolderIsGone) {
  StartAgent();
  Launch(kKey, kHides);
  Send();
  const pid_t hidden = WaitPid(kKey, 0, "hidden ");
  ASSERT_TRUE(WaitPhase(kKey, kRunning));
  ASSERT_EQ(RunProgram({"/bin/rm", "-rf", "--", TaskFolder(kKey)}, "/dev/null").value(), 0);
  EXPECT_EQ(EndAgent(), 0);
  StartAgent();
  ASSERT_TRUE(scheduler_.WaitHello(2));
  const auto lost = WaitTask(kKey, [](const v1::ObservedTask& t) {
    return t.lost() && t.phase() == v1::ObservedTask::EXITED && t.pids_size() >= 2;
  });
  ASSERT_TRUE(lost) << "its node is not free, and the task is not started a second time";
  EXPECT_FALSE(lost->start_failed());
  EXPECT_TRUE(IsRunning(hidden)) << "the scheduler says when it is stopped";
  EXPECT_FALSE(IsThereAtRelease(hidden));
  Unlist(kKey);
  Send();
  ASSERT_TRUE(scheduler_.WaitReport([](const v1::NodeReport& r) { return r.tasks_size() == 0; }));
  EXPECT_TRUE(Eventually([&] { return NoGroup("/7.1.0") && !std::filesystem::exists(TaskFolder(kKey)); }));
}

// The shim would have to be heard for it; the kernel needs nobody.
TEST_P(AgentCensusTest, AStopReachesThemWhileTheShimIsStopped) {
  StartAgent();
  Launch(kKey, kHides);
  Send();
  const pid_t hidden = WaitPid(kKey, 0, "hidden ");
  ASSERT_TRUE(WaitPhase(kKey, kRunning));
  SignalShim(kKey, SIGSTOP);
  EXPECT_FALSE(IsThereAtRelease(hidden));
}

TEST_P(AgentCensusTest, ALoginUsersEnvironmentHoldsNoRelease) {
  StartAgent();
  Launch(kKey, "echo up; sleep 1000");
  Send();
  WaitLine(kKey, 0, "up");
  ASSERT_TRUE(WaitPhase(kKey, kRunning));
  const std::string mark = "GLIM_SOCKET=" + TaskPaths(TaskFolder(kKey)).socket();
  const Result<pid_t> stranger = StartProgram({"/bin/sleep", "1000"}, {mark}, "/dev/null");
  ASSERT_TRUE(stranger.ok());
  SignalShim(kKey, SIGKILL);
  ASSERT_TRUE(WaitTask(kKey, [](const v1::ObservedTask& t) { return t.lost(); }));
  Stop(kKey, 0);
  Send();
  EXPECT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_TRUE(IsRunning(*stranger)) << "it is none of the task's, and nobody kills it";
  ::kill(*stranger, SIGKILL);
  ::waitpid(*stranger, nullptr, 0);
}

// Whoever looks after the node finds the groups without knowing how the agent names them.
TEST_P(AgentCensusTest, TheLogSaysWhereTheGroupsAre) {
  StartAgent();
  Launch(kKey, "echo up; sleep 1000");
  Send();
  WaitLine(kKey, 0, "up");
  const std::string log = AgentLog();
  const std::size_t at = log.find(" groups=\"", log.find("event=started"));
  ASSERT_NE(at, std::string::npos) << log;
  const std::string groups = log.substr(at + 9, log.find('"', at + 9) - at - 9);
  if (::geteuid() == 0) {
    EXPECT_EQ(LookAtGroup(groups + "/" + ToString(kKey)), GroupState::kPopulated) << groups;
  } else {
    EXPECT_EQ(groups, "");
  }
  Stop(kKey, 0);
  Send();
  EXPECT_TRUE(WaitPhase(kKey, kReleased));
}

// Two tasks run, and of eight everything has ended but a daemon: who is there is told, not looked for again and again.
TEST_P(AgentCensusTest, AnIdleAgentCostsNextToNothing) {
  StartAgent();
  for (std::uint64_t job = 1; job <= 10; ++job) {
    const char* const run = job <= 2 ? "echo up; sleep 1000" : "setsid sleep 1000 & echo up; exit 0";
    Launch({job, 1, 0}, run);
  }
  Send();
  const auto is_idle = [](const v1::NodeReport& r) {
    const auto in = [&r](v1::ObservedTask::Phase phase) {
      return std::count_if(r.tasks().begin(), r.tasks().end(), [&](const auto& t) { return t.phase() == phase; });
    };
    return in(kRunning) == 2 && in(v1::ObservedTask::EXITED) == 8;
  };
  ASSERT_TRUE(scheduler_.WaitReport(is_idle));
  const auto reports = [this](int more) {
    const int first = scheduler_.reports();
    return Eventually([&] { return scheduler_.reports() >= first + more; });
  };
  ASSERT_TRUE(reports(2));  // what the starts have left to do is done
  const auto begin = std::chrono::steady_clock::now();
  const double used = CpuSeconds();
  const std::int64_t read = Reads();
  ASSERT_GT(read, 0);
  ASSERT_TRUE(reports(5));  // one a second
  const double share =
      (CpuSeconds() - used) / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const std::int64_t reads = (Reads() - read) / 5;
  std::printf("an idle agent: %.2f %% of a core, %lld reads a report\n", share * 100, static_cast<long long>(reads));
  EXPECT_LT(reads, 300) << "a look at every process of a machine is thousands";
  for (std::uint64_t job = 1; job <= 10; ++job) Stop({job, 1, 0}, 0);
  Send();
  EXPECT_TRUE(scheduler_.WaitReport([](const v1::NodeReport& r) {
    return std::all_of(r.tasks().begin(), r.tasks().end(), [](const auto& t) { return t.phase() == kReleased; });
  }));
}

// What only root's agent can do.
INSTANTIATE_TEST_SUITE_P(Runtimes, AgentCensusTest,
                         testing::ValuesIn(::geteuid() == 0 ? Runtimes() : std::vector<std::string>{}),
                         [](const auto& info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AgentCensusTest);

class OwnHierarchyTest : public AgentCensusTest {};

// A machine whose system mounts the older control groups alone: the agent mounts the hierarchy for itself.
TEST_P(OwnHierarchyTest, AnAgentMountsTheHierarchyThatIsMountedNowhere) {
  StartAgent({}, {"/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-c",
                  "umount /sys/fs/cgroup/unified 2>/dev/null || umount /sys/fs/cgroup; exec \"$@\"", "sh"});
  ASSERT_TRUE(scheduler_.WaitHello(1));
  EXPECT_EQ(scheduler_.last_hello().census(), "groups");
  const pid_t hidden = LoseShim();
  EXPECT_FALSE(IsThereAtRelease(hidden));
}

// Containers have their limits in the older ones: without these they cannot be made.
std::vector<std::string> WithoutTheHierarchy() {
  if (::geteuid() != 0) return {};
  return GroupsAreUnified() ? std::vector<std::string>{"process"} : Runtimes();
}
INSTANTIATE_TEST_SUITE_P(Runtimes, OwnHierarchyTest, testing::ValuesIn(WithoutTheHierarchy()),
                         [](const auto& info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OwnHierarchyTest);

// An agent that is not root says so, and finds what its marks and its parents tell.
class BestEffortCensusTest : public AgentTest {
 protected:
  void StartUnprivileged() {
    if (::geteuid() != 0) return StartAgent();
    std::filesystem::create_directory(state_);
    ASSERT_EQ(::chmod(state_.c_str(), 0700), 0);
    for (const std::string& folder : {root_, folder_, state_}) ASSERT_EQ(::chown(folder.c_str(), 65534, 65534), 0);
    StartAgent({}, {"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"});
  }
};

TEST_P(BestEffortCensusTest, IsSaidAndFindsMarkedProcesses) {
  StartUnprivileged();
  ASSERT_TRUE(scheduler_.WaitHello(1));
  EXPECT_EQ(scheduler_.last_hello().census(), "best_effort");
  Launch(kKey, "( setsid sleep 1000 & echo daemon $! ) ; exec sleep 1000");
  Send();
  const pid_t daemon = WaitPid(kKey, 0, "daemon ");
  ASSERT_TRUE(WaitPhase(kKey, kRunning));
  SignalShim(kKey, SIGKILL);
  ASSERT_TRUE(WaitTask(kKey, [](const v1::ObservedTask& t) { return t.lost() && t.pids_size() == 2; }));
  Stop(kKey, 0);
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_FALSE(IsRunning(daemon));
}

INSTANTIATE_TEST_SUITE_P(Runtimes, BestEffortCensusTest, testing::Values("process"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace glim::nodeagent
