#include "nodeagent/devices/node_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "nodeagent/devices/testing/fake_node.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::nodeagent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> PathsOf(const NodeDevices& devices) {
  std::vector<std::string> paths;
  for (const DeviceNode& node : devices.nodes) paths.push_back(node.path);
  return paths;
}

std::vector<std::string> TargetsOf(const NodeDevices& devices) {
  std::vector<std::string> targets;
  for (const DeviceFile& file : devices.files) targets.push_back(file.target);
  return targets;
}

class DriverDevicesTest : public ::testing::TestWithParam<bool> {
 protected:
  DriverDevicesTest() : node_(folder_.path()) {
    node_.MakeDriver();
    node_.AddGpu(0, -1);
    node_.AddGpu(1, -1);
    for (const char* name : {"nvidia1", "nvidia0", "nvidiactl", "nvidia-uvm"}) {
      EXPECT_TRUE(node_.MakeDevice(std::string("/dev/") + name, kNull)) << "tests of devices run as root";
    }
    node_.Write("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "");
  }
  TempFolder folder_;
  const FakeNode node_;
};

TEST_P(DriverDevicesTest, AreAllGpusAndTheDriversOwnNodes) {
  ASSERT_TRUE(node_.MakeDevice("/dev/nvidia10", kZero));
  ASSERT_TRUE(node_.MakeDevice("/dev/nvidia-uvm-tools", kNull));
  ASSERT_TRUE(node_.MakeDevice("/dev/nvidia-caps/nvidia-cap1", kNull)) << "of MIG: not given";
  ASSERT_TRUE(node_.MakeDevice("/dev/nvidia0.old", kNull));
  const auto devices = DriverDevices(node_.root());
  ASSERT_TRUE(devices.ok()) << devices.status().message();
  EXPECT_THAT(PathsOf(*devices), ElementsAre("/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia10", "/dev/nvidiactl",
                                             "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"));
  const DeviceNode& last_gpu = devices->nodes[2];
  EXPECT_EQ(last_gpu.source, node_.root() + "/dev/nvidia10");
  EXPECT_EQ(last_gpu.type, 'c');
  EXPECT_EQ(last_gpu.major, kMemoryMajor);
  EXPECT_EQ(last_gpu.minor, kZero);
  EXPECT_EQ(last_gpu.access, "rw");
  EXPECT_THAT(devices->files, IsEmpty()) << "/usr is seen already";
  EXPECT_THAT(devices->notes, IsEmpty());
}

TEST_P(DriverDevicesTest, ANodeThatIsMissingOrIsAnothersIsNoSilence) {
  struct Case {
    const char* what;
    std::function<void()> change;
    const char* said;
  };
  const Case cases[] = {
      {"another driver's number", [&] { node_.MakeDevice("/dev/nvidia2", 1, 4); },
       "/dev/nvidia2 has the number 4, and the driver has 1 in /proc/devices"},
      {"a file", [&] { node_.Write("/dev/nvidia2", ""); }, "/dev/nvidia2 is no device"},
      {"fewer nodes than GPUs",
       [&] {
         node_.AddGpu(2, -1);
         node_.AddGpu(3, -1);
       },
       "the driver has 4 GPUs, and /dev has nodes of 3"},
      {"no uvm", [&] { std::filesystem::remove(node_.root() + "/dev/nvidia-uvm"); }, "there is no /dev/nvidia-uvm"},
      {"no number", [&] { node_.Write("/proc/devices", "Character devices:\n  4 tty\n"); }, "the driver has none"},
  };
  for (const Case& c : cases) {
    c.change();
    const auto devices = DriverDevices(node_.root());
    ASSERT_FALSE(devices.ok()) << c.what;
    EXPECT_THAT(devices.status().message(), HasSubstr(c.said)) << c.what;
    EXPECT_EQ(devices.status().code(), StatusCode::kFailedPrecondition) << c.what;
    EXPECT_FALSE(devices.status().fix().empty());
    std::filesystem::remove(node_.root() + "/dev/nvidia2");
    if (c.what == std::string("a file")) node_.MakeDevice("/dev/nvidia2", kNull);
    if (c.what == std::string("no uvm")) node_.MakeDevice("/dev/nvidia2", kNull);
    if (c.what == std::string("fewer nodes than GPUs")) node_.MakeDevice("/dev/nvidia3", kNull);
    if (c.what == std::string("fewer nodes than GPUs")) node_.MakeDevice("/dev/nvidia2", kNull);
  }
  EXPECT_EQ(DriverDevices(node_.root() + "/nowhere").status().code(), StatusCode::kNotFound);
}

TEST_P(DriverDevicesTest, LibrariesThatTheSystemDoesNotHaveAreBoundInOneFolder) {
  std::filesystem::remove_all(node_.root() + "/usr");
  auto devices = DriverDevices(node_.root());
  ASSERT_TRUE(devices.ok());
  ASSERT_EQ(devices->notes.size(), 1u);
  EXPECT_THAT(devices->notes[0], HasSubstr("libraries were not found"));
  const std::string folder = "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/";
  for (const char* name : {"libcuda.so.1", "libcuda.so.535.104", "libnvidia-ml.so.1", "libnvidia-nvvm70.so.4",
                           "libc.so.6", "libcudart.so.12", "libcuda.a"}) {
    node_.Write(folder + name, "");
  }
  devices = DriverDevices(node_.root());
  ASSERT_TRUE(devices.ok());
  EXPECT_THAT(TargetsOf(*devices),
              ElementsAre("/run/glim/driver/libcuda.so.1", "/run/glim/driver/libcuda.so.535.104",
                          "/run/glim/driver/libnvidia-ml.so.1", "/run/glim/driver/libnvidia-nvvm70.so.4"));
  EXPECT_EQ(devices->files[0].source, node_.root() + folder + "libcuda.so.1");
  EXPECT_TRUE(devices->files[0].read_only);
  EXPECT_EQ(devices->library_folder, "/run/glim/driver");
}

class FabricDevicesTest : public ::testing::TestWithParam<bool> {};

TEST_P(FabricDevicesTest, AreTheCardsThatProgramsUse) {
  TempFolder folder;
  const FakeNode node(folder.path());
  EXPECT_THAT(FabricDevices(node.root()).nodes, IsEmpty());
  ASSERT_TRUE(node.MakeDevice("/dev/infiniband/rdma_cm", kNull));
  EXPECT_THAT(FabricDevices(node.root()).nodes, IsEmpty()) << "no card";
  EXPECT_FALSE(FabricDevices(node.root()).locks_memory);
  for (const char* name : {"uverbs0", "uverbs11", "umad0", "issm0"}) {
    ASSERT_TRUE(node.MakeDevice(std::string("/dev/infiniband/") + name, kNull));
  }
  const NodeDevices devices = FabricDevices(node.root());
  EXPECT_THAT(PathsOf(devices),
              ElementsAre("/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs0", "/dev/infiniband/uverbs11"));
  EXPECT_TRUE(devices.locks_memory);
}

TEST(ReservedHugePages, AreTheSmallestOfWhichThereAreAny) {
  TempFolder folder;
  const FakeNode node(folder.path());
  const std::string pages = "/sys/kernel/mm/hugepages/";
  EXPECT_EQ(ReservedHugePages(node.root()), 0u);
  node.Write(pages + "hugepages-2048kB/nr_hugepages", "0\n");
  EXPECT_EQ(ReservedHugePages(node.root()), 0u);
  node.Write(pages + "hugepages-1048576kB/nr_hugepages", "4\n");
  EXPECT_EQ(ReservedHugePages(node.root()), 1048576u);
  node.Write(pages + "hugepages-2048kB/nr_hugepages", "512\n");
  EXPECT_EQ(ReservedHugePages(node.root()), 2048u);
}

GLIM_AS_ROOT(DriverDevicesTest);
GLIM_AS_ROOT(FabricDevicesTest);

}  // namespace
}  // namespace glim::nodeagent
