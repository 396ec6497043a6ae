// What of its node's hardware a task gets, in real containers. This machine's own memory devices stand for GPUs and
// cards: the kernel's log (/dev/kmsg) is one that no container has by itself, and that anybody may open to write.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "nodeagent/devices/rank_places.h"
#include "nodeagent/devices/testing/fake_node.h"
#include "nodeagent/testing/agent_fixture.h"
#include "sdk/io/read_file.h"
#include "sdk/io/unique_fd.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

class AgentDevicesTest : public AgentTest {
 protected:
  AgentDevicesTest() : node_(root_ + "/node") {}

  // A node whose driver has two GPUs; the first is the kernel's log.
  void MakeGpus() const {
    node_.MakeDriver();
    node_.AddGpu(0, 0);
    node_.AddGpu(1, 1);
    EXPECT_TRUE(node_.MakeDevice("/dev/nvidia0", kKmsg));
    EXPECT_TRUE(node_.MakeDevice("/dev/nvidia1", kFull));
    EXPECT_TRUE(node_.MakeDevice("/dev/nvidiactl", kNull));
    EXPECT_TRUE(node_.MakeDevice("/dev/nvidia-uvm", kZero));
    node_.Write("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "");
  }
  void Start(const std::vector<std::string>& extra) {
    std::vector<std::string> options = {"--sys-root", node_.root(), "--gpus", "2", "--simulated-gpus"};
    options.insert(options.end(), extra.begin(), extra.end());
    StartAgent(options);
  }
  std::string Run(std::uint64_t job, std::uint32_t gpus, const std::string& run) {
    const TaskKey key{job, 1, 0};
    Launch(key, run, [&](auto& launch) { launch.set_gpus(gpus); });
    Send();
    const auto task = WaitPhase(key, kReleased);
    EXPECT_TRUE(task);
    if (task && task->start_failed()) return task->message();
    return LogText(key, 0);
  }
  // What opening the node comes to for root's own process inside the group of a task's container: 0, or errno. `make`:
  // it makes the node itself, with the number of the kernel's log.
  int OpenInGroupOf(std::uint64_t job, const std::string& path, bool make) const {
    const std::string tree = GroupsAreUnified() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/devices";
    const std::string group = tree + "/glim/" + std::filesystem::path(root_).filename().string() + "/" +
                              std::to_string(job) + ".1.0/container/cgroup.procs";
    const pid_t child = ::fork();
    if (child == 0) {
      const UniqueFd procs(::open(group.c_str(), O_WRONLY));
      if (!procs || ::write(procs.get(), "0", 1) != 1) ::_exit(255);
      if (make && ::mknod(path.c_str(), S_IFCHR | 0666, makedev(kMemoryMajor, kKmsg)) != 0) ::_exit(254);
      const UniqueFd device(::open(path.c_str(), O_WRONLY));
      ::_exit(device ? 0 : errno);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  const FakeNode node_;
};

constexpr const char* kLook =
    "LC_ALL=C; for d in /dev/nvidia* /dev/infiniband/*; do [ -e $d ] || continue; "
    "(: > $d) 2>/dev/null && echo opens $d || echo refused $d; done";

TEST_P(AgentDevicesTest, ATaskWithGpusGetsTheNodesAndOneWithoutSeesNone) {
  MakeGpus();
  for (const char* user_namespace : {"auto", "no"}) {
    SCOPED_TRACE(user_namespace);
    Start({"--devices", "nvidia", "--user-namespace", user_namespace});
    const std::uint64_t job = user_namespace == std::string("no") ? 30 : 20;
    EXPECT_EQ(Run(job, 2, std::string(kLook) + "; stat -c '%F %t:%T %a' /dev/nvidia0; ls /dev | grep -c caps"),
              "opens /dev/nvidia-uvm\nopens /dev/nvidia0\nopens /dev/nvidia1\nopens /dev/nvidiactl\n"
              "character special file 1:b 666\n0\n");
    EXPECT_EQ(Run(job + 1, 0, std::string(kLook) + "; echo looked"), "looked\n");
    EndAgent();
  }
}

// The rule is the control group's: who could make the node, or is given it by mistake, opens nothing.
TEST_P(AgentDevicesTest, OfANodeThatIsNotGivenNothingOpensWhoeverMadeIt) {
  MakeGpus();
  Start({"--devices", "nvidia"});
  Launch({7, 1, 0}, "echo up; sleep 1000", [](auto& launch) { launch.set_gpus(2); });
  Launch({8, 1, 0}, "echo up; sleep 1000");
  Send();
  WaitLine({7, 1, 0}, 0, "up");
  WaitLine({8, 1, 0}, 0, "up");
  EXPECT_EQ(OpenInGroupOf(7, node_.root() + "/dev/nvidia0", false), 0);
  EXPECT_EQ(OpenInGroupOf(8, node_.root() + "/dev/nvidia0", false), EPERM);
  EXPECT_EQ(OpenInGroupOf(8, node_.root() + "/made", true), EPERM);
  EXPECT_EQ(OpenInGroupOf(8, node_.root() + "/dev/nvidia1", false), 0) << "/dev/full is everybody's";
}

// What a job mounts is no device to it, whatever lies there.
TEST_P(AgentDevicesTest, ADeviceNodeInAFolderOfTheJobsOpensNothing) {
  MakeGpus();
  Start({"--devices", "nvidia"});
  const std::string folder = Folder("data");
  const FakeNode data(folder);
  ASSERT_TRUE(data.MakeDevice("/log", kKmsg));
  Launch(kKey, "(: > " + folder + "/log) 2>&1 | grep -o 'Permission denied'",
         [&](auto& launch) { launch.set_workdir(folder); });
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_EQ(LogText(kKey, 0), "Permission denied\n");
}

TEST_P(AgentDevicesTest, ACdiFilesEditsAreMadeAndItsHooksAreNot) {
  ASSERT_TRUE(node_.MakeDevice("/dev/hidden", kKmsg));
  node_.Write("/run/vendor/socket", "vendor's\n");
  node_.Write("/etc/cdi/vendor.yaml",
              "cdiVersion: 0.6.0\nkind: vendor.com/gpu\ncontainerEdits: {env: [VENDOR=yes, GLIM_TASK=no]}\n"
              "devices: [{name: all, containerEdits: {deviceNodes: [{path: /dev/vendor0, hostPath: /dev/hidden}], "
              "mounts: [{hostPath: /run/vendor/socket, containerPath: /run/vendor/socket}], "
              "hooks: [{hookName: createContainer, path: /bin/touch, args: [touch, " +
                  node_.root() + "/ran]}]}}]\n");
  Start({"--devices", "vendor.com/gpu=all"});
  EXPECT_EQ(Run(7, 1,
                "(: > /dev/vendor0) && echo opens; cat /run/vendor/socket; "
                "(echo x > /run/vendor/socket) 2>/dev/null || echo read-only; echo $VENDOR $GLIM_TASK"),
            "opens\nvendor's\nread-only\nyes 7.1.0\n");
  EXPECT_FALSE(std::filesystem::exists(node_.root() + "/ran"));
  const std::string log = AgentLog(), told = "the hook createContainer /bin/touch is left out";
  ASSERT_NE(log.find(told), std::string::npos) << log;
  EXPECT_EQ(log.find(told, log.find(told) + 1), std::string::npos) << "once, however many tasks there are";
  EXPECT_EQ(Run(8, 0, "ls /dev/vendor0 2>/dev/null || echo none; echo [$VENDOR]"), "none\n[]\n");
}

TEST_P(AgentDevicesTest, ATaskDoesNotStartWithoutTheDevicesThatItIsToHave) {
  Start({"--devices", "vendor.com/gpu=all"});
  const std::string said = Run(7, 1, "echo never");
  EXPECT_NE(said.find("no CDI file of this node has the device vendor.com/gpu=all"), std::string::npos) << said;
  EXPECT_FALSE(FindTask(scheduler_.newest(), {7, 1, 0})->job_fault()) << "another node may have them";
  EXPECT_NE(AgentLog().find("event=no_devices"), std::string::npos) << "told at the agent's start";
  EXPECT_EQ(Run(8, 0, "echo runs"), "runs\n");
}

TEST_P(AgentDevicesTest, WithAnRdmaCardMemoryIsLockedWithoutABound) {
  ASSERT_TRUE(node_.MakeDevice("/dev/infiniband/uverbs0", kKmsg));
  ASSERT_TRUE(node_.MakeDevice("/dev/infiniband/rdma_cm", kNull));
  rlimit own{};
  ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &own), 0);
  const std::string bound = own.rlim_max == RLIM_INFINITY ? "unlimited\n" : std::to_string(own.rlim_max >> 10) + "\n";
  // Root that may not raise limits (CAP_SYS_RESOURCE) gives what it has.
  const rlimit unbound{own.rlim_cur, RLIM_INFINITY};
  const std::string most = ::setrlimit(RLIMIT_MEMLOCK, &unbound) == 0 ? "unlimited\n" : bound;
  ::setrlimit(RLIMIT_MEMLOCK, &own);
  Start({"--infiniband", "auto"});
  EXPECT_EQ(Run(7, 0, std::string(kLook) + "; ulimit -Hl"),
            "opens /dev/infiniband/rdma_cm\nopens /dev/infiniband/uverbs0\n" + most);
  EndAgent();
  Start({"--infiniband", "no"});
  EXPECT_EQ(Run(8, 0, std::string(kLook) + "; ulimit -Hl"), bound);
}

TEST_P(AgentDevicesTest, ReservedHugePagesAreAFolderOfTheTasksOwn) {
  node_.Write("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "4\n");
  Start({});
  EXPECT_EQ(
      Run(7, 0, "stat -f -c %T /dev/hugepages; stat -c '%a %u' /dev/hugepages; touch /dev/hugepages/x && echo mine"),
      "hugetlbfs\n700 " + std::to_string(kTaskUser.uid) + "\nmine\n");
}

// Two NUMA nodes of one CPU each, as far as this machine has two.
TEST_P(AgentDevicesTest, EachRankRunsBesideItsGpu) {
  MakeGpus();
  const std::vector<std::uint32_t> allowed = AllowedCpus();
  const std::string first = std::to_string(allowed.front()), last = std::to_string(allowed.back());
  node_.AddNumaNode(0, last);
  node_.AddNumaNode(1, first);
  Start({"--devices", "nvidia"});
  const auto launch_of = [](bool per_gpu) {
    return [per_gpu](v1::TaskLaunch& launch) {
      launch.set_gpus(2);
      launch.set_ranks(per_gpu ? 2 : 1);
      launch.set_per_gpu(per_gpu);
    };
  };
  const std::string look = "grep Cpus_allowed_list /proc/self/status | cut -f 2";
  Launch({7, 1, 0}, look + "; grep -o -m 1 prefer:0 /proc/self/numa_maps; echo $CUDA_DEVICE_ORDER", launch_of(true));
  Launch({8, 1, 0}, look, launch_of(false));
  Send();
  ASSERT_TRUE(WaitPhase({7, 1, 0}, kReleased) && WaitPhase({8, 1, 0}, kReleased));
  EXPECT_EQ(LogText({7, 1, 0}, 0), last + "\nprefer:0\nPCI_BUS_ID\n");
  EXPECT_EQ(LogText({7, 1, 0}, 1), first + "\nPCI_BUS_ID\n") << "this machine has no memory of that node";
  const std::string one_for_all = LogText({8, 1, 0}, 0);
  EXPECT_EQ(ParseCpuList(one_for_all), allowed) << "one process for all GPUs is bound to none";
}

GLIM_IN_CONTAINERS(AgentDevicesTest);

}  // namespace
}  // namespace glim::nodeagent
