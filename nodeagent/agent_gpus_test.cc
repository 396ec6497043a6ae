// Nodes with real GPUs, as far as the agent knows: NVIDIA's library does what the test says.
#include <gmock/gmock.h>

#include "nodeagent/hardware/testing/fake_nvml.h"
#include "nodeagent/hardware/testing/fake_sys.h"
#include "nodeagent/testing/agent_fixture.h"
#include "sdk/base/testing/folders.h"
#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class AgentGpusTest : public AgentTest {
 protected:
  void StartWith(const std::vector<std::string>& more = {"--gpus", "2"}) {
    std::vector<std::string> extra = {"--nvml", nvml_.path(), "--sys-root", sys_.root()};
    extra.insert(extra.end(), more.begin(), more.end());
    StartAgent(extra);
  }
  // With the GPUs looked at, so that a task's memory is told from what was there.
  void StartAndAwaitGpus() {
    StartWith();
    ASSERT_TRUE(Eventually([&] { return AgentLog().find("event=gpus_answer ") != std::string::npos; }));
  }
  nlohmann::json& gpu() { return nvml_.node["gpus"][0]; }
  // A task with the node's GPUs, until the test says "go".
  void LaunchOnGpus() {
    Launch(kKey, "while ! [ -e go ]; do sleep 0.01; done", [&](v1::TaskLaunch& launch) {
      launch.set_workdir(folder_);
      launch.set_gpus(2);
    });
    Send();
    ASSERT_TRUE(WaitPhase(kKey, kRunning));
  }
  void Go() { ASSERT_TRUE(WriteFileAtomically(folder_ + "/go", "", Durability::kProcess).ok()); }
  // The task's processes are gone, and the agent says this of its GPUs.
  std::optional<v1::ObservedTask> WaitEvidence(const std::string& words) {
    return WaitTask(kKey, [&](const v1::ObservedTask& task) {
      return task.phase() == v1::ObservedTask::EXITED && task.message().find(words) != std::string::npos;
    });
  }
  bool WaitFaults(int count) {
    return scheduler_.WaitReport([&](const v1::NodeReport& r) { return r.faults_size() == count; }).has_value();
  }

  FakeSys sys_{folder_ + "/root"};
  FakeNvml nvml_{BuiltFile("test/libfake-nvml.so"), folder_, FakeNode(2)};
};

TEST_P(AgentGpusTest, TheNodeSaysWhatItIsMadeOf) {
  sys_.Gpu("0000:10:00.0", 0).Gpu("0000:11:00.0", 1).Port("mlx5_0", "0000:5e:00.0", "InfiniBand");
  sys_.Write("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu");
  sys_.Write("proc/sys/kernel/osrelease", "6.1.0").Write("sys/devices/system/cpu/online", "0-63");
  gpu()["links"] = {{{"pci", {0, 17, 0}}}};
  nvml_.node["gpus"][1]["links"] = {{{"pci", {0, 16, 0}}}};
  nvml_.Tell();
  StartWith({});
  ASSERT_TRUE(scheduler_.WaitHello(1));
  const v1::Hello hello = scheduler_.last_hello();
  EXPECT_EQ(hello.labels().gpu_count(), 2u) << "as many as there are, where nobody says how many";
  EXPECT_FALSE(hello.labels().simulated_gpus());
  EXPECT_EQ(hello.labels().gpu_type(), "a100");
  EXPECT_EQ(hello.labels().nvlink(), "pair");
  EXPECT_EQ(hello.labels().nic(), "infiniband");
  EXPECT_THAT(hello.defaults(), ElementsAre("pool", "zone", "leaf", "address")) << "the hardware told the others";
  ASSERT_EQ(hello.inventory().gpus_size(), 2);
  EXPECT_EQ(hello.inventory().gpus(1).uuid(), "GPU-0000-1");
  EXPECT_EQ(hello.inventory().gpus(1).type(), "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(hello.inventory().gpus(1).pci(), "0000:11:00.0");
  EXPECT_EQ(hello.inventory().gpus(1).numa_node(), 1);
  EXPECT_THAT(hello.inventory().gpus(1).nvlink(), ElementsAre(0u));
  EXPECT_EQ(hello.inventory().gpu_driver(), "535.129.03");
  EXPECT_EQ(hello.inventory().cpus(), 64u);
  ASSERT_EQ(hello.inventory().nics_size(), 1);
  EXPECT_EQ(hello.inventory().nics(0).rate_mbps(), 200'000);
}

TEST_P(AgentGpusTest, WhatTheOperatorSaysCounts) {
  sys_.Port("mlx5_0", "0000:5e:00.0", "InfiniBand");
  StartWith({"--gpus", "1", "--gpu-type", "a100-80g", "--nvlink", "full", "--nic", "roce"});
  ASSERT_TRUE(scheduler_.WaitHello(1));
  const v1::Hello hello = scheduler_.last_hello();
  EXPECT_EQ(hello.labels().gpu_count(), 1u);
  EXPECT_EQ(hello.labels().gpu_type(), "a100-80g");
  EXPECT_EQ(hello.labels().nvlink(), "full");
  EXPECT_EQ(hello.labels().nic(), "roce");
  EXPECT_EQ(hello.inventory().gpus_size(), 1) << "those that jobs get";
  EXPECT_THAT(hello.inventory().warnings(), ElementsAre("2 GPUs are here, and jobs get the first 1 (--gpus)"));
}

TEST_P(AgentGpusTest, ANewStreamTellsWhatIsThereNow) {
  StartWith();
  ASSERT_TRUE(scheduler_.WaitHello(1));
  nvml_.node["gpus"][1]["lost_handle"] = true;
  nvml_.Tell();
  scheduler_.Disconnect();
  EXPECT_TRUE(Eventually([&] { return scheduler_.last_hello().inventory().gpus_size() == 1; }));
  EXPECT_THAT(scheduler_.last_hello().inventory().warnings(), ElementsAre("GPU 1: GPU is lost"));
  EXPECT_EQ(scheduler_.last_hello().labels().gpu_count(), 2u) << "what the node had at its agent's start";
}

TEST_P(AgentGpusTest, MoreThanThereAreAndMigAreRefused) {
  StartWith({"--gpus", "3"});
  EXPECT_EQ(AwaitAgent(), 1);
  EXPECT_THAT(AgentLog(), HasSubstr("--gpus 3: NVIDIA's driver sees 2 (0 NVIDIA A100-SXM4-80GB at 0000:10:00.0, "));
  EXPECT_THAT(AgentLog(), HasSubstr("say --gpus 2, or leave it out"));
  gpu()["mig"] = true;
  nvml_.Tell();
  StartWith();
  EXPECT_EQ(AwaitAgent(), 1);
  EXPECT_THAT(AgentLog(), HasSubstr("MIG is on at GPU 0 (GPU-0000-0)"));
  EXPECT_THAT(AgentLog(), HasSubstr("nvidia-smi -mig 0"));
}

TEST_P(AgentGpusTest, ATaskIsReleasedWhenItsGpusAreEmpty) {
  StartAndAwaitGpus();
  LaunchOnGpus();
  gpu()["used_mib"] = 3000;
  gpu()["processes"] = {{{"pid", 4711}, {"mib", 2500}}};
  nvml_.Tell();
  Go();
  const auto held =
      WaitEvidence("GPU 0 (GPU-0000-0): 3000 MiB used, 500 MiB before the task, processes 4711 (2500 MiB)");
  ASSERT_TRUE(held);
  EXPECT_THAT(held->pids(), ElementsAre(4711));
  EXPECT_EQ(held->exit_code(), 0) << "how it ended is told all the same";
  gpu()["processes"] = nlohmann::json::array();
  nvml_.Tell();
  ASSERT_TRUE(WaitEvidence("500 MiB before the task, no process is known")) << "memory that nobody has is not free";
  gpu()["used_mib"] = 700;
  nvml_.Tell();
  const auto released = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(released);
  EXPECT_EQ(released->message(), "");
  EXPECT_EQ(released->pids_size(), 0);
}

TEST_P(AgentGpusTest, WhatWasBeforeATaskIsKnownToTheNextAgent) {
  StartAndAwaitGpus();
  LaunchOnGpus();
  KillAgent();
  gpu()["used_mib"] = 900;
  nvml_.Tell();
  StartWith();
  Go();
  ASSERT_TRUE(WaitEvidence("900 MiB used, 500 MiB before the task"));
  gpu()["used_mib"] = 500;
  nvml_.Tell();
  EXPECT_TRUE(WaitPhase(kKey, kReleased));
}

TEST_P(AgentGpusTest, ATaskSaysWhenItsGpusWereSeenBusyAndBeforeThatItsStart) {
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/kmsg", "", Durability::kProcess).ok());
  StartWith({"--gpus", "2", "--health", "yes", "--health-kmsg", folder_ + "/kmsg", "--health-root", sys_.root()});
  const auto busy_after = [this](std::int64_t ms) {
    const auto task = WaitTask(kKey, [&](const v1::ObservedTask& t) { return t.gpu_busy_at_ms() > ms; });
    return task ? task->gpu_busy_at_ms() : 0;
  };
  LaunchOnGpus();
  const std::int64_t start = busy_after(0);
  ASSERT_GT(start, 0) << "they are watched";
  nvml_.node["gpus"][1]["busy"] = {3, 0};
  nvml_.Tell();
  EXPECT_GT(busy_after(start), start) << "one of them is enough";
  Go();
}

TEST_P(AgentGpusTest, ADriverThatHangsStopsNothingButTheReleaseOfItsGpus) {
  const TaskKey other{8, 1, 0};
  StartWith({"--gpus", "2", "--gpu-seconds", "1"});
  LaunchOnGpus();
  nvml_.node["hang"] = {"nvmlDeviceGetComputeRunningProcesses_v3"};
  nvml_.Tell();
  Go();
  ASSERT_TRUE(WaitEvidence("whether its GPUs are empty is not known: NVIDIA's driver has not answered for 1000 ms"));
  ASSERT_TRUE(WaitFaults(1));
  EXPECT_EQ(scheduler_.newest().faults(0).kind(), "gpus_hang");
  EXPECT_THAT(scheduler_.newest().faults(0).message(), HasSubstr("no job starts here"));
  Launch(other, "exit 0");
  Send();
  EXPECT_TRUE(WaitPhase(other, kReleased)) << "the agent goes on";
  nvml_.node["hang"] = nlohmann::json::array();
  nvml_.Tell();
  EXPECT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_TRUE(WaitFaults(0));
}

TEST_P(AgentGpusTest, ADriverThatHangsAtTheStartIsAFaultUntilItAnswers) {
  nvml_.node["hang"] = {"nvmlInitWithFlags"};
  nvml_.Tell();
  StartWith({"--gpus", "2", "--gpu-seconds", "1"});
  ASSERT_TRUE(WaitFaults(1));
  EXPECT_EQ(scheduler_.last_hello().labels().gpu_count(), 2u) << "as the operator said";
  EXPECT_EQ(scheduler_.last_hello().labels().gpu_type(), "");
  nvml_.node["hang"] = nlohmann::json::array();
  nvml_.Tell();
  EXPECT_TRUE(WaitFaults(0));
  EXPECT_TRUE(Eventually([&] { return scheduler_.last_hello().labels().gpu_type() == "a100"; }));
}

TEST_P(AgentGpusTest, OfSimulatedOnesNobodyIsAsked) {
  nvml_.node["hang"] = {"nvmlInitWithFlags"};
  nvml_.Tell();
  sys_.Port("mlx5_0", "0000:5e:00.0", "InfiniBand");
  StartWith({"--gpus", "8", "--simulated-gpus"});
  ASSERT_TRUE(scheduler_.WaitHello(1));
  EXPECT_EQ(scheduler_.last_hello().labels().gpu_count(), 8u);
  EXPECT_EQ(scheduler_.last_hello().labels().nic(), "ethernet") << "as the agent of before said it";
  EXPECT_EQ(scheduler_.last_hello().inventory().nics_size(), 1);
  EXPECT_THAT(scheduler_.last_hello().defaults(),
              ElementsAre("pool", "zone", "leaf", "gpu_type", "nvlink", "nic", "address"));
}

// What a container's devices are is another test's; whom the GPUs are asked about is the same.
INSTANTIATE_TEST_SUITE_P(Runtimes, AgentGpusTest, testing::Values("process"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace glim::nodeagent
