#include "nodeagent/hardware/node_parts.h"

#include <gmock/gmock.h>

#include "nodeagent/hardware/testing/fake_nvml.h"
#include "nodeagent/hardware/testing/fake_sys.h"
#include "sdk/base/testing/folders.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::nodeagent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(NodeParts, CardsAreRdmaPortsAndNetworkInterfacesWithADevice) {
  TempFolder folder;
  FakeSys sys(folder.path());
  sys.Port("mlx5_0", "0000:5e:00.0", "InfiniBand").Port("mlx5_1", "0000:5f:00.0", "Ethernet");
  sys.Write("sys/class/infiniband/mlx5_1/ports/1/state", "1: DOWN")
      .Write("sys/class/infiniband/mlx5_1/ports/1/rate", "");
  sys.Link("sys/class/net/ib0/device", "sys/devices/pci0000:00/0000:5e:00.0").Write("sys/class/net/ib0/type", "32");
  sys.Pci("0000:01:00.0", "0x020000", 0, "0x8086");
  sys.Link("sys/class/net/eth0/device", "sys/devices/pci0000:00/0000:01:00.0").Write("sys/class/net/eth0/type", "1");
  sys.Write("sys/class/net/eth0/speed", "25000").Write("sys/class/net/eth0/operstate", "up");
  sys.Link("sys/class/net/eth1/device", "sys/devices/pci0000:00/0000:01:00.0/eth1")
      .Write("sys/class/net/eth1/type", "1");
  sys.Write("sys/class/net/eth1/speed", "-1").Write("sys/class/net/eth1/operstate", "down");
  sys.Write("sys/class/net/lo/type", "772");
  const std::vector<NicPart> nics = FindNics(SysTree(folder.path()));
  EXPECT_THAT(nics, ElementsAre(NicPart{"mlx5_0", "infiniband", "up", 200000, 1, "0000:5e:00.0"},
                                NicPart{"mlx5_1", "roce", "down", 0, 1, "0000:5f:00.0"},
                                NicPart{"eth0", "ethernet", "up", 25000, 0, "0000:01:00.0"},
                                NicPart{"eth1", "ethernet", "down", 0, 0, "0000:01:00.0"}));
}

TEST(NodeParts, OfSeveralPortsEachHasItsNumber) {
  TempFolder folder;
  FakeSys sys(folder.path());
  sys.Port("mlx4_0", "0000:5e:00.0", "InfiniBand");
  sys.Write("sys/class/infiniband/mlx4_0/ports/2/link_layer", "Ethernet");
  const std::vector<NicPart> nics = FindNics(SysTree(folder.path()));
  ASSERT_EQ(nics.size(), 2u);
  EXPECT_EQ(nics[0].name, "mlx4_0/1");
  EXPECT_EQ(nics[1].name, "mlx4_0/2");
  EXPECT_EQ(nics[1].kind, "roce");
}

TEST(NodeParts, DisksAreWholeAndHaveADevice) {
  TempFolder folder;
  FakeSys sys(folder.path());
  for (const char* name : {"nvme0n1", "sda", "sr0", "nvme1c1n1"}) {
    sys.Link(std::string("sys/class/block/") + name + "/device", std::string("sys/devices/disk-") + name);
  }
  sys.Write("sys/class/block/nvme0n1/size", "7501476528").Write("sys/class/block/nvme0n1/queue/rotational", "0");
  sys.Write("sys/class/block/nvme0n1/device/model", "SAMSUNG MZQL2 ");
  sys.Write("sys/class/block/sda/size", "8").Write("sys/class/block/sda/queue/rotational", "1");
  sys.Write("sys/class/block/nvme1c1n1/hidden", "1");  // a path to a disk that has a name of its own
  sys.Link("sys/class/block/sda1/device", "sys/devices/disk-sda").Write("sys/class/block/sda1/partition", "1");
  sys.Write("sys/class/block/loop0/size", "100").Write("sys/class/block/dm-0/size", "100");
  EXPECT_THAT(FindDisks(SysTree(folder.path())),
              ElementsAre(DiskPart{"nvme0n1", "SAMSUNG MZQL2", 3840755982336, false}, DiskPart{"sda", "", 4096, true}));
}

TEST(NodeParts, CpusMemoryKernelAndDriver) {
  TempFolder folder;
  FakeSys sys(folder.path());
  sys.Write("proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC 7763\n\nprocessor\t: 1\nmodel name\t: other");
  sys.Write("proc/meminfo", "MemTotal:       1056471508 kB\nMemFree: 1 kB").Write("proc/sys/kernel/osrelease", "6.1.0");
  sys.Write("sys/devices/system/cpu/online", "0-3").Write("sys/devices/system/node/online", "0-1");
  for (int cpu = 0; cpu < 4; ++cpu) {  // two sockets of a core with two threads each
    const std::string place = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    sys.Write(place + "physical_package_id", std::to_string(cpu % 2)).Write(place + "core_id", "0");
  }
  sys.Write("sys/devices/system/cpu/cpufreq/policy0", "");
  sys.Write("proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19\nGCC 12.2.0");
  sys.Gpu("0000:17:00.0", 0);
  const NodeParts parts = FindParts(SysTree(folder.path()));
  EXPECT_EQ(parts.cpu_model, "AMD EPYC 7763");
  EXPECT_EQ(parts.cpus, 4u);
  EXPECT_EQ(parts.cores, 2u);
  EXPECT_EQ(parts.sockets, 2u);
  EXPECT_EQ(parts.numa_nodes, 2u);
  EXPECT_EQ(parts.memory_bytes, std::int64_t{1056471508} * 1024);
  EXPECT_EQ(parts.kernel, "6.1.0");
  EXPECT_EQ(parts.gpu_driver, "535.129.03");
  EXPECT_THAT(parts.bus_gpus, ElementsAre("0000:17:00.0"));
}

TEST(NodeParts, OfAnEmptyTreeThereIsNothing) {
  TempFolder folder;
  EXPECT_EQ(FindParts(SysTree(folder.path())), NodeParts());
}

TEST(NodeParts, TheDriversVersionIsItsFirstNumberWithPoints) {
  const std::pair<const char*, const char*> cases[] = {
      {"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build", "550.54.15"},
      {"NVRM version: NVIDIA UNIX\nGCC version: 12.2.0", ""},
      {"", ""}};
  for (const auto& [text, version] : cases) EXPECT_EQ(DriverVersionIn(text), version) << text;
}

class FindGpusTest : public testing::Test {
 protected:
  GpuParts Find() { return FindGpus(SysTree(folder_.path() + "/root"), nvml_.path()); }

  TempFolder folder_;
  FakeSys sys_{folder_.path() + "/root"};
  FakeNvml nvml_{BuiltFile("test/libfake-nvml.so"), folder_.path(), FakeNode(3)};
};

TEST_F(FindGpusTest, SaysWhatEachIs) {
  sys_.Gpu("0000:10:00.0", 0).Gpu("0000:11:00.0", 1);
  const GpuParts parts = Find();
  EXPECT_EQ(parts.error, "");
  EXPECT_THAT(parts.warnings, IsEmpty());
  ASSERT_EQ(parts.gpus.size(), 3u);
  EXPECT_EQ(parts.gpus[1],
            (GpuPart{1, "GPU-0000-1", "NVIDIA A100-SXM4-80GB", std::int64_t{80} << 30, "0000:11:00.0", 1, {}}));
  EXPECT_EQ(parts.gpus[2].numa_node, -1) << "/sys does not know it";
}

TEST_F(FindGpusTest, ActiveLinksLeadToGpusAndThroughSwitches) {
  nvml_.node["gpus"][0]["links"] = {{{"pci", {0, 17, 0}}}, {{"pci", {0, 18, 0}}, {"active", false}}};
  nvml_.node["gpus"][1]["links"] = {{{"pci", {0, 16, 0}}}};
  nvml_.Tell();
  GpuParts parts = Find();
  EXPECT_THAT(parts.gpus[0].nvlink, ElementsAre(1));
  EXPECT_THAT(parts.gpus[1].nvlink, ElementsAre(0));
  EXPECT_THAT(parts.gpus[2].nvlink, IsEmpty());
  for (auto& gpu : nvml_.node["gpus"]) gpu["links"] = {{{"pci", {0, 5, 0}}, {"switch", true}}};
  nvml_.Tell();
  parts = Find();
  EXPECT_THAT(parts.gpus[0].nvlink, ElementsAre(1, 2));
  EXPECT_THAT(parts.gpus[2].nvlink, ElementsAre(0, 1));
}

TEST_F(FindGpusTest, WithMigTheNodeIsNotServedAndTheGpuIsNamed) {
  nvml_.node["gpus"][1]["mig"] = true;
  nvml_.node["gpus"][2]["mig_pending"] = true;
  nvml_.Tell();
  const GpuParts parts = Find();
  EXPECT_EQ(parts.error, "MIG is on at GPU 1 (GPU-0000-1), 2 (GPU-0000-2): Glim gives whole GPUs");
  EXPECT_THAT(parts.fix, HasSubstr("nvidia-smi -mig 0"));
}

TEST_F(FindGpusTest, ALostGpuIsLeftOutAndNamed) {
  nvml_.node["gpus"][0]["lost_handle"] = true;
  nvml_.node["gpus"][2]["lost"] = true;
  nvml_.Tell();
  const GpuParts parts = Find();
  ASSERT_EQ(parts.gpus.size(), 1u);
  EXPECT_EQ(parts.gpus[0].index, 1u);
  EXPECT_THAT(parts.warnings, ElementsAre("GPU 0: GPU is lost", "GPU 2: GPU is lost"));
}

TEST_F(FindGpusTest, ADriverThatDoesNotWorkSaysSo) {
  nvml_.node["init"] = 9;
  nvml_.Tell();
  const GpuParts parts = Find();
  EXPECT_TRUE(parts.asked);
  EXPECT_EQ(parts.error, "NVIDIA's driver does not work: Driver Not Loaded");
  EXPECT_EQ(parts.fix, "load the driver: modprobe nvidia");
}

}  // namespace
}  // namespace glim::nodeagent
