#include "nodeagent/devices/device_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nodeagent/devices/testing/fake_node.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::nodeagent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(CheckDeviceChoice, RefusesWhatIsNoDevice) {
  const auto field = [](std::vector<std::string> devices, const std::string& infiniband) {
    DeviceChoice choice;
    choice.devices = std::move(devices);
    choice.infiniband = infiniband;
    return CheckChoice(choice).field();
  };
  EXPECT_EQ(field({"auto"}, "auto"), "");
  EXPECT_EQ(field({"nvidia"}, "no"), "");
  EXPECT_EQ(field({"none"}, "no"), "");
  EXPECT_EQ(field({"nvidia.com/gpu=0", "nvidia.com/gpu=1"}, "auto"), "");
  EXPECT_EQ(field({}, "auto"), "--devices");
  EXPECT_EQ(field({"all"}, "auto"), "--devices");
  EXPECT_EQ(field({"auto", "nvidia.com/gpu=1"}, "auto"), "--devices") << "auto stands alone";
  EXPECT_EQ(field({"auto"}, "yes"), "--infiniband");
}

class DevicesOfTest : public ::testing::TestWithParam<bool> {
 protected:
  DevicesOfTest() : node_(folder_.path()) {
    choice_.root = node_.root();
    node_.MakeDriver();
    for (const char* name : {"nvidia0", "nvidiactl", "nvidia-uvm"}) {
      EXPECT_TRUE(node_.MakeDevice(std::string("/dev/") + name, kNull));
    }
    EXPECT_TRUE(node_.MakeDevice("/dev/infiniband/uverbs0", kNull));
  }
  void WriteCdi() const {
    node_.Write("/etc/cdi/nvidia.yaml",
                "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices: [{name: all, containerEdits: {env: [FROM=cdi]}}]\n");
  }
  std::string Paths(std::uint32_t gpus) const {
    const auto devices = DevicesOf(choice_, gpus);
    if (!devices.ok()) return devices.status().message();
    std::string text;
    for (const DeviceNode& node : devices->nodes) text += node.path.substr(5) + " ";
    for (const auto& [name, value] : devices->env) text += name + "=" + value + " ";
    return text;
  }
  TempFolder folder_;
  const FakeNode node_;
  DeviceChoice choice_;
};

TEST_P(DevicesOfTest, ATaskWithoutGpusSeesNoneAndHasTheCards) {
  EXPECT_EQ(Paths(0), "infiniband/uverbs0 ");
  choice_.infiniband = "no";
  EXPECT_EQ(Paths(0), "");
  EXPECT_EQ(Paths(8), "nvidia0 nvidiactl nvidia-uvm ");
}

TEST_P(DevicesOfTest, AutoIsCdiWhereAFileHasAllGpus) {
  choice_.infiniband = "no";
  WriteCdi();
  EXPECT_EQ(Paths(8), "FROM=cdi ");
  choice_.devices = {"nvidia"};
  EXPECT_EQ(Paths(8), "nvidia0 nvidiactl nvidia-uvm ");
  choice_.devices = {"none"};
  EXPECT_EQ(Paths(8), "");
  choice_.devices = {"nvidia.com/gpu=9"};
  EXPECT_THAT(Paths(8), HasSubstr("no CDI file of this node has the device nvidia.com/gpu=9"));
  EXPECT_EQ(Paths(0), "") << "of no concern to a task without GPUs";
}

TEST_P(DevicesOfTest, BehindSimulatedGpusThereIsNothingUnlessItIsNamed) {
  choice_.simulated_gpus = true;
  choice_.infiniband = "no";
  EXPECT_EQ(Paths(8), "");
  choice_.devices = {"nvidia"};
  EXPECT_EQ(Paths(8), "nvidia0 nvidiactl nvidia-uvm ");
}

TEST_P(DevicesOfTest, NoDriverIsAnErrorOnlyOfTasksWithGpus) {
  std::filesystem::remove_all(node_.root() + "/proc");
  EXPECT_EQ(DevicesOf(choice_, 1).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(DevicesOf(choice_, 0).ok());
}

GLIM_AS_ROOT(DevicesOfTest);

}  // namespace
}  // namespace glim::nodeagent
