#include "nodeagent/confinement/runc_config.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace glim::nodeagent {
namespace {

using nlohmann::json;

json MountAt(const json& config, const std::string& target) {
  for (const json& mount : config.at("mounts")) {
    if (mount.at("destination") == target) return mount;
  }
  return nullptr;
}

TEST(RuncConfig, WithoutDevicesNoneIsAllowedAndNoneIsShown) {
  const json config = json::parse(RuncConfig(ContainerPlan()));
  EXPECT_EQ(config.at("linux").at("resources").at("devices"), json::parse(R"([{"allow": false, "access": "rwm"}])"));
  EXPECT_FALSE(config.at("linux").contains("devices"));
  for (const json& mount : config.at("mounts")) EXPECT_NE(mount.at("type"), "bind");
}

TEST(RuncConfig, AllowsAndShowsTheDevicesOfThePlanAndNoOther) {
  ContainerPlan plan;
  plan.devices = {{"/dev/nvidia0", "/dev/nvidia0", 'c', 195, 0, "rw"}, {"/dev/x", "/dev/y", 'b', 7, 300, "r"}};
  plan.memlock_bytes = std::numeric_limits<std::uint64_t>::max();
  const json config = json::parse(RuncConfig(plan));
  EXPECT_EQ(config.at("linux").at("resources").at("devices"), json::parse(R"([
    {"allow": false, "access": "rwm"},
    {"allow": true, "type": "c", "major": 195, "minor": 0, "access": "rw"},
    {"allow": true, "type": "b", "major": 7, "minor": 300, "access": "r"}])"));
  EXPECT_EQ(MountAt(config, "/dev/x"),
            json::parse(R"({"destination": "/dev/x", "type": "bind", "source": "/dev/y", "options": ["bind"]})"));
  const json limits = config.at("process").at("rlimits");
  EXPECT_EQ(limits.at(0).at("hard"), plan.memlock_bytes) << "unlimited, as runc takes it";
}

TEST(RuncConfig, HugePagesAreShownWhereProgramsLookForThem) {
  ContainerPlan plan;
  plan.huge_pages = "/run/glim-root/run/glim/hugepages";
  EXPECT_EQ(MountAt(json::parse(RuncConfig(plan)), "/dev/hugepages").at("source"), plan.huge_pages);
}

}  // namespace
}  // namespace glim::nodeagent
