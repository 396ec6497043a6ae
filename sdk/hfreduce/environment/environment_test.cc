#include "sdk/hfreduce/environment/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "sdk/io/testing/temp_folder.h"
#include "sdk/task_environment/testing/forms.h"
#include "sdk/task_environment/testing/samples.h"

namespace glim::hfreduce {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

Result<Environment> Read(const Variables& variables, const CommunicatorOptions& options = {}) {
  return EnvironmentOf(
      [&](const char* name) {
        const auto it = variables.find(name);
        return it == variables.end() ? std::nullopt : std::optional(it->second);
      },
      options);
}

Variables Changed(Variables variables, const Variables& changes) {
  for (const auto& [name, value] : changes) variables[name] = value;
  return variables;
}

Variables Without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

// Rank 3 of a job of two ranks a node, on two nodes of zone A and one of zone B.
const Variables& OnGlim() {
  static const Variables variables = {{"GLIM_HOSTS", "10.0.0.1,10.0.0.2,10.1.0.1"},
                                      {"GLIM_ZONES", "A,A,B"},
                                      {"GLIM_GATEWAYS", "1,2"},
                                      {"GLIM_NODE_RANK", "1"},
                                      {"GLIM_JOB_ID", "12"},
                                      {"GLIM_ATTEMPT", "3"},
                                      {"GLIM_HFREDUCE_PORT", "20001"},
                                      {"MASTER_ADDR", "10.0.0.1"},
                                      {"MASTER_PORT", "20000"},
                                      {"RANK", "3"},
                                      {"WORLD_SIZE", "6"},
                                      {"LOCAL_RANK", "1"},
                                      {"LOCAL_WORLD_SIZE", "2"}};
  return variables;
}

// Rank 2 of what torchrun has started on two nodes, with two processes on each.
const Variables& WithTorchrun() {
  static const Variables variables = {{"MASTER_ADDR", "host-a"}, {"MASTER_PORT", "29500"}, {"RANK", "2"},
                                      {"WORLD_SIZE", "4"},       {"LOCAL_RANK", "0"},      {"LOCAL_WORLD_SIZE", "2"}};
  return variables;
}

std::vector<std::uint32_t> ZonesOf(const Topology& topology) {
  std::vector<std::uint32_t> zones;
  for (const NodePlace& node : topology.nodes) zones.push_back(node.zone);
  return zones;
}

// As a gang finds them that is too large for variables.
Variables ByFiles(Variables variables) {
  for (const auto& [list, file] :
       {std::pair("GLIM_HOSTS", "GLIM_HOSTS_FILE"), std::pair("GLIM_ZONES", "GLIM_ZONES_FILE")}) {
    static const TempFolder folder;
    std::string lines = variables.at(list) + ",";
    std::replace(lines.begin(), lines.end(), ',', '\n');
    variables[file] = folder.path() + "/" + list;
    std::ofstream(variables[file]) << lines;
    variables.erase(list);
  }
  return variables;
}

TEST(Environment, OfALargeGangItsListsAreInFiles) {
  const auto read = Read(ByFiles(OnGlim()));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_THAT(ZonesOf(read->topology), ElementsAre(0, 0, 1));
  EXPECT_EQ(read->store_host, "10.0.0.1");
  EXPECT_EQ(read->options.listen, "10.0.0.2");
  const auto missing = Read(Changed(ByFiles(OnGlim()), {{"GLIM_HOSTS_FILE", "/no/such/file"}}));
  EXPECT_EQ(missing.status().field(), "GLIM_HOSTS_FILE");
}

TEST(Environment, OfAJobThatCrossesZones) {
  const auto read = Read(OnGlim());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->rank, 3u);
  EXPECT_THAT(ZonesOf(read->topology), ElementsAre(0, 0, 1));
  EXPECT_EQ(read->topology.ranks(), 6u);
  EXPECT_THAT(read->topology.gateways, ElementsAre(1, 2));
  EXPECT_EQ(read->store_host, "10.0.0.1");
  EXPECT_EQ(read->store_port, 20001);
  EXPECT_EQ(read->options.listen, "10.0.0.2");
  EXPECT_EQ(read->options.id, "12.3-0") << "of this attempt alone";
}

// The contract with the scheduler and the agents: sdk/task_environment has what they set.
TEST(Environment, OfThePlatformsSamples) {
  const auto gang = Read(glim::testing::ReadSample("per_gpu.env"));
  ASSERT_TRUE(gang.ok()) << gang.status().message();
  EXPECT_EQ(gang->rank, 3u);
  EXPECT_EQ(gang->topology.ranks(), 6u);
  EXPECT_THAT(gang->topology.gateways, ElementsAre(1, 2));
  EXPECT_EQ(gang->store_host, "10.0.0.1");
  EXPECT_EQ(gang->store_port, 20001);
  EXPECT_EQ(gang->options.id, "12.3-0");
  EXPECT_EQ(gang->options.device, "mlx5_0:1");
  EXPECT_EQ(gang->options.service_level, 3);
  const auto alone = Read(glim::testing::ReadSample("per_node.env"));
  ASSERT_TRUE(alone.ok()) << alone.status().message();
  EXPECT_EQ(alone->topology.ranks(), 1u);
  EXPECT_EQ(alone->store_port, 20003);
}

TEST(Environment, ReadsWhatTheTableSays) {
  std::set<std::string> read;
  Variables off_glim = glim::testing::ReadSample("per_gpu.env");
  off_glim.erase("GLIM_HOSTS");
  off_glim.erase("GLIM_HOSTS_FILE");
  off_glim.erase("GLIM_HFREDUCE_PORT");
  const Variables by_file = ByFiles(glim::testing::ReadSample("per_gpu.env"));
  for (const Variables& variables : {glim::testing::ReadSample("per_gpu.env"), off_glim, by_file}) {
    const auto noted = [&](const char* name) {
      read.insert(name);
      const auto it = variables.find(name);
      return it == variables.end() ? std::nullopt : std::optional(it->second);
    };
    ASSERT_TRUE(EnvironmentOf(noted, {}).ok());
  }
  EXPECT_EQ(read, glim::testing::NamesReadBy("hfreduce"));
}

TEST(Environment, OfAJobInOneZoneTheFirstNodeIsTheGateway) {
  for (const char* zones : {"A,A,A", ",,"}) {
    const auto read = Read(Changed(OnGlim(), {{"GLIM_ZONES", zones}, {"GLIM_GATEWAYS", ""}}));
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_THAT(ZonesOf(read->topology), ElementsAre(0, 0, 0));
    EXPECT_THAT(read->topology.gateways, ElementsAre(0));
  }
}

TEST(Environment, OfACommandThatRunsOnceANode) {
  Variables variables = OnGlim();
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"}) variables.erase(name);
  const auto read = Read(variables);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->rank, 1u);
  EXPECT_EQ(read->topology.ranks(), 3u);
}

TEST(Environment, TorchrunsOwnMasterIsNotTheStores) {
  const auto read = Read(Changed(OnGlim(), {{"MASTER_ADDR", "node-1.local"}, {"MASTER_PORT", "41234"}}));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->store_host, "10.0.0.1");
  EXPECT_EQ(read->store_port, 20001);
}

TEST(Environment, WithoutGlimTheNodesAreOneZone) {
  const auto read = Read(WithTorchrun());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->rank, 2u);
  EXPECT_THAT(ZonesOf(read->topology), ElementsAre(0, 0));
  EXPECT_EQ(read->topology.nodes[1].local_ranks, 2u);
  EXPECT_EQ(read->store_host, "host-a");
  EXPECT_EQ(read->store_port, 29501) << "torch itself listens on 29500";
  EXPECT_EQ(read->options.listen, "") << "only the machine itself knows it";
  EXPECT_EQ(read->options.id, "port29501-0");
}

TEST(Environment, WithoutGlimThePortCanBeChosen) {
  const auto read = Read(Changed(Without(WithTorchrun(), "MASTER_PORT"), {{"GLIM_HFREDUCE_PORT", "4000"}}));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->store_port, 4000);
}

TEST(Environment, OptionsAreKeptAndTheirIdTellsTheJobsCommunicatorsApart) {
  CommunicatorOptions options;
  options.id = "gradients";
  options.transport = "tcp";
  options.timeout = Seconds(7);
  const auto read = Read(OnGlim(), options);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->options.id, "12.3-gradients");
  EXPECT_EQ(read->options.transport, "tcp");
  EXPECT_EQ(read->options.timeout, Seconds(7));
}

TEST(Environment, TheCallersDeviceComesFirst) {
  const Variables variables =
      Changed(OnGlim(), {{"GLIM_HFREDUCE_DEVICE", "mlx5_0:1"}, {"GLIM_HFREDUCE_SERVICE_LEVEL", "3"}});
  const auto told = Read(variables);
  ASSERT_TRUE(told.ok()) << told.status().message();
  EXPECT_EQ(told->options.device, "mlx5_0:1");
  EXPECT_EQ(told->options.service_level, 3);
  CommunicatorOptions options;
  options.device = "mlx5_1:1";
  options.service_level = 0;
  const auto chosen = Read(variables, options);
  ASSERT_TRUE(chosen.ok()) << chosen.status().message();
  EXPECT_EQ(chosen->options.device, "mlx5_1:1");
  EXPECT_EQ(chosen->options.service_level, 0);
}

TEST(Environment, WhatIsMissingIsNamed) {
  for (const char* name : {"GLIM_ZONES", "GLIM_GATEWAYS", "GLIM_NODE_RANK", "GLIM_JOB_ID", "GLIM_ATTEMPT",
                           "GLIM_HFREDUCE_PORT", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"}) {
    const auto read = Read(Without(OnGlim(), name));
    ASSERT_FALSE(read.ok()) << name;
    EXPECT_EQ(read.status().field(), name) << read.status().message();
    EXPECT_THAT(read.status().message(), HasSubstr(name));
  }
  for (const auto& [name, value] : WithTorchrun())
    EXPECT_EQ(Read(Without(WithTorchrun(), name)).status().field(), name);
}

struct Bad {
  const char* variable;
  const char* value;
  const char* said;
};

TEST(Environment, WhatIsWrongIsNamed) {
  const Bad cases[] = {
      {"RANK", "x", "'x' is not a number from 0 to 5"},
      {"RANK", "", "not set"},
      {"RANK", "6", "'6' is not a number from 0 to 5"},
      {"RANK", "-1", "'-1' is not"},
      {"RANK", "3 ", "'3 ' is not"},
      {"RANK", "5", "rank 5 is on node 1"},
      {"LOCAL_RANK", "0", "rank 3 has 0"},
      {"LOCAL_WORLD_SIZE", "33", "'33' is not a number from 1 to 32"},
      {"WORLD_SIZE", "7", "no whole number of nodes"},
      {"WORLD_SIZE", "8", "on the 3 nodes of GLIM_HOSTS"},
      {"WORLD_SIZE", "65537", "'65537' is not"},
      {"GLIM_NODE_RANK", "3", "'3' is not a number from 0 to 2"},
      {"GLIM_ZONES", "A,B", "2 zones for the 3 nodes"},
      {"GLIM_ZONES", "A,B,A", "not those of one zone followed by those of another"},
      {"GLIM_ZONES", "A,B,C", "not those of one zone"},
      {"GLIM_GATEWAYS", "0,1", "node 1 is not in zone 1"},
      {"GLIM_GATEWAYS", "0,2,", "'' is not a number"},
      {"GLIM_GATEWAYS", "0", "2 zones have 1 gateways"},
      {"GLIM_HFREDUCE_PORT", "0", "'0' is not a number from 1 to 65535"},
      {"GLIM_HFREDUCE_SERVICE_LEVEL", "16", "'16' is not a number from 0 to 15"},
  };
  for (const Bad& c : cases) {
    const auto read = Read(Changed(OnGlim(), {{c.variable, c.value}}));
    ASSERT_FALSE(read.ok()) << c.variable << "=" << c.value;
    EXPECT_EQ(read.status().field(), c.variable) << read.status().message();
    EXPECT_THAT(read.status().message(), HasSubstr(c.said)) << c.variable << "=" << c.value;
  }
  EXPECT_EQ(Read(Changed(WithTorchrun(), {{"MASTER_PORT", "65535"}})).status().field(), "MASTER_PORT");
}

}  // namespace
}  // namespace glim::hfreduce
