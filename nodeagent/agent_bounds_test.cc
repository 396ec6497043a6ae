// What a task in a container has of its node if it asks for nothing, and what of the node it does not see.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "nodeagent/os/processes.h"
#include "nodeagent/task/task_files.h"
#include "nodeagent/testing/agent_fixture.h"
#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

constexpr std::int64_t kReserve = std::int64_t{1} << 30;

std::int64_t MemoryTotal() {
  struct sysinfo info {};
  EXPECT_EQ(::sysinfo(&info), 0);
  return static_cast<std::int64_t>(info.totalram) * info.mem_unit;
}

class AgentBoundsTest : public AgentTest {
 protected:
  std::string Run(const std::string& run, const std::function<void(v1::TaskLaunch&)>& more = {}) {
    if (agent_ == 0) StartAgent();
    Launch(kKey, run, more);
    Send();
    EXPECT_TRUE(WaitPhase(kKey, kReleased));
    return LogText(kKey, 0);
  }
  // Of the container's group, by its name in version 2 or in the tree of a controller of version 1; without the line's
  // end; "" where there is none.
  std::string Setting(const std::string& unified, const std::string& controller, const std::string& name) const {
    const std::string group = "/glim/" + std::filesystem::path(root_).filename().string() + "/7.1.0/container/";
    const std::string tree = "/sys/fs/cgroup" + (GroupsAreUnified() ? "" : "/" + controller);
    const auto text = ReadFile(tree + group + (GroupsAreUnified() ? unified : name), 1 << 10);
    return text.ok() ? text->substr(0, text->find('\n')) : "";
  }
};

TEST_P(AgentBoundsTest, WhoAsksForNoLimitsIsHeldToWhatTheNodeSpares) {
  StartAgent({"--reserve-memory", std::to_string(kReserve)});
  Launch(kKey, "ulimit -c; echo up; sleep 1000");
  Send();
  WaitLine(kKey, 0, "up");
  const std::int64_t bytes = (MemoryTotal() - kReserve) / 4096 * 4096;
  EXPECT_EQ(Setting("memory.max", "memory", "memory.limit_in_bytes"), std::to_string(bytes));
  if (GroupsAreUnified()) {
    EXPECT_EQ(Setting("memory.swap.max", "", ""), "0");
    EXPECT_EQ(Setting("memory.oom.group", "", ""), "1");
  } else {
    EXPECT_EQ(Setting("", "memory", "memory.memsw.limit_in_bytes"), std::to_string(bytes));
  }
  const std::int64_t pids = std::atoll(Setting("pids.max", "pids", "pids.max").c_str());
  EXPECT_GT(pids, 0);
  EXPECT_LE(pids, 32768);
  EXPECT_LT(pids, std::atoll(ReadFile("/proc/sys/kernel/pid_max", 64)->c_str()));
  EXPECT_TRUE(LogText(kKey, 0).starts_with("0\n")) << "no cores are dumped: " << LogText(kKey, 0);
}

TEST_P(AgentBoundsTest, HasFilesAndSharedMemoryThatFitItsMemory) {
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  const std::string most = std::to_string(std::min<rlim_t>(files.rlim_max, 1 << 20));
  const std::string text = Run("ulimit -Sn; ulimit -Hn; df --output=size -B1 /dev/shm | tail -n 1 | tr -d ' '",
                               [](auto& launch) { launch.mutable_limits()->set_memory_bytes(64 << 20); });
  EXPECT_EQ(text, most + "\n" + most + "\n" + std::to_string(32 << 20) + "\n");
}

TEST_P(AgentBoundsTest, MoreThanTheNodeHasIsRefusedByItsField) {
  StartAgent();
  struct Case {
    std::string said;
    std::function<void(v1::TaskLimits&)> ask;
  };
  const Case cases[] = {
      {"limits.memory ", [](auto& l) { l.set_memory_bytes(MemoryTotal()); }},
      {"limits.cpus ", [](auto& l) { l.set_cpu_millis(1000 * (::sysconf(_SC_NPROCESSORS_ONLN) + 1)); }},
      {"limits.pids ", [](auto& l) { l.set_pids(4'000'000); }},
      {"limits.shm ", [](auto& l) { l.set_shm_bytes(MemoryTotal()); }},
  };
  std::uint64_t job = 20;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.said);
    const TaskKey key{job++, 1, 0};
    Launch(key, "echo never", [&](auto& launch) { c.ask(*launch.mutable_limits()); });
    Send();
    const auto task = WaitPhase(key, kReleased);
    ASSERT_TRUE(task);
    EXPECT_TRUE(task->start_failed());
    EXPECT_TRUE(task->message().starts_with(c.said)) << task->message();
    EXPECT_NE(task->message().find("ask for"), std::string::npos) << task->message();
    EXPECT_TRUE(task->job_fault());
  }
}

// When the memory of the whole node is gone, the kernel ends a rank first; of a task that which says how it ended last.
TEST_P(AgentBoundsTest, ItsRanksGoBeforeAnythingElseOfTheNode) {
  StartAgent();
  Launch(kKey, "echo inner $$; sleep 1000");
  Send();
  const pid_t rank = WaitPid(kKey, 0, "inner ");
  const auto identity = ParseProcessIdentity(*ReadFile(TaskPaths(TaskFolder(kKey)).identity(), 1 << 16));
  ASSERT_TRUE(identity.ok());
  const auto score = [](pid_t pid) {
    return std::atoi(ReadFile("/proc/" + std::to_string(pid) + "/oom_score_adj", 64)->c_str());
  };
  const pid_t init = ReadProcess(rank)->parent;
  EXPECT_EQ(score(rank), 900);
  EXPECT_EQ(score(init), 500);
  EXPECT_LT(score(identity->pid), 500) << "the shim";
  EXPECT_LT(score(agent_), 500);
}

TEST_P(AgentBoundsTest, SeesNothingOfOtherProgramsInProcAndSys) {
  const std::string text =
      Run("for f in /proc/interrupts /proc/keys /proc/kcore /proc/timer_list /proc/sched_debug /proc/latency_stats; do"
          "  [ -s $f ] && [ -n \"$(head -c 1 $f 2>/dev/null)\" ] && echo shown $f; done;"
          "for d in /proc/acpi /proc/asound /proc/scsi /sys/firmware /sys/devices/virtual/powercap /sys/kernel/debug"
          "  /sys/kernel/security; do [ -n \"$(ls -A $d 2>/dev/null)\" ] && echo shown $d; done;"
          "for f in /proc/sys/kernel/hostname /proc/sysrq-trigger /sys/kernel/mm/ksm/run; do"
          "  [ -e $f ] && [ -w $f ] && echo writable $f; done;"
          "cut -d: -f3 /proc/self/cgroup | sort -u");
  EXPECT_EQ(text, "/\n") << "its own control group is the root that it sees";
}

// The kernel asks who the task's user is at each look, so nothing has to be known beforehand.
TEST_P(AgentBoundsTest, ReadsNothingOfEtcThatItsUserMayNotHoweverNew) {
  StartAgent();
  ASSERT_TRUE(scheduler_.WaitHello(1));
  const std::string file = "/etc/glim-test-" + std::to_string(::getpid());
  std::ofstream(file) << "secret\n";
  ASSERT_EQ(::chmod(file.c_str(), 0640), 0);
  const std::string text = Run("cat " + file + " 2>/dev/null || echo refused; cat /etc/shadow 2>/dev/null | wc -c");
  std::filesystem::remove(file);
  EXPECT_EQ(text, "refused\n0\n");
}

// What lies there is nobody's to count: of the agent's disk a task has its /tmp, which tmp_bytes bounds.
TEST_P(AgentBoundsTest, WritesNothingBesideItsSocketAndConnectsToIt) {
  const std::string text =
      Run("d=${GLIM_SOCKET%/*}; flock -n $GLIM_SOCKET.rank-$GLIM_RANK true || echo without turns;"
          "for f in $d/new $d/socket.x; do (echo x > $f) 2>/dev/null && echo wrote $f; done;"
          "mkdir $d/folder 2>/dev/null && echo made; ln -s x $d/link 2>/dev/null && echo linked;"
          "mv $d/socket $d/other 2>/dev/null && echo moved; rm -f $d/socket 2>/dev/null && echo removed;"
          "chmod 0777 $d $d/socket 2>/dev/null && echo opened; truncate -s 1G $d/socket 2>/dev/null && echo grown;"
          "exec /usr/bin/python3 -c 'import os, socket\n"
          "socket.socket(socket.AF_UNIX).connect(os.environ[\"GLIM_SOCKET\"])\n"
          "print(\"connected\")'");
  EXPECT_EQ(text, "connected\n");
}

// Deeper than any path that a call takes, with what is large at its end.
TEST_P(AgentBoundsTest, ATmpTooDeepToBeCountedIsTooMuchAndGoesWithTheTask) {
  StartAgent({"--tmp-bytes", "4MiB"});
  Launch(kKey,
         "exec /usr/bin/python3 -c 'import os, time\n"
         "os.chdir(\"/tmp\")\n"
         "for _ in range(5000): os.mkdir(\"d\"); os.chdir(\"d\")\n"
         "open(\"large\", \"wb\").write(bytes(8 << 20))\n"
         "time.sleep(1000)'");
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_NE(task->ranks(0).cause().find(" and folders more than 100 deep, and this node allows 4.0 MiB (tmp_bytes)"),
            std::string::npos)
      << task->ranks(0).cause();
  Unlist(kKey);
  Send();
  EXPECT_TRUE(Eventually([&] { return std::filesystem::is_empty(state_ + "/tasks"); }));
}

GLIM_IN_CONTAINERS(AgentBoundsTest);

}  // namespace
}  // namespace glim::nodeagent
