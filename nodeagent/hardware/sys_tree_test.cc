#include "nodeagent/hardware/sys_tree.h"

#include <gmock/gmock.h>

#include "nodeagent/hardware/testing/fake_sys.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::nodeagent {
namespace {

using testing::ElementsAre;

TEST(SysTree, ReadsWhatIsThereAndNothingWhereNothingIs) {
  TempFolder folder;
  FakeSys(folder.path()).Write("sys/a", "  42 ").Write("sys/b", "word").Write("sys/c", "-1");
  const SysTree tree(folder.path());
  EXPECT_EQ(tree.Text("sys/a"), "42");
  EXPECT_EQ(tree.Number("sys/a"), 42);
  EXPECT_EQ(tree.Number("sys/c"), -1);
  EXPECT_EQ(tree.Number("sys/b"), -1);
  EXPECT_EQ(tree.Number("sys/none"), -1);
  EXPECT_EQ(tree.Text("sys/none"), "");
  EXPECT_TRUE(tree.Has("sys/b"));
  EXPECT_FALSE(tree.Has("sys/none"));
  EXPECT_THAT(tree.Names("sys"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(tree.Names("none"), ElementsAre());
}

TEST(SysTree, FindsTheAddressThatADeviceHangsOn) {
  TempFolder folder;
  FakeSys sys(folder.path());
  sys.Link("sys/class/net/eth0/device", "sys/devices/pci0000:00/0000:00:04.0/virtio1");
  sys.Link("sys/class/net/veth0/device", "sys/devices/virtual/net");
  const SysTree tree(folder.path());
  EXPECT_EQ(tree.PciOf("sys/class/net/eth0/device"), "0000:00:04.0");
  EXPECT_EQ(tree.PciOf("sys/class/net/veth0/device"), "");
  EXPECT_EQ(tree.PciOf("sys/class/net/none/device"), "");
}

TEST(SysTree, NvidiasGpusAreThoseOfItsClassesAlone) {
  TempFolder folder;
  FakeSys sys(folder.path());
  sys.Gpu("0000:3b:00.0", 1).Gpu("0000:17:00.0", 0);
  sys.Pci("0000:3b:00.1", "0x040300", 1, "0x10de");  // its sound
  sys.Pci("0000:00:02.0", "0x030000", 0, "0x8086");  // of another maker
  const SysTree tree(folder.path());
  EXPECT_THAT(tree.GpusOnTheBus(), ElementsAre("0000:17:00.0", "0000:3b:00.0"));
  EXPECT_EQ(tree.NumaNodeOf("0000:3b:00.0"), 1);
  EXPECT_EQ(tree.NumaNodeOf("0000:99:00.0"), -1);
  EXPECT_EQ(tree.NumaNodeOf(""), -1);
}

TEST(SysTree, KnowsAddressesAndLists) {
  EXPECT_TRUE(IsPciAddress("0000:3b:00.0"));
  for (const char* text : {"", "0000:3b:00", "0000:3b:00.00", "000g:3b:00.0", "pci0000:00"}) {
    EXPECT_FALSE(IsPciAddress(text)) << text;
  }
  const std::pair<const char*, std::uint32_t> lists[] = {{"0-3,8", 5},   {"0", 1},   {"", 0},
                                                         {"0-127", 128}, {"x,2", 1}, {"0,2,4-5", 4}};
  for (const auto& [text, count] : lists) EXPECT_EQ(CountOfList(text), count) << text;
}

}  // namespace
}  // namespace glim::nodeagent
