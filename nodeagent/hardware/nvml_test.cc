#include "nodeagent/hardware/nvml.h"

#include <gmock/gmock.h>

#include "nodeagent/hardware/nvml_abi.h"
#include "nodeagent/hardware/testing/fake_nvml.h"
#include "sdk/base/testing/folders.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::nodeagent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class NvmlTest : public testing::Test {
 protected:
  explicit NvmlTest(const std::string& built = BuiltFile("test/libfake-nvml.so"))
      : fake_(built, folder_.path(), FakeNode(2)) {}

  nlohmann::json& gpu() { return fake_.node["gpus"][0]; }
  std::unique_ptr<Nvml> Open() {
    fake_.Tell();
    Result<std::unique_ptr<Nvml>> nvml = Nvml::Open(fake_.path());
    EXPECT_TRUE(nvml.ok()) << nvml.status().message();
    return nvml.ok() ? std::move(nvml).value() : nullptr;
  }

  TempFolder folder_;
  FakeNvml fake_;
};

TEST_F(NvmlTest, SaysWhatAGpuIs) {
  gpu()["pci"] = {1, 59, 0};
  const auto nvml = Open();
  EXPECT_THAT(nvml->warnings(), IsEmpty());
  EXPECT_EQ(nvml->DriverVersion(), "535.129.03");
  EXPECT_EQ(nvml->Count().value(), 2u);
  const NvmlGpu found = nvml->Gpu(0).value();
  EXPECT_EQ(found.name, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(found.uuid, "GPU-0000-0");
  EXPECT_EQ(found.pci, "0001:3b:00.0") << "as /sys has it";
  EXPECT_EQ(found.memory_bytes, std::int64_t{80} << 30);
  EXPECT_FALSE(found.mig);
}

TEST_F(NvmlTest, SaysWhoUsesIt) {
  gpu()["used_mib"] = 900;
  gpu()["processes"] = {{{"pid", 11}, {"mib", 300}}, {{"pid", 12}}};
  gpu()["graphics"] = {{{"pid", 11}, {"mib", 300}}, {{"pid", 13}, {"mib", 1}}};
  const NvmlUse use = Open()->Use(0).value();
  EXPECT_EQ(use.memory_used_bytes, 900 << 20);
  ASSERT_EQ(use.processes.size(), 3u) << "one that computes and draws counts once";
  EXPECT_EQ(use.processes[0].pid, 11);
  EXPECT_EQ(use.processes[0].memory_bytes, 300 << 20);
  EXPECT_EQ(use.processes[1].memory_bytes, -1) << "the driver does not know";
  EXPECT_EQ(use.processes[2].pid, 13);
}

TEST_F(NvmlTest, SaysOfManyProcessesEach) {
  for (int pid = 1; pid <= 200; ++pid) gpu()["processes"].push_back({{"pid", pid}});
  EXPECT_EQ(Open()->Use(0)->processes.size(), 200u);
}

TEST_F(NvmlTest, SaysHowItIs) {
  gpu()["ecc"] = {1, 2, 3, 4};
  gpu()["rows"] = {5, 6, 1, 0};
  gpu()["retired_pending"] = 1;
  gpu()["links"] = {{{"pci", {0, 17, 0}}}, {{"pci", {0, 5, 0}}, {"active", false}, {"switch", true}}};
  gpu()["throttle"] = nvml::kThrottleHardwareThermal | nvml::kThrottleIdle;
  gpu()["clocks"] = {210, 1410, 1593, 1600};
  gpu()["pcie"] = {1, 4, 8, 16};
  gpu()["replays"] = 7;
  gpu()["busy"] = {90, 40};
  gpu()["celsius"] = 71;
  const NvmlHealth health = Open()->Health(0).value();
  EXPECT_EQ(health.ecc.volatile_corrected, 1);
  EXPECT_EQ(health.ecc.volatile_uncorrected, 2);
  EXPECT_EQ(health.ecc.aggregate_corrected, 3);
  EXPECT_EQ(health.ecc.aggregate_uncorrected, 4);
  ASSERT_TRUE(health.rows);
  EXPECT_EQ(health.rows->corrected, 5u);
  EXPECT_EQ(health.rows->uncorrected, 6u);
  EXPECT_TRUE(health.rows->pending);
  EXPECT_FALSE(health.rows->failed);
  EXPECT_EQ(health.retired_pages_pending, true);
  ASSERT_EQ(health.links.size(), 2u);
  EXPECT_TRUE(health.links[0].active);
  EXPECT_FALSE(health.links[0].to_switch);
  EXPECT_EQ(health.links[0].remote_pci, "0000:11:00.0");
  EXPECT_FALSE(health.links[1].active);
  EXPECT_TRUE(health.links[1].to_switch);
  EXPECT_EQ(health.throttle_reasons, 0x41u);
  EXPECT_EQ(health.sm_mhz, 210u);
  EXPECT_EQ(health.sm_max_mhz, 1410u);
  EXPECT_EQ(health.memory_mhz, 1593u);
  EXPECT_EQ(health.memory_max_mhz, 1600u);
  EXPECT_EQ(health.pcie_generation, 1u);
  EXPECT_EQ(health.pcie_max_generation, 4u);
  EXPECT_EQ(health.pcie_width, 8u);
  EXPECT_EQ(health.pcie_max_width, 16u);
  EXPECT_EQ(health.pcie_replays, 7u);
  EXPECT_EQ(health.gpu_percent, 90u);
  EXPECT_EQ(health.memory_percent, 40u);
  EXPECT_EQ(health.celsius, 71u);
}

TEST_F(NvmlTest, WhatAGpuDoesNotHaveIsMissing) {
  for (const char* key : {"ecc", "rows", "links", "throttle", "clocks", "pcie", "replays", "busy", "celsius"}) {
    gpu().erase(key);
  }
  const NvmlHealth health = Open()->Health(0).value();
  EXPECT_FALSE(health.ecc.volatile_corrected);
  EXPECT_FALSE(health.rows);
  EXPECT_FALSE(health.retired_pages_pending);
  EXPECT_THAT(health.links, IsEmpty());
  EXPECT_FALSE(health.throttle_reasons);
  EXPECT_FALSE(health.sm_mhz);
  EXPECT_FALSE(health.pcie_width);
  EXPECT_FALSE(health.gpu_percent);
  EXPECT_FALSE(health.celsius);
}

TEST_F(NvmlTest, AGpuThatIsLostSaysSoAndTheOthersGoOn) {
  const auto nvml = Open();
  for (const char* how : {"lost", "lost_handle"}) {
    gpu()[how] = true;
    fake_.Tell();
    for (const Status& status : {nvml->Gpu(0).status(), nvml->Use(0).status(), nvml->Health(0).status()}) {
      EXPECT_EQ(status.reason(), kGpuIsLost) << how;
      EXPECT_THAT(status.message(), HasSubstr("GPU 0: ")) << how;
      EXPECT_THAT(status.message(), HasSubstr("GPU is lost")) << how;
    }
    EXPECT_TRUE(nvml->Health(1).ok());
    gpu()[how] = false;
  }
  fake_.node["codes"]["nvmlDeviceGetHandleByIndex_v2"] = nvml::kResetRequired;
  fake_.Tell();
  EXPECT_EQ(nvml->Use(1).status().reason(), kGpuIsLost) << "what needs a reset is of no use until then";
}

TEST_F(NvmlTest, MigThatIsOnOrComesWithTheNextResetCounts) {
  const auto nvml = Open();
  const struct {
    bool now, next, counts;
  } cases[] = {{false, false, false}, {true, true, true}, {true, false, true}, {false, true, true}};
  for (const auto& c : cases) {
    gpu()["mig"] = c.now;
    gpu()["mig_pending"] = c.next;
    fake_.Tell();
    EXPECT_EQ(nvml->Gpu(0)->mig, c.counts) << c.now << c.next;
  }
}

TEST_F(NvmlTest, FailuresHaveTheLibrarysWords) {
  const auto nvml = Open();
  fake_.node["codes"] = {{"nvmlDeviceGetCount_v2", 999}, {"nvmlDeviceGetComputeRunningProcesses_v3", 10}};
  fake_.Tell();
  EXPECT_EQ(nvml->Count().status().message(), "the number of GPUs: Unknown Error");
  EXPECT_EQ(nvml->Use(1).status().message(), "GPU 1: its processes: Timeout");
  EXPECT_EQ(nvml->Use(1).status().reason(), "");
}

TEST_F(NvmlTest, ALibraryThatIsNotThereOrIsAnotherIsRefused) {
  const Status missing = Nvml::Open(folder_.path() + "/none.so").status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr("none.so"));
  EXPECT_THAT(missing.fix(), HasSubstr("--nvml"));
  const Status other = Nvml::Open("libc.so.6").status();
  EXPECT_EQ(other.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(other.message(), HasSubstr("is not NVML"));
  fake_.node["init"] = nvml::kVersionMismatch;
  fake_.Tell();
  const Status upgraded = Nvml::Open(fake_.path()).status();
  EXPECT_EQ(upgraded.message(), "NVIDIA's driver does not work: Driver/library version mismatch");
  EXPECT_THAT(upgraded.fix(), HasSubstr("start the node anew"));
}

class OldNvmlTest : public NvmlTest {
 protected:
  OldNvmlTest() : NvmlTest(BuiltFile("test/libfake-nvml-old.so")) {}
};

TEST_F(OldNvmlTest, WhatItLacksIsToldAndTheRestIsSeen) {
  gpu()["processes"] = {{{"pid", 11}, {"mib", 300}}};
  const auto nvml = Open();
  EXPECT_THAT(nvml->warnings(),
              ElementsAre("the driver's library has no nvmlDeviceGetRemappedRows: remapped rows are not seen"));
  EXPECT_EQ(nvml->Gpu(0)->memory_bytes, std::int64_t{80} << 30);
  EXPECT_EQ(nvml->Use(0)->memory_used_bytes, 500 << 20);
  EXPECT_EQ(nvml->Use(0)->processes.size(), 1u);
  EXPECT_FALSE(nvml->Health(0)->rows);
  EXPECT_EQ(nvml->Health(0)->pcie_width, 16u);
}

}  // namespace
}  // namespace glim::nodeagent
