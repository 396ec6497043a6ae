// What only a container does: it shows a task no more of the node than it was given, and holds it to its limits.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "nodeagent/os/processes.h"
#include "nodeagent/task/task_files.h"
#include "nodeagent/testing/agent_fixture.h"
#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

void AddMount(v1::TaskLaunch& launch, const std::string& source, const std::string& target, bool read_only) {
  v1::Mount& mount = *launch.add_mounts();
  mount.set_source(source);
  mount.set_target(target);
  mount.set_read_only(read_only);
}

class AgentContainerTest : public AgentTest {
 protected:
  // Runs it to the end and returns what it printed.
  std::string Run(const std::string& run, const std::function<void(v1::TaskLaunch&)>& more = {}) {
    if (agent_ == 0) StartAgent();
    Launch(kKey, run, more);
    Send();
    const auto task = WaitPhase(kKey, kReleased);
    EXPECT_TRUE(task);
    if (task) ended_ = *task;
    return LogText(kKey, 0);
  }
  bool LeavesNothing() {
    std::error_code error;
    const auto mounts = ReadFile("/proc/self/mountinfo", 16 << 20);
    if (!mounts.ok() || mounts->find(root_) != std::string::npos) return false;
    return NoGroup("/7.1.0") && !std::filesystem::exists(state_ + "/" + GetParam() + "/7.1.0", error);
  }
  v1::ObservedTask ended_;
};

TEST_P(AgentContainerTest, SeesNoOtherProcessAndNoOtherFolder) {
  Folder("hidden");
  const std::string text =
      Run("echo first $(cat /proc/1/comm); echo processes $(ls -d /proc/[0-9]* | wc -l);"
          "[ -e " +
              folder_ +
              "/hidden ] || echo hidden; [ -e /root ] || echo no-root; [ -s /etc/shadow ] || echo no-shadow;"
              "hostname; touch /usr/x 2>/dev/null || echo usr-is-read-only; touch /tmp/mine && echo tmp-is-mine",
          [](auto& launch) { launch.set_workdir("/usr"); });
  // init, the shell, and ls in its subshell's pipe
  EXPECT_NE(text.find("first glim-init\nprocesses "), std::string::npos) << text;
  EXPECT_NE(text.find("\nhidden\nno-root\nno-shadow\nnode-1\nusr-is-read-only\ntmp-is-mine\n"), std::string::npos)
      << text;
  EXPECT_EQ(ended_.exit_code(), 0);
}

TEST_P(AgentContainerTest, HasNoPrivilegeAndGetsNone) {
  const std::string text = Run(
      "grep -E '^(CapEff|CapPrm|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\t';"
      "for c in 'unshare -U true' 'unshare -n true' 'mount -t tmpfs none /tmp' 'chroot / true' 'date -s 2000-01-01'; do"
      "  $c >/dev/null 2>&1 || echo refused: $c; done; "
      "[ -b /dev/sda ] || mknod /tmp/disk b 8 0 2>/dev/null || echo no-node");
  EXPECT_EQ(text,
            "CapPrm:0000000000000000\nCapEff:0000000000000000\nCapBnd:0000000000000000\nNoNewPrivs:1\nSeccomp:2\n"
            "refused: unshare -U true\nrefused: unshare -n true\nrefused: mount -t tmpfs none /tmp\n"
            "refused: chroot / true\nrefused: date -s 2000-01-01\nno-node\n");
}

TEST_P(AgentContainerTest, CannotReachItsFirstProcess) {
  const std::string text =
      Run("exec /usr/bin/python3 -c '\n"
          "import ctypes, os\n"
          "libc = ctypes.CDLL(None, use_errno=True)\n"
          "print(\"traced\" if libc.ptrace(16, 1, 0, 0) == 0 else os.strerror(ctypes.get_errno()))\n"  // PTRACE_ATTACH
          "print(\"taken\" if libc.syscall(438, os.pidfd_open(1), 3, 0) >= 0 else os.strerror(ctypes.get_errno()))'");
  EXPECT_EQ(text, "Operation not permitted\nOperation not permitted\n");
}

TEST_P(AgentContainerTest, GetsItsMountsAsAskedFor) {
  const std::string data = Folder("data"), out = Folder("out"), inner = Folder("out/inner");
  ASSERT_TRUE(WriteFileAtomically(data + "/set", "numbers\n", WriteOptions{Durability::kProcess, 0644, false}).ok());
  const std::string text =
      Run("cat /in/set; touch /in/x 2>/dev/null || echo read-only; echo made > /out/made;"
          "cat /out/deep/set; pwd; echo w > w; echo c > $GLIM_CHECKPOINT_DIR/c",
          [&](auto& launch) {
            AddMount(launch, data, "/out/deep", true);  // inside another, and named before it
            AddMount(launch, data, "/in", true);
            AddMount(launch, out, "/out", false);
            launch.set_workdir(inner);
            launch.set_checkpoint_dir(folder_ + "/ckpt");
          });
  EXPECT_EQ(text, "numbers\nread-only\nnumbers\n" + inner + "\n");
  EXPECT_EQ(*ReadFile(out + "/made", 100), "made\n");
  EXPECT_EQ(*ReadFile(inner + "/w", 100), "w\n");
  EXPECT_EQ(*ReadFile(folder_ + "/ckpt/c", 100), "c\n");
}

TEST_P(AgentContainerTest, MountsNothingThatItsWorkdirShowsAlready) {
  const std::string work = Folder("work");
  const std::string text = Run(
      "echo x > $GLIM_CHECKPOINT_DIR/x; cat saves/x; grep -c ' " + work + "' /proc/self/mountinfo", [&](auto& launch) {
        launch.set_workdir(work);
        launch.set_checkpoint_dir(work + "/saves");
      });
  EXPECT_EQ(text, "x\n1\n");
}

TEST_P(AgentContainerTest, MakesNoFolderWhereItGivesNone) {
  StartAgent();
  std::filesystem::create_directory_symlink("/var/lib", folder_ + "/out");
  for (const std::string& path : {std::string("/var/lib/glim-test-new/ckpt"), folder_ + "/out/glim-test-new"}) {
    SCOPED_TRACE(path);
    Run("echo never", [&](auto& launch) { launch.set_checkpoint_dir(path); });
    EXPECT_TRUE(ended_.start_failed());
    EXPECT_NE(ended_.message().find("checkpoint.dir " + path + " is not among the folders"), std::string::npos)
        << ended_.message();
    EXPECT_FALSE(std::filesystem::exists("/var/lib/glim-test-new"));
    Unlist(kKey);
    Send();
    ASSERT_TRUE(scheduler_.WaitReport([](const v1::NodeReport& r) { return r.tasks_size() == 0; }));
  }
}

TEST_P(AgentContainerTest, RefusesWhatTheNodeDoesNotGive) {
  StartAgent();
  std::filesystem::create_directory_symlink("/root", folder_ + "/way-out");
  struct Case {
    std::string said;
    std::function<void(v1::TaskLaunch&)> more;
  };
  const Case cases[] = {
      {"mounts[0].source /root is not among the folders", [](auto& l) { AddMount(l, "/root", "/r", true); }},
      {"mounts[0].source " + folder_ + "/way-out is not among",
       [&](auto& l) { AddMount(l, folder_ + "/way-out", "/r", true); }},
      {"mounts[0].source /tmp/not/there cannot be used on this node: No such file",
       [](auto& l) { AddMount(l, "/tmp/not/there", "/r", true); }},
      {"mounts[0].target /usr/lib belongs to the image", [](auto& l) { AddMount(l, "/tmp", "/usr/lib", true); }},
      {"mounts[0].target / belongs to the image", [](auto& l) { AddMount(l, "/tmp", "/", true); }},
      {"mounts[0].target " + root_ + " belongs to the image", [&](auto& l) { AddMount(l, folder_, root_, true); }},
      {"mounts[0].source " + state_ + " is not among", [&](auto& l) { AddMount(l, state_, "/c", true); }},
      {"mounts[0].source " + state_ + "/checkpoints cannot be used on this node: Permission denied for uid 4321",
       [&](auto& l) { AddMount(l, state_ + "/checkpoints", "/c", true); }},
      {"mounts[0].source " + root_ + " is not among", [&](auto& l) { AddMount(l, root_, "/c", true); }},
      {"mounts[0].source /proc is not among", [](auto& l) { AddMount(l, "/proc", "/p", true); }},
      {"mounts[0].source /sys/fs is not among", [](auto& l) { AddMount(l, "/sys/fs", "/p", true); }},
      {"mounts: source and target must be absolute", [](auto& l) { AddMount(l, "/tmp/../root", "/p", true); }},
      {"checkpoint.dir " + state_ + "/checkpoints cannot be used on this node: Permission denied",
       [&](auto& l) { l.set_checkpoint_dir(state_ + "/checkpoints"); }},
      {"checkpoint.dir " + state_ + "/checkpoints/5 cannot be used on this node: Permission denied",
       [&](auto& l) { l.set_checkpoint_dir(state_ + "/checkpoints/5"); }},
      {"checkpoint.dir must be an absolute path",
       [&](auto& l) { l.set_checkpoint_dir(state_ + "/checkpoints/5/../../../w"); }},
      {"workdir must be an absolute path", [](auto& l) { l.set_workdir("/tmp/../root"); }},
      {"workdir /root is not among the folders", [](auto& l) { l.set_workdir("/root"); }},
      {"checkpoint.dir /var/tmp is not among the folders", [](auto& l) { l.set_checkpoint_dir("/var/tmp"); }},
  };
  std::uint64_t job = 20;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.said);
    const TaskKey key{job++, 1, 0};
    Launch(key, "echo never", c.more);
    Send();
    const auto task = WaitPhase(key, kReleased);
    ASSERT_TRUE(task);
    EXPECT_TRUE(task->start_failed());
    EXPECT_NE(task->message().find(c.said), std::string::npos) << task->message();
  }
}

TEST_P(AgentContainerTest, TooMuchMemoryEndsItAndIsSaid) {
  Run("exec /usr/bin/python3 -c 'b = bytearray(256 << 20); print(len(b))'",
      [](auto& launch) { launch.mutable_limits()->set_memory_bytes(64 << 20); });
  EXPECT_EQ(ended_.exit_code(), 137);
  EXPECT_TRUE(ended_.message().starts_with("out of memory: the kernel killed ")) << ended_.message();
  EXPECT_TRUE(ended_.message().ends_with(" process(es) of the task at limits.memory, 64 MiB")) << ended_.message();
}

TEST_P(AgentContainerTest, IsHeldToProcessesAndSharedMemory) {
  const std::string text =
      Run("exec /usr/bin/python3 -c '\n"
          "import os, time\n"
          "made = 0\n"
          "try:\n"
          "    while made < 100:\n"
          "        if os.fork() == 0: time.sleep(60)\n"
          "        made += 1\n"
          "except BlockingIOError: print(\"refused\", 5 < made < 32, flush=True)\n"
          "try:\n"
          "    open(\"/dev/shm/x\", \"wb\").write(bytes(2 << 20))\n"
          "except OSError as error: print(error.strerror, flush=True)\n"
          "os.kill(1, 9)\n"  // init does not hear it from within
          "os.killpg(0, 9)'",
          [](auto& launch) {
            launch.mutable_limits()->set_pids(32);
            launch.mutable_limits()->set_shm_bytes(1 << 20);
            launch.mutable_limits()->set_cpu_millis(1500);
          });
  EXPECT_EQ(text, "refused True\nNo space left on device\n");
  EXPECT_EQ(ended_.exit_code(), 137);
}

// Memory that is registered with a network card is locked: what the operator allows the agent, the task has at once.
TEST_P(AgentContainerTest, MayLockAsMuchMemoryAsTheAgentMay) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &before), 0);
  const rlimit lower{std::min<rlim_t>(before.rlim_max, 64 << 10), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &lower), 0);
  const std::string text = Run("ulimit -Sl; ulimit -Hl");
  EXPECT_EQ(::setrlimit(RLIMIT_MEMLOCK, &before), 0);
  const std::string allowed = before.rlim_max == RLIM_INFINITY ? "unlimited" : std::to_string(before.rlim_max / 1024);
  EXPECT_EQ(text, allowed + "\n" + allowed + "\n");
}

TEST_P(AgentContainerTest, LeavesNothingBehind) {
  Run("echo done; setsid sleep 0.1 &");
  EXPECT_TRUE(LeavesNothing());
}

// On a machine whose mounts are shared, as systemd's are, what is mounted for the container is mounted in it alone.
TEST_P(AgentContainerTest, MountsNothingOnItsNode) {
  StartAgent({}, {"/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-c",
                  "mount --make-rshared / && exec \"$@\"", "sh"});
  ASSERT_TRUE(scheduler_.WaitHello(1));
  const auto mounts = [&] { return *ReadFile("/proc/" + std::to_string(agent_) + "/mountinfo", 16 << 20); };
  const std::string before = mounts();
  Launch(kKey, "echo up; sleep 1000");
  Send();
  WaitLine(kKey, 0, "up");
  EXPECT_EQ(mounts(), before);
  Stop(kKey, 0);
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_EQ(mounts(), before);
}

TEST_P(AgentContainerTest, LeavesNothingBehindWhenItsShimWasKilled) {
  StartAgent();
  Launch(kKey, "echo up; sleep 1000");
  Send();
  WaitLine(kKey, 0, "up");
  ASSERT_TRUE(WaitPhase(kKey, kRunning));
  const auto identity = ParseProcessIdentity(*ReadFile(TaskPaths(TaskFolder(kKey)).identity(), 1 << 16));
  ASSERT_TRUE(identity.ok());
  ::kill(identity->pid, SIGKILL);
  ASSERT_TRUE(WaitTask(kKey, [](const v1::ObservedTask& t) { return t.lost(); }));
  EXPECT_FALSE(LeavesNothing());
  Stop(kKey, 0);
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  Unlist(kKey);
  Send();
  ASSERT_TRUE(scheduler_.WaitReport([](const v1::NodeReport& r) { return r.tasks_size() == 0; }));
  EXPECT_TRUE(Eventually([&] { return LeavesNothing(); }));
}

TEST_P(AgentContainerTest, LeavesNothingBehindWhenItsRuntimeIsKilledInTheMiddle) {
  StartAgent();
  std::mt19937 random(7);
  for (std::uint64_t job = 100; job < 130; ++job) {
    const TaskKey key{job, 1, 0};
    set_.clear_tasks();
    Launch(key, "echo up; sleep 1000");
    Send();
    // Some are caught before the runtime, some in it, some after.
    ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(TaskPaths(TaskFolder(key)).bundle()); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 60));
    for (const ProcessInfo& process : ListProcesses()) {
      const std::string folder = "/proc/" + std::to_string(process.pid);
      const auto name = ReadFile(folder + "/comm", 1 << 10), command = ReadFile(folder + "/cmdline", 1 << 16);
      if (name.ok() && name->starts_with(GetParam()) && command.ok() && command->find(state_) != std::string::npos) {
        SignalProcess(process, SIGKILL);
      }
    }
    Stop(key, 0);
    Send();
    ASSERT_TRUE(WaitPhase(key, kReleased));
    set_.clear_tasks();
    Send();
    ASSERT_TRUE(scheduler_.WaitReport([](const v1::NodeReport& r) { return r.tasks_size() == 0; }));
    EXPECT_TRUE(Eventually([&] { return NoGroup("/" + ToString(key)); })) << ToString(key);
  }
}

TEST_P(AgentContainerTest, AnAgentRemovesTheGroupsOfTasksThatAreNoMore) {
  const std::string tree = std::filesystem::exists("/sys/fs/cgroup/pids") ? "/sys/fs/cgroup/pids" : "/sys/fs/cgroup";
  const std::string group = tree + "/glim/" + std::filesystem::path(root_).filename().string() + "/5.1.0";
  std::filesystem::create_directories(group);
  StartAgent();
  ASSERT_TRUE(scheduler_.WaitHello(1));
  EXPECT_FALSE(std::filesystem::exists(group));
}

TEST_P(AgentContainerTest, AFolderDeeperThanDescriptorsGoIsRemoved) {
  Run("exec /usr/bin/python3 -c 'import os\n"
      "os.chdir(\"/tmp\")\n"
      "for _ in range(5000): os.mkdir(\"d\"); os.chdir(\"d\")'");
  EXPECT_EQ(ended_.exit_code(), 0);
  Unlist(kKey);
  Send();
  EXPECT_TRUE(Eventually([&] { return std::filesystem::is_empty(state_ + "/tasks"); }));
}

TEST_P(AgentContainerTest, TellsTheHighestJobItHasAnythingOf) {
  Run("true");
  KillAgent();
  std::filesystem::create_directories(state_ + "/logs/41-2");
  std::filesystem::create_directories(state_ + "/checkpoints/40");
  StartAgent();
  ASSERT_TRUE(scheduler_.WaitHello(2));
  EXPECT_EQ(scheduler_.last_hello().highest_job_id(), 41u);
}

// All that the kernel has of a container goes with its first process.
TEST_P(AgentContainerTest, NothingInItOutlivesItsFirstProcess) {
  StartAgent();
  Launch(kKey, "(trap '' TERM; setsid bash -c 'echo inner $$; exec sleep 1000') & wait");
  Send();
  const pid_t inner = WaitPid(kKey, 0, "inner ");
  ASSERT_GT(inner, 0);
  Stop(kKey, 0);
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->exit_code(), 137);
  EXPECT_FALSE(IsRunning(inner));
}

class AgentWithoutContainerTest : public AgentTest {};

TEST_P(AgentWithoutContainerTest, RefusesWhatItCannotKeep) {
  StartAgent();
  struct Case {
    std::string said;
    std::function<void(v1::TaskLaunch&)> more;
  };
  const Case cases[] = {
      {"mounts[0]: this node runs plain processes, which see /tmp at its own path only",
       [](auto& l) { AddMount(l, "/tmp", "/data", true); }},
      {"mounts[0].source /tmp/not/there cannot be used on this node: No such file",
       [](auto& l) { AddMount(l, "/tmp/not/there", "/tmp/not/there", true); }},
      {"limits.memory cannot be kept on this node", [](auto& l) { l.mutable_limits()->set_memory_bytes(1 << 30); }},
      {"limits.cpus cannot be kept", [](auto& l) { l.mutable_limits()->set_cpu_millis(1000); }},
      {"limits.pids cannot be kept", [](auto& l) { l.mutable_limits()->set_pids(100); }},
      {"limits.shm cannot be kept", [](auto& l) { l.mutable_limits()->set_shm_bytes(1 << 30); }},
  };
  std::uint64_t job = 20;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.said);
    const TaskKey key{job++, 1, 0};
    Launch(key, "echo never", c.more);
    Send();
    const auto task = WaitPhase(key, kReleased);
    ASSERT_TRUE(task);
    EXPECT_TRUE(task->start_failed());
    EXPECT_NE(task->message().find(c.said), std::string::npos) << task->message();
  }
}

// One task's /tmp must not take the disk from all others.
TEST_P(AgentContainerTest, WhoHasTooMuchInItsTmpIsKilledAndToldWhy) {
  StartAgent({"--tmp-bytes", "4MiB"});
  Launch(kKey, "dd if=/dev/zero of=/tmp/large bs=64k count=100 2>/dev/null; while :; do sleep 1000; done");
  const TaskKey small{8, 1, 0};
  Launch(small, "dd if=/dev/zero of=/tmp/small bs=64k count=10 2>/dev/null; while :; do sleep 1000; done");
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->exit_code(), 137);
  EXPECT_EQ(task->ranks(0).cause().find("its /tmp holds 6."), 0u) << task->ranks(0).cause();
  EXPECT_NE(task->ranks(0).cause().find(" MiB, and this node allows 4.0 MiB (tmp_bytes)"), std::string::npos);
  EXPECT_EQ(FindTask(scheduler_.newest(), small)->phase(), kRunning);
  Stop(small, 0);
  Send();
  EXPECT_TRUE(WaitPhase(small, kReleased));
}

GLIM_IN_CONTAINERS(AgentContainerTest);
INSTANTIATE_TEST_SUITE_P(Processes, AgentWithoutContainerTest, testing::Values("process"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace glim::nodeagent
