#include "nodeagent/devices/cdi_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glim::nodeagent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kYaml = R"(---
cdiVersion: 0.5.0
kind: nvidia.com/gpu
containerEdits:
  env:
    - NVIDIA_VISIBLE_DEVICES=void
  deviceNodes:
    - path: /dev/nvidiactl
  hooks:
    - hookName: createContainer
      path: /usr/bin/nvidia-ctk
      args: [nvidia-ctk, hook, update-ldcache]
  mounts:
    - hostPath: /run/nvidia-persistenced/socket
      containerPath: /run/nvidia-persistenced/socket
      options: [ro, nosuid, nodev, bind]
devices:
  - name: "0"
    containerEdits:
      deviceNodes:
        - path: /dev/nvidia0
          hostPath: /run/nvidia/dev/nvidia0
          type: c
          major: 195
          minor: 0
          fileMode: 438
          permissions: rw
          uid: 0
          gid: 0
  - name: all
    annotations: {a: b}
    containerEdits: {additionalGids: [44]}
)";

TEST(CdiSpec, ReadsWhatItUnderstandsAndNamesTheRest) {
  const auto spec = ParseCdi(kYaml, "nvidia.yaml");
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->kind, "nvidia.com/gpu");
  EXPECT_THAT(spec->edits.env, ElementsAre(std::pair<std::string, std::string>("NVIDIA_VISIBLE_DEVICES", "void")));
  ASSERT_EQ(spec->edits.nodes.size(), 1u);
  EXPECT_EQ(spec->edits.nodes[0].host_path, "/dev/nvidiactl") << "where the file does not say another";
  EXPECT_FALSE(spec->edits.nodes[0].major);
  EXPECT_THAT(spec->edits.hooks, ElementsAre("createContainer /usr/bin/nvidia-ctk"));
  ASSERT_EQ(spec->edits.mounts.size(), 1u);
  EXPECT_TRUE(spec->edits.mounts[0].read_only);
  ASSERT_EQ(spec->devices.size(), 2u);
  const CdiDeviceNode& node = spec->devices[0].edits.nodes.at(0);
  EXPECT_EQ(node.path, "/dev/nvidia0");
  EXPECT_EQ(node.host_path, "/run/nvidia/dev/nvidia0");
  EXPECT_EQ(node.type, "c");
  EXPECT_EQ(node.major, 195);
  EXPECT_EQ(node.minor, 0);
  EXPECT_EQ(node.permissions, "rw");
  EXPECT_THAT(spec->devices[1].edits.others, ElementsAre("additionalGids"));
}

TEST(CdiSpec, JsonIsReadLikewise) {
  const auto spec = ParseCdi(
      "{\n\t\"cdiVersion\": \"0.3.0\",\n\t\"kind\": \"vendor.com/thing\",\n\t\"devices\": [{\"name\": \"a:1\", "
      "\"containerEdits\": {\"deviceNodes\": [{\"path\": \"/dev/thing\", \"type\": \"b\"}], \"env\": null}}]\n}\n",
      "thing.json");
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->devices.at(0).edits.nodes.at(0).type, "b");
}

TEST(CdiSpec, RefusesWithThePlaceWhatItDoesNotKnow) {
  const std::string head = "cdiVersion: 0.6.0\nkind: v.com/c\n", device = "devices: [{name: a, containerEdits: {";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "cdiVersion is missing"},
      {"kind: v.com/c\ndevices: [{name: a}]", "cdiVersion is missing"},
      {"cdiVersion: 0.2.0", "cdiVersion: '0.2.0' is unknown"},
      {"cdiVersion: 0.6.0\nkind: gpu", "kind: 'gpu' is unknown"},
      {"cdiVersion: 0.6.0\ndevices: [{name: a}]", "kind is missing"},
      {head, "there are no devices"},
      {head + "devices: []", "there are no devices"},
      {head + "surprise: 1", "f:3:1: surprise: unknown key"},
      {head + "devices: [{containerEdits: {}}]", "devices[0].name: is missing"},
      {head + "devices: [{name: a}, {name: a}]", "device 'a' is there twice"},
      {head + "devices: [{name: '../a'}]", "devices[0].name"},
      {head + "devices: {name: a}", "must be a list"},
      {head + device + "deviceNodes: [{path: dev/x}]}}]", "'dev/x' is no absolute path"},
      {head + device + "deviceNodes: [{path: /dev/../etc}]}}]", "is no absolute path"},
      {head + device + "deviceNodes: [{hostPath: /dev/x}]}}]", "deviceNodes[0].path: is missing"},
      {head + device + "deviceNodes: [{path: /dev/x, type: z}]}}]", "type: 'z' is unknown"},
      {head + device + "deviceNodes: [{path: /dev/x, major: -1}]}}]", "major"},
      {head + device + "deviceNodes: [{path: /dev/x, permissions: rx}]}}]", "permissions: 'rx' is unknown"},
      {head + device + "mounts: [{hostPath: /a}]}}]", "mounts[0].containerPath: is missing"},
      {head + device + "mounts: [{hostPath: /a, containerPath: /b, type: tmpfs}]}}]", "type: 'tmpfs' is unknown"},
      {head + device + "env: [X]}}]", "'X' is no variable"},
      {head + device + "env: ['=x']}}]", "is no variable"},
      {head + device + "netDevices: []}}]", "netDevices: unknown key"},
      {"[1]", "must be a mapping"},
      {"cdiVersion: [", "f:"},
  };
  for (const auto& [text, said] : cases) {
    const auto spec = ParseCdi(text, "f");
    ASSERT_FALSE(spec.ok()) << text;
    EXPECT_THAT(spec.status().message(), HasSubstr(said)) << text;
  }
}

TEST(CdiSpec, HasBounds) {
  EXPECT_THAT(ParseCdi(std::string(kCdiBytesMax + 1, ' '), "f").status().message(), HasSubstr("more than 1048576"));
  std::string text = "cdiVersion: 0.6.0\nkind: v.com/c\ndevices:\n";
  for (std::size_t i = 0; i <= kCdiDevicesMax; ++i) text += "- {name: d" + std::to_string(i) + "}\n";
  EXPECT_THAT(ParseCdi(text, "f").status().message(), HasSubstr("devices: has too many entries"));
}

TEST(CdiName, IsAKindAndADevice) {
  ASSERT_TRUE(ParseCdiName("nvidia.com/gpu=all"));
  EXPECT_EQ(ParseCdiName("nvidia.com/gpu=0:1")->device, "0:1");
  for (const char* text :
       {"", "all", "nvidia.com/gpu", "gpu=all", "nvidia.com/gpu=", "/gpu=all", "a/b/c=d", "a/b=c d"}) {
    EXPECT_FALSE(ParseCdiName(text)) << text;
  }
}

}  // namespace
}  // namespace glim::nodeagent
