// Tasks that do what they can to stay, started and killed again and again; nothing of them is left. GLIM_HOSTILE_ROUNDS
// says how often (a round is one task; each kind has its turn).
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "nodeagent/os/processes.h"
#include "nodeagent/testing/agent_fixture.h"
#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

struct Hostile {
  const char* name;
  const char* run;
};

// As plain processes they bound themselves, for nothing else does; in a container its limits bound them. None heeds
// SIGTERM, where it gets one. Each says "up" when it is under way.
constexpr Hostile kKinds[] = {
    {"deaf", "trap '' TERM HUP INT; echo up; while :; do sleep 1000; done"},
    {"hidden",
     "env -i /usr/bin/setsid /bin/bash -c 'trap \"\" TERM; while :; do /bin/sleep 1000; done' & echo up; wait"},
    {"daemon", "( setsid bash -c 'trap \"\" TERM; while :; do sleep 1000; done' & ) ; echo up; exit 0"},
    {"forks",  // (the kernel bounds nobody's number of processes who is root, so this one counts by itself)
     "trap '' TERM; bomb() { [ $1 = 0 ] || { ( bomb $(($1 - 1)) & ) ; ( bomb $(($1 - 1)) & ) ; } 2>/dev/null;"
     " sleep 1000; }; echo up; bomb 6"},
    {"respawns",  // another process every few milliseconds, each in a session of its own, its parent gone
     "trap '' TERM; RUN='/bin/sleep 0.01; /usr/bin/setsid /bin/bash -c \"$0\" \"$0\" & exit 0';"
     "setsid bash -c \"$RUN\" \"$RUN\" & echo up; sleep 1000"},
    {"stopped", "trap '' TERM; bash -c 'echo up; kill -STOP $$; sleep 1000' & kill -STOP $$; sleep 1000"},
    {"memory",
     "trap '' TERM; echo up; exec /usr/bin/python3 -c 'import time\n"
     "hog = []\n"
     "try:\n"
     "    while True: hog.append(bytearray(1 << 20))\n"
     "except MemoryError: time.sleep(1000)'"},
    {"floods", "trap '' TERM; echo up; while :; do echo flood flood flood flood flood flood flood flood; done"},
    {"disk", "trap '' TERM; echo up; head -c 64m /dev/zero >\"$PWD/hog\" 2>/dev/null; sleep 1000"},
};

class AgentHostileTest : public AgentTest {
 protected:
  void LaunchHostile(const TaskKey& key, const Hostile& hostile) {
    const std::string bounds = in_container() ? "" : "ulimit -v 400000 -f 131072\n";
    Launch(key, bounds + hostile.run, [this](v1::TaskLaunch& launch) {
      launch.set_workdir(folder_);
      if (!in_container()) return;
      launch.mutable_limits()->set_memory_bytes(256 << 20);
      launch.mutable_limits()->set_pids(64);
      launch.mutable_limits()->set_cpu_millis(1000);
    });
  }
  bool HasEnded(const TaskKey& key) {
    const v1::NodeReport report = scheduler_.newest();
    const v1::ObservedTask* task = FindTask(report, key);
    return !task || task->phase() >= v1::ObservedTask::EXITED;
  }
  // Processes of the agent's tasks, by the folder in their environment or their arguments.
  std::string Processes() {
    std::ostringstream found;
    for (const ProcessInfo& process : ListProcesses()) {
      if (process.pid == agent_ || process.pid == ::getpid()) continue;
      const std::string folder = "/proc/" + std::to_string(process.pid);
      for (const char* file : {"/environ", "/cmdline"}) {
        const auto text = ReadFile(folder + file, 1 << 20);
        if (text.ok() && text->find(state_ + "/") != std::string::npos) found << process.pid << " " << *text << "\n";
      }
    }
    return found.str();
  }
  std::string Mounts() {
    std::ifstream mounts("/proc/self/mountinfo");
    std::ostringstream found;
    for (std::string line; std::getline(mounts, line);) {
      if (line.find(root_) != std::string::npos) found << line << "\n";
    }
    return found.str();
  }
  bool NothingIsLeft(const TaskKey& key) {
    std::error_code error;
    return NoGroup("/" + ToString(key)) && Mounts().empty() && !std::filesystem::exists(TaskFolder(key), error) &&
           !std::filesystem::exists(state_ + "/" + GetParam() + "/" + ToString(key), error);
  }
};

TEST_P(AgentHostileTest, NothingIsLeft) {
  const char* wanted = std::getenv("GLIM_HOSTILE_ROUNDS");
  const int rounds = wanted ? std::atoi(wanted) : static_cast<int>(std::size(kKinds));
  StartAgent();
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    const Hostile& hostile = kKinds[static_cast<std::size_t>(round) % std::size(kKinds)];
    SCOPED_TRACE(std::string(hostile.name) + ", round " + std::to_string(round));
    const TaskKey key{1000 + static_cast<std::uint64_t>(round), 1, 0};
    LaunchHostile(key, hostile);
    Send();
    WaitLine(key, 0, "up");
    ASSERT_TRUE(WaitTask(key, [](const v1::ObservedTask& t) { return t.phase() >= kRunning; }));
    // Every third loses its shim first, in whatever moment that is.
    if (round % 3 == 2 && !HasEnded(key)) SignalShim(key, SIGKILL);
    Stop(key, round % 2 == 0 ? 0 : 30);
    Send();
    ASSERT_TRUE(WaitPhase(key, kReleased));
    set_.clear_tasks();
    Send();
    ASSERT_TRUE(scheduler_.WaitReport([](const v1::NodeReport& r) { return r.tasks_size() == 0; }));
    EXPECT_TRUE(Eventually([&] { return NothingIsLeft(key); })) << Mounts();
    std::error_code ignored;
    std::filesystem::remove(folder_ + "/hog", ignored);
  }
  EXPECT_TRUE(Eventually([&] { return Processes().empty(); })) << Processes();
  EXPECT_TRUE(NoGroup("/trial"));
  if (wanted) std::printf("%d rounds: nothing is left\n", rounds);
}

// What is held to its group by the kernel alone.
INSTANTIATE_TEST_SUITE_P(Runtimes, AgentHostileTest,
                         testing::ValuesIn(::geteuid() == 0 ? Runtimes() : std::vector<std::string>{}),
                         [](const auto& info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AgentHostileTest);

}  // namespace
}  // namespace glim::nodeagent
