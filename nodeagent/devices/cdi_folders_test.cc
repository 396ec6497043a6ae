#include "nodeagent/devices/cdi_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "nodeagent/devices/testing/fake_node.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::nodeagent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class CdiFoldersTest : public ::testing::TestWithParam<bool> {
 protected:
  CdiFoldersTest() : node_(folder_.path()) {}
  // A file with one device, `all`, of nvidia.com/gpu.
  void WriteSpec(const std::string& path, const std::string& edits, mode_t mode = 0644) const {
    node_.Write(path,
                "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices: [{name: all, containerEdits: {" + edits + "}}]\n",
                mode);
  }
  Result<NodeDevices> Resolve(const std::string& device = "all", bool writable = false) const {
    return ResolveCdi(ReadCdiFiles(node_.root()), {{"nvidia.com/gpu", device}}, {node_.root(), writable});
  }
  TempFolder folder_;
  const FakeNode node_;
};

TEST_P(CdiFoldersTest, DeviceNodesAreAsTheKernelHasThem) {
  ASSERT_TRUE(node_.MakeDevice("/dev/nvidia0", kNull));
  ASSERT_TRUE(node_.MakeDevice("/dev/hidden", kZero));
  WriteSpec("/etc/cdi/nvidia.yaml",
            "deviceNodes: [{path: /dev/nvidia0}, {path: /dev/nvidia1, hostPath: /dev/hidden, type: c, major: 1, "
            "minor: 5, permissions: rm, uid: 7}, {path: /dev/nvidia2, hostPath: /dev/hidden, permissions: m}]");
  const auto devices = Resolve();
  ASSERT_TRUE(devices.ok()) << devices.status().message();
  ASSERT_EQ(devices->nodes.size(), 2u) << "nobody makes nodes, so who may only that gets none";
  EXPECT_EQ(devices->nodes[0].minor, kNull);
  EXPECT_EQ(devices->nodes[0].access, "rw");
  EXPECT_EQ(devices->nodes[1].path, "/dev/nvidia1");
  EXPECT_EQ(devices->nodes[1].source, node_.root() + "/dev/hidden");
  EXPECT_EQ(devices->nodes[1].access, "r");
}

TEST_P(CdiFoldersTest, ANodeThatIsNotThereOrIsAnotherOneIsAFaultOfTheNode) {
  ASSERT_TRUE(node_.MakeDevice("/dev/nvidia0", kNull));
  for (const auto& [edits, said] :
       {std::pair("deviceNodes: [{path: /dev/nvidia7}]", "there is no /dev/nvidia7"),
        std::pair("deviceNodes: [{path: /dev/nvidia0, major: 195, minor: 0}]", "another device than the file says"),
        std::pair("deviceNodes: [{path: /dev/nvidia0, type: b}]", "another device than the file says")}) {
    WriteSpec("/etc/cdi/nvidia.yaml", edits);
    const auto devices = Resolve();
    ASSERT_FALSE(devices.ok()) << edits;
    EXPECT_EQ(devices.status().code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(devices.status().message(), HasSubstr(said));
    EXPECT_THAT(devices.status().message(), HasSubstr("/etc/cdi/nvidia.yaml"));
  }
}

TEST_P(CdiFoldersTest, MountsAreReadOnlyUnlessTheOperatorLetsThem) {
  WriteSpec("/etc/cdi/nvidia.yaml",
            "mounts: [{hostPath: /run/nvidia/socket, containerPath: /run/nvidia/socket}, {hostPath: /run/x, "
            "containerPath: /run/x, options: [ro]}, {hostPath: /usr/lib/a, containerPath: /usr/lib/a}]");
  const auto closed = Resolve(), open = Resolve("all", true);
  ASSERT_TRUE(closed.ok() && open.ok());
  ASSERT_EQ(closed->files.size(), 2u) << "/usr is seen already";
  EXPECT_EQ(closed->files[0].source, node_.root() + "/run/nvidia/socket");
  EXPECT_EQ(closed->files[0].target, "/run/nvidia/socket");
  EXPECT_TRUE(closed->files[0].read_only && closed->files[1].read_only);
  EXPECT_FALSE(open->files[0].read_only);
  EXPECT_TRUE(open->files[1].read_only) << "the file's own word";
  EXPECT_THAT(closed->notes, IsEmpty());
}

TEST_P(CdiFoldersTest, WhatIsNotDoneIsLeftOutAndTold) {
  const std::pair<const char*, const char*> cases[] = {
      {"hooks: [{hookName: createContainer, path: /usr/bin/nvidia-ctk, args: [a]}]",
       "the hook createContainer /usr/bin/nvidia-ctk is left out"},
      {"env: [GLIM_TASK=1]", "the variable GLIM_TASK is left out: it is Glim's"},
      {"env: [MASTER_ADDR=evil]", "the variable MASTER_ADDR is left out"},
      {"mounts: [{hostPath: /a, containerPath: /usr/lib/b}]", "the mount at /usr/lib/b is left out"},
      {"mounts: [{hostPath: /a, containerPath: /etc/passwd}]", "the mount at /etc/passwd is left out"},
      {"mounts: [{hostPath: /a, containerPath: /dev/shm}]", "the mount at /dev/shm is left out: /dev is"},
      {"mounts: [{hostPath: /a, containerPath: /run/glim/sdk}]", "the mount at /run/glim/sdk is left out"},
      {"deviceNodes: [{path: /dev/x, hostPath: /etc/shadow}]", "the device node /dev/x is left out"},
      {"deviceNodes: [{path: /tmp/x, hostPath: /dev/null}]", "the device node /tmp/x is left out"},
      {"additionalGids: [0]", "additionalGids is left out"},
      {"intelRdt: {closID: a}", "intelRdt is left out"},
  };
  for (const auto& [edits, said] : cases) {
    WriteSpec("/etc/cdi/nvidia.yaml", std::string(edits) + (edits[0] == 'e' ? "" : ", env: [A=b]"));
    const auto devices = Resolve();
    ASSERT_TRUE(devices.ok()) << devices.status().message();
    EXPECT_THAT(devices->notes, ElementsAre(HasSubstr(said))) << edits;
    EXPECT_THAT(devices->files, IsEmpty());
    EXPECT_THAT(devices->nodes, IsEmpty());
    EXPECT_EQ(devices->env.size(), edits[0] == 'e' ? 0u : 1u) << "what is good of it is given all the same";
  }
}

TEST_P(CdiFoldersTest, AFileThatOthersThanRootMayWriteDoesNotCount) {
  WriteSpec("/etc/cdi/group.yaml", "", 0664);
  WriteSpec("/etc/cdi/world.json", "", 0646);
  WriteSpec("/etc/cdi/owned.yaml", "");
  ASSERT_EQ(::chown((node_.root() + "/etc/cdi/owned.yaml").c_str(), 12345, 0), 0);
  WriteSpec("/elsewhere.yaml", "");
  std::filesystem::create_symlink(node_.root() + "/elsewhere.yaml", node_.root() + "/etc/cdi/link.yaml");
  WriteSpec("/etc/cdi/notes.txt", "");
  node_.Write("/etc/cdi/broken.yaml", "cdiVersion: 9");
  const CdiFiles files = ReadCdiFiles(node_.root());
  EXPECT_THAT(files.files, IsEmpty());
  EXPECT_THAT(files.refused,
              ElementsAre(HasSubstr("/etc/cdi/broken.yaml:1:13: cdiVersion"),
                          "/etc/cdi/group.yaml: others than its owner may write it", "/etc/cdi/link.yaml: it is a link",
                          "/etc/cdi/owned.yaml: it belongs to uid 12345",
                          "/etc/cdi/world.json: others than its owner may write it"));
  const auto devices = Resolve();
  EXPECT_EQ(devices.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(devices.status().message(), HasSubstr("others than its owner")) << "why, as far as it may be that";
}

TEST_P(CdiFoldersTest, NoFileOfAFolderThatOthersMayWriteCounts) {
  WriteSpec("/etc/cdi/nvidia.yaml", "");
  ASSERT_EQ(::chmod((node_.root() + "/etc/cdi").c_str(), 0777), 0);
  const CdiFiles files = ReadCdiFiles(node_.root());
  EXPECT_THAT(files.files, IsEmpty());
  EXPECT_THAT(files.refused, ElementsAre(HasSubstr("/etc/cdi: others than its owner may write it")));
}

TEST_P(CdiFoldersTest, WhatIsMadeAtEachBootCountsFirstAndTwiceInOneFolderIsRefused) {
  WriteSpec("/etc/cdi/a.yaml", "env: [FROM=etc]");
  WriteSpec("/var/run/cdi/b.yaml", "env: [FROM=run]");
  ASSERT_TRUE(Resolve().ok());
  EXPECT_THAT(Resolve()->env, ElementsAre(Pair("FROM", "run")));
  WriteSpec("/var/run/cdi/c.yaml", "");
  EXPECT_THAT(Resolve().status().message(),
              HasSubstr("/var/run/cdi/b.yaml and /var/run/cdi/c.yaml both have the device nvidia.com/gpu=all"));
}

TEST_P(CdiFoldersTest, AFilesCommonEditsAreMadeOnceHoweverManyOfItsDevicesAreGiven) {
  node_.Write(
      "/etc/cdi/thing.json",
      R"({"cdiVersion": "0.8.0", "kind": "v.com/c", "containerEdits": {"env": ["ALL=1"]}, "devices": [)"
      R"({"name": "a", "containerEdits": {"env": ["A=1"]}}, {"name": "b", "containerEdits": {"env": ["B=1"]}}]})");
  const auto devices =
      ResolveCdi(ReadCdiFiles(node_.root()), {{"v.com/c", "b"}, {"v.com/c", "a"}}, {node_.root(), false});
  ASSERT_TRUE(devices.ok()) << devices.status().message();
  EXPECT_THAT(devices->env, ElementsAre(Pair("ALL", "1"), Pair("B", "1"), Pair("A", "1")));
}

GLIM_AS_ROOT(CdiFoldersTest);

}  // namespace
}  // namespace glim::nodeagent
