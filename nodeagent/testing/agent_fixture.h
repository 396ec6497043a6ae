// Starts the real glim-agent, with the real glim-shim and real processes, against a FakeScheduler. One folder a test,
// removed with everything that still runs in it. Every test is a contract for each runtime: plain processes, and runc
// and crun where the tests run as root and the machine can.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "nodeagent/core/reconcile.h"
#include "nodeagent/task/task_user.h"
#include "nodeagent/testing/fake_scheduler.h"
#include "sdk/base/testing/waits.h"

namespace glim::nodeagent {

bool IsRunning(pid_t pid);

inline constexpr TaskKey kKey{7, 1, 0};
// Whom tasks in containers run as whose order names no user; `folder_` is that user's.
inline const TaskUser kTaskUser{4321, 4322};
inline constexpr auto kRunning = v1::ObservedTask::RUNNING;
inline constexpr auto kReleased = v1::ObservedTask::RELEASED;

const v1::ObservedTask* FindTask(const v1::NodeReport& report, const TaskKey& key);

class AgentTest : public testing::TestWithParam<std::string> {
 protected:
  AgentTest();
  ~AgentTest() override;

  // `by`: the program that is to start it, with its arguments.
  void StartAgent(const std::vector<std::string>& extra = {}, const std::vector<std::string>& by = {});
  // SIGKILL: nothing of the agent gets to say goodbye.
  void KillAgent();
  // SIGTERM; returns its exit status.
  int EndAgent();
  // Waits until it ends by itself; returns its exit status.
  int AwaitAgent();

  // A launch of one rank that runs `run`; `more` may change the order.
  v1::DesiredTask& Launch(const TaskKey& key, const std::string& run,
                          const std::function<void(v1::TaskLaunch&)>& more = {});
  v1::DesiredTask& Listed(const TaskKey& key);
  void Unlist(const TaskKey& key);
  void Stop(const TaskKey& key, std::int64_t term_ms);
  // Sends the set with the next revision.
  void Send();

  std::optional<v1::ObservedTask> WaitTask(const TaskKey& key,
                                           const std::function<bool(const v1::ObservedTask&)>& check);
  std::optional<v1::ObservedTask> WaitPhase(const TaskKey& key, v1::ObservedTask::Phase phase);

  std::string TaskFolder(const TaskKey& key) const;
  std::string LogText(const TaskKey& key, std::uint32_t rank) const;
  // Waits until the rank's log holds a whole line that begins with `prefix`, and returns the rest of that line.
  std::string WaitLine(const TaskKey& key, std::uint32_t rank, const std::string& prefix);
  // WaitLine for a process id that one of the task's processes printed: this machine's number for that process, also
  // when it has another one in its container. 0 when there is none.
  pid_t WaitPid(const TaskKey& key, std::uint32_t rank, const std::string& prefix);
  bool in_container() const { return GetParam() != "process"; }
  // A new folder, with those above it, below `folder_`, where tasks may write: theirs, as `folder_` is.
  std::string Folder(const std::string& name) const;
  // To the task's shim, which is there.
  void SignalShim(const TaskKey& key, int signal) const;
  // Whether no controller has a group of the agent's with this ending ("/7.1.0").
  bool NoGroup(const std::string& ending) const;
  std::string AgentLog() const;

  FakeScheduler scheduler_;
  std::string cluster_ = "test";
  std::string root_;    // short: a socket's path has to fit
  std::string folder_;  // for jobs, the agent's log and the test
  std::string state_;   // the agent's own
  v1::DesiredState set_;
  pid_t agent_ = 0;

 private:
  void KillTasks();
  void RemoveControlGroups();
};

// Whether the machine has control groups of version 2 alone.
bool GroupsAreUnified();
// The runtimes that can be tried here.
std::vector<std::string> Runtimes();
std::vector<std::string> ContainerRuntimes();   // of these, those with containers
std::vector<std::string> RuntimesWithMounts();  // of these, those whose test may mount file systems: root's

#define GLIM_FOR_EACH_RUNTIME(suite) \
  INSTANTIATE_TEST_SUITE_P(Runtimes, suite, testing::ValuesIn(Runtimes()), [](const auto& info) { return info.param; })
// What only containers have; nothing where the machine has none.
#define GLIM_IN_CONTAINERS(suite)                                                   \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(suite);                             \
  INSTANTIATE_TEST_SUITE_P(Runtimes, suite, testing::ValuesIn(ContainerRuntimes()), \
                           [](const auto& info) { return info.param; })

// What needs a file system of the test's own.
#define GLIM_WITH_MOUNTS(suite)                                                      \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(suite);                              \
  INSTANTIATE_TEST_SUITE_P(Runtimes, suite, testing::ValuesIn(RuntimesWithMounts()), \
                           [](const auto& info) { return info.param; })

}  // namespace glim::nodeagent
