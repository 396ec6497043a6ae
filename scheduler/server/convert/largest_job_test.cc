// The limits of a spec, added up: what the largest legal job needs fits into a message and into the kernel's limits.
#include <gtest/gtest.h>

#include "scheduler/core/model/spec_limits.h"
#include "scheduler/core/model/validate_spec.h"
#include "scheduler/core/testing/specs.h"
#include "scheduler/server/convert/desired_convert.h"
#include "scheduler/server/convert/desired_fit.h"
#include "sdk/tokens/replica_token.h"

namespace glim::server {
namespace {

using core::NodeId;

constexpr core::JobId kLargest{7};
constexpr std::uint32_t kGangNodes = 10'000;
constexpr std::size_t kAgentTakesNow = 32 << 20;        // nodeagent/sync/message_sizes.h
constexpr std::size_t kKernelsVariableMax = 128 << 10;  // MAX_ARG_STRLEN
constexpr std::size_t kKernelsExecMax = 2 << 20;        // a quarter of the usual stack

// Of as many variables as it takes, each as long as may be.
core::JobSpec LargestSpec() {
  core::JobSpec spec = core::testing::Spec(kGangNodes);
  spec.run = std::string(core::kSpecTextBytesMax, 'r');
  std::size_t left = core::kSpecEnvAndRunBytesMax - spec.run.size();
  while (left > 4) {
    const std::string name = "V" + std::to_string(100 + spec.env.size());
    const std::size_t value = std::min(left - name.size(), core::kSpecTextBytesMax);
    spec.env.emplace_back(name, std::string(value, 'v'));
    left -= name.size() + value;
  }
  for (std::size_t i = 0; i < core::kSpecMountsMax; ++i) {
    const std::string path = "/" + std::to_string(100 + i) + std::string(core::kSpecPathBytesMax - 4, 'm');
    spec.mounts.push_back({path, path, true});
  }
  return spec;
}

// On the first of its nodes; its save is in parts, one on each of them.
v1::DesiredState SetOf(std::size_t address_bytes) {
  core::ClusterState state;
  core::JobSpec spec = LargestSpec();
  EXPECT_TRUE(core::ValidateSpec(spec).ok()) << core::ValidateSpec(spec).message();
  std::vector<NodeId> nodes;
  for (std::uint32_t id = 1; id <= kGangNodes; ++id) {
    core::Node node = core::testing::NodeRow(id, core::testing::Labels(std::string(63, 'z'), "leaf"));
    node.name.resize(63, 'n');
    node.address = std::to_string(100'000 + id);
    node.address.resize(address_bytes, 'a');
    node.save_address = node.address + ":70000";
    node.save_key = std::string(64, 'k');
    if (id == 1) node.holder = {kLargest, 2};
    nodes.push_back(NodeId(id));
    state.Put(std::move(node));
  }
  state.Put(core::testing::JobRow(kLargest.value, spec));
  core::Attempt attempt = core::testing::AttemptRow({kLargest, 2}, core::AttemptState::kStarting, nodes);
  attempt.base.step = 10;
  attempt.base.local = "attempt-1/step-10";
  attempt.base.attempt = 1;
  attempt.base.parts = nodes;
  state.Put(std::move(attempt));
  core::Task task;
  task.id = {{kLargest, 2}, 0};
  task.node = NodeId(1);
  state.Put(task);
  Snapshot snapshot;
  snapshot.tables = state.tables();
  GangCache cache;
  return BuildDesiredState(snapshot, NodeId(1), {}, TimePoint{2000}, &cache);
}

TEST(LargestJob, FitsIntoAMessageToItsAgents) {
  v1::DesiredState set = SetOf(253);  // the longest name that DNS has
  ASSERT_EQ(set.tasks_size(), 1);
  set.mutable_tasks(0)->mutable_launch()->set_replica_token(std::string(kReplicaTokenBytesMax, 't'));
  set.mutable_tasks(0)->set_attempt_secret(std::string(64, 'f'));
  EXPECT_TRUE(FitDesired(kAgentTakesNow, &set).empty()) << set.ByteSizeLong();
  const v1::TaskLaunch& launch = set.tasks(0).launch();
  EXPECT_EQ(launch.base().sources_size(), static_cast<int>(kGangNodes) - 1);
  EXPECT_EQ(launch.hosts().size(), kGangNodes * 254 - 1);
  EXPECT_EQ(launch.zones().size(), kGangNodes * 64 - 1);
}

TEST(LargestJob, FitsIntoTheKernelsCallThatStartsIt) {
  const v1::DesiredState set = SetOf(253);
  const v1::TaskLaunch& launch = set.tasks(0).launch();
  std::size_t total = launch.run().size();
  for (const v1::EnvVar& var : launch.env()) {
    EXPECT_LT(var.name().size() + var.value().size() + 2, kKernelsVariableMax) << var.name();
    EXPECT_NE(var.name(), "GLIM_HOSTS") << "it is in a file";
    total += var.name().size() + var.value().size() + 2 + sizeof(char*);
  }
  // What may be told beside: both lists at their longest, sources of replicas, and what the agent and the rank add.
  total += 2 * kListBytesMax + (96 << 10) + (64 << 10);
  EXPECT_LT(total, kKernelsExecMax / 2);
}

TEST(LargestJob, ShortListsAreInVariablesAlone) {
  core::ClusterState state;
  core::Node node = core::testing::NodeRow(1);
  node.holder = {kLargest, 1};
  state.Put(std::move(node));
  state.Put(core::testing::JobRow(kLargest.value));
  state.Put(core::testing::AttemptRow({kLargest, 1}, core::AttemptState::kStarting, {NodeId(1)}));
  core::Task task;
  task.id = {{kLargest, 1}, 0};
  task.node = NodeId(1);
  state.Put(task);
  Snapshot snapshot;
  snapshot.tables = state.tables();
  GangCache cache;
  const v1::DesiredState set = BuildDesiredState(snapshot, NodeId(1), {}, TimePoint{2000}, &cache);
  EXPECT_EQ(set.tasks(0).launch().hosts(), "");
  EXPECT_EQ(set.tasks(0).launch().zones(), "");
}

}  // namespace
}  // namespace glim::server
