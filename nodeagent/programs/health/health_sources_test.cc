// What glim-health sees in the kernel's files and by the GPUs' driver: a tree of files stands for the machine, and a
// library of the tests' for the driver's.
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>

#include "nodeagent/programs/health/testing/health_child.h"
#include "sdk/base/testing/folders.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent::health {
namespace {

constexpr const char* kPort = "sys/class/infiniband/mlx5_0/ports/1/";
constexpr const char* kModule = "sys/devices/system/edac/mc/mc0/dimm0/";

void PutPort(const HealthChild& child) {
  const std::string port = kPort;
  child.Put(port + "state", "4: ACTIVE\n");
  child.Put(port + "phys_state", "5: LinkUp\n");
  child.Put(port + "rate", "200 Gb/sec (4X HDR)\n");
  for (const char* counter : {"link_downed", "symbol_error", "link_error_recovery"}) {
    child.Put(port + "counters/" + counter, "7\n");
  }
}

TEST(HealthSources, APortThatFlashesGoesAndComes) {
  HealthChild child;
  PutPort(child);
  child.Start();
  ASSERT_TRUE(child.IsComplete());
  EXPECT_FALSE(child.Find(HealthLine::Kind::kEvent, "link_flash", "mlx5_0/1")) << "what was before is no news";
  child.Put(std::string(kPort) + "counters/link_downed", "8\n");
  const auto flash = child.Event("link_flash", "mlx5_0/1");
  ASSERT_TRUE(flash);
  EXPECT_EQ(flash->finding.value, 1);
  child.Put(std::string(kPort) + "state", "1: DOWN\n");
  child.Put(std::string(kPort) + "phys_state", "2: Polling\n");
  const auto down = child.Condition("link_down", "mlx5_0/1");
  ASSERT_TRUE(down);
  EXPECT_THAT(down->finding.text, testing::HasSubstr("DOWN"));
  child.Put(std::string(kPort) + "state", "4: ACTIVE\n");
  EXPECT_TRUE(child.IsOver("link_down", "mlx5_0/1"));
  child.Put(std::string(kPort) + "rate", "100 Gb/sec (2X HDR)\n");
  EXPECT_TRUE(child.Condition("link_slow", "mlx5_0/1"));
  child.Put(std::string(kPort) + "counters/symbol_error", "1000\n");
  EXPECT_TRUE(child.Event("link_errors", "mlx5_0/1"));
}

TEST(HealthSources, WhatACounterRoseWhileNobodyLookedIsTold) {
  HealthChild child;
  PutPort(child);
  child.Start();
  ASSERT_TRUE(child.IsComplete());
  child.End(SIGTERM);
  child.Put(std::string(kPort) + "counters/link_downed", "10\n");
  child.Start();
  const auto flash = child.Event("link_flash", "mlx5_0/1");
  ASSERT_TRUE(flash);
  EXPECT_EQ(flash->finding.value, 3);
}

TEST(HealthSources, APortThatIsGoneIsDown) {
  HealthChild child;
  PutPort(child);
  child.Start();
  ASSERT_TRUE(child.IsComplete());
  child.End(SIGTERM);
  std::filesystem::remove_all(child.Root() + "/sys/class/infiniband/mlx5_0");
  child.Start();
  EXPECT_TRUE(child.Condition("link_down", "mlx5_0/1"));
}

TEST(HealthSources, AnInterfaceThatWasUp) {
  HealthChild child;
  for (const std::string name : {"eth0", "eth1", "veth0"}) {
    child.Put("sys/class/net/" + name + "/operstate", name == "eth1" ? "down\n" : "up\n");
    child.Put("sys/class/net/" + name + "/type", "1\n");
    if (name != "veth0") child.Put("sys/class/net/" + name + "/device/vendor", "0x15b3\n");
  }
  child.Start();
  ASSERT_TRUE(child.IsComplete());
  for (const std::string name : {"eth0", "veth0"}) child.Put("sys/class/net/" + name + "/operstate", "down\n");
  EXPECT_TRUE(child.Condition("link_down", "eth0"));
  EXPECT_FALSE(child.Find(HealthLine::Kind::kCondition, "link_down", "eth1")) << "nobody uses it";
  EXPECT_FALSE(child.Find(HealthLine::Kind::kCondition, "link_down", "veth0")) << "it is no hardware";
}

TEST(HealthSources, MemoryThatFails) {
  HealthChild child;
  child.Put(std::string(kModule) + "dimm_ce_count", "3\n");
  child.Put(std::string(kModule) + "dimm_ue_count", "0\n");
  child.Put(std::string(kModule) + "dimm_label", "DIMM_A1\n");
  child.Start();
  ASSERT_TRUE(child.IsComplete());
  child.Put(std::string(kModule) + "dimm_ce_count", "5\n");
  const auto corrected = child.Event("memory_ecc_corrected", "mc0/dimm0");
  ASSERT_TRUE(corrected);
  EXPECT_EQ(corrected->finding.value, 2);
  child.Put(std::string(kModule) + "dimm_ue_count", "1\n");
  const auto uncorrected = child.Event("memory_ecc_uncorrected", "mc0/dimm0");
  ASSERT_TRUE(uncorrected);
  EXPECT_THAT(uncorrected->finding.text, testing::HasSubstr("DIMM_A1"));
}

TEST(HealthSources, ACardWithTooFewLanes) {
  HealthChild child;
  const std::string bridge = "sys/devices/pci0000:00/0000:00:01.0/", card = bridge + "0000:3b:00.0/";
  child.Put(card + "class", "0x020700\n");
  for (const std::string& folder : {bridge, card}) {
    child.Put(folder + "max_link_speed", "16.0 GT/s PCIe\n");
    child.Put(folder + "max_link_width", "16\n");
    child.Put(folder + "current_link_speed", "16.0 GT/s PCIe\n");
    child.Put(folder + "current_link_width", "4\n");
  }
  std::filesystem::create_directories(child.Root() + "/sys/bus/pci/devices");
  std::filesystem::create_directory_symlink("../../../devices/pci0000:00/0000:00:01.0/0000:3b:00.0",
                                            child.Root() + "/sys/bus/pci/devices/0000:3b:00.0");
  child.Start({"--hurry", "100"});
  const auto slow = child.Condition("pcie_slow", "0000:3b:00.0");
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->finding.value, 4);
  EXPECT_EQ(slow->finding.expected, 16);
  child.Put(card + "current_link_width", "16\n");
  EXPECT_TRUE(child.IsOver("pcie_slow", "0000:3b:00.0"));
}

TEST(HealthSources, AProcessorThatIsTooHot) {
  HealthChild child;
  const std::string cpu = "sys/devices/system/cpu/cpu0/";
  child.Put(cpu + "topology/physical_package_id", "0\n");
  child.Put(cpu + "thermal_throttle/package_throttle_count", "0\n");
  child.Start({"--hurry", "100"});
  ASSERT_TRUE(child.IsComplete());
  int count = 0;
  EXPECT_TRUE(Eventually([&] {
    child.Put(cpu + "thermal_throttle/package_throttle_count", std::to_string(count += 1000) + "\n");
    return child.Find(HealthLine::Kind::kCondition, "cpu_throttled", "package0").has_value();
  }));
  EXPECT_TRUE(child.IsOver("cpu_throttled", "package0")) << "it has cooled down";
}

TEST(HealthSources, AFileSystemThatTheKernelMadeReadOnly) {
  HealthChild child;
  child.Put("proc/mounts", "/dev/nvme0n1p1 /scratch ext4 rw,relatime 0 0\n");
  child.Start();
  ASSERT_TRUE(child.IsComplete());
  child.Put("proc/mounts", "/dev/nvme0n1p1 /scratch ext4 ro,relatime 0 0\n");
  EXPECT_TRUE(child.Condition("disk_read_only", "nvme0n1p1"));
}

class HealthGpus : public testing::Test {
 protected:
  HealthGpus() : library_(child_.Folder() + "/libfake.so") {
    std::filesystem::copy_file(BuiltFile("test/libfake-nvml.so"), library_);
    Set();
    child_.Start({"--nvml", library_});
    EXPECT_TRUE(child_.IsComplete());
  }
  // What the library says from now on (nodeagent/hardware/testing/fake_nvml.h); `second` of the second GPU.
  void Set(const std::string& node = "", const std::string& first = "", const std::string& second = "") {
    const auto gpu = [](const char* bus, const std::string& more) {
      return R"({"name": "A100", "uuid": "GPU-)" + std::string(bus) +
             R"(", "memory_mib": 81920, "used_mib": 500, "pci": [0, )" + bus + R"(, 0], "ecc": [0, 0, 0, 0])" + more +
             "}";
    };
    const std::string text =
        R"({"driver": "535", "gpus": [)" + gpu("16", first) + ", " + gpu("17", second) + "]" + node + "}";
    ASSERT_TRUE(WriteFileAtomically(library_ + ".json", text, Durability::kProcess).ok());
  }

  HealthChild child_;
  const std::string library_;
};

TEST_F(HealthGpus, ErrorsOfMemory) {
  Set("", R"(, "ecc": [4, 1, 4, 1])", R"(, "rows": [0, 1, 1, 1])");
  EXPECT_TRUE(child_.Event("gpu_ecc_corrected", "0000:10:00.0"));
  EXPECT_TRUE(child_.Event("gpu_ecc_uncorrected", "0000:10:00.0"));
  EXPECT_TRUE(child_.Condition("gpu_row_remap_failed", "0000:11:00.0"));
  EXPECT_TRUE(child_.Condition("gpu_retired_pages_pending", "0000:11:00.0"));
}

TEST_F(HealthGpus, OneThatIsLost) {
  Set("", "", R"(, "lost": true)");
  EXPECT_TRUE(child_.Condition("gpu_lost", "0000:11:00.0"));
  EXPECT_FALSE(child_.Find(HealthLine::Kind::kCondition, "gpu_lost", "0000:10:00.0"));
  Set();
  EXPECT_TRUE(child_.IsOver("gpu_lost", "0000:11:00.0"));
}

TEST_F(HealthGpus, WhichOnesCompute) {
  const auto says = [this](const std::vector<GpuUse>& gpus) {
    return Eventually([&] {
      const std::vector<HealthLine> lines = child_.Lines();
      const auto newest = std::find_if(lines.rbegin(), lines.rend(),
                                       [](const HealthLine& line) { return line.kind == HealthLine::Kind::kGpus; });
      return newest != lines.rend() && newest->gpus == gpus;
    });
  };
  Set("", R"(, "busy": [0, 0])", R"(, "busy": [1, 0])");
  EXPECT_TRUE(says({{"0000:10:00.0", false}, {"0000:11:00.0", true}}));
  Set("", R"(, "busy": [0, 0])", R"(, "busy": [0, 0])");
  EXPECT_TRUE(says({{"0000:10:00.0", false}, {"0000:11:00.0", false}}));
  Set("", R"(, "busy": [0, 0], "lost": true)");
  EXPECT_TRUE(says({{"0000:11:00.0", true}})) << "one that does not tell counts as busy, and one that is lost is not";
}

TEST_F(HealthGpus, ADriverThatHangs) {
  Set(R"(, "hang": ["nvmlDeviceGetCount_v2"])");
  EXPECT_TRUE(child_.Condition("health_blind", "gpus"));
  Set();
  EXPECT_TRUE(child_.IsOver("health_blind", "gpus"));
}

}  // namespace
}  // namespace glim::nodeagent::health
