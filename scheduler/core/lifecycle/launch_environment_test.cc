// The scheduler's half of a task's environment, against the table of variables.
#include "scheduler/core/lifecycle/launch_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/testing/specs.h"
#include "sdk/task_environment/testing/forms.h"

namespace glim::core {
namespace {

using glim::testing::Misfits;
using ::testing::IsEmpty;

constexpr JobId kLaunchedJob{7};
const std::set<VariableSetter> kToldByScheduler = {VariableSetter::kScheduler, VariableSetter::kEither};

// Attempt 2 of a job with 8 GPUs a node, on node 1 of zone A and nodes 2 and 3 of zone B; node 4 takes copies.
const std::string kServiceKey = std::string(64, 'a') + "@";

class LaunchEnvironment : public ::testing::Test {
 protected:
  LaunchEnvironment() {
    spec_ = testing::Spec(3);
    spec_.name = "pretrain";
    spec_.checkpoint_every = Milliseconds(60'000);
    for (std::uint32_t id = 1; id <= 4; ++id) {
      Node node = testing::NodeRow(id, testing::Labels(id == 1 ? "A" : "B", "leaf-" + std::to_string(id)));
      node.address = "10.0.0." + std::to_string(id);
      node.replica = kServiceKey + node.address + ":7010";
      state_.Put(std::move(node));
    }
    first_ = testing::AttemptRow({kLaunchedJob, 1}, AttemptState::kEnded, {NodeId(1), NodeId(2), NodeId(3)});
    first_.started_at = TimePoint{1000};
    first_.replicas = {NodeId(4)};
    attempt_ = testing::AttemptRow({kLaunchedJob, 2}, AttemptState::kStarting, {NodeId(1), NodeId(2), NodeId(3)});
    attempt_.base = {10, "/shared/step-10", 1, 1, {}};
    attempt_.replicas = {NodeId(0), NodeId(4), NodeId(0)};
    attempt_.gateways = {0, 1};
    attempt_.master_port = 20000;
  }

  // Of the task on the gang's second node.
  TaskVariables Variables() {
    state_.Put(testing::JobRow(kLaunchedJob.value, spec_));
    state_.Put(first_);
    state_.Put(attempt_);
    const Tables& tables = state_.tables();
    DesiredTask task;
    task.id = {{kLaunchedJob, 2}, 1};
    task.job = state_.FindJob(kLaunchedJob);
    task.attempt = state_.FindAttempt({kLaunchedJob, 2});
    TaskVariables variables =
        LaunchVariables(tables, task, *state_.FindNode(NodeId(2)), GangEnvironmentOf(tables, *task.attempt));
    variables[NameOf(TaskVariable::kServer)] = "head:7601";  // comes with the token, when the launch is sent
    return variables;
  }

  JobSpec spec_;
  Attempt first_;
  Attempt attempt_;
  ClusterState state_;
};

TEST_F(LaunchEnvironment, HasWhatTheTableSaysWithEitherLauncher) {
  for (const Launcher launcher : {Launcher::kPerGpu, Launcher::kNode}) {
    spec_.launcher = launcher;
    EXPECT_THAT(Misfits(Variables(), kToldByScheduler, launcher == Launcher::kPerGpu, true), IsEmpty());
  }
}

TEST_F(LaunchEnvironment, HasTheTablesFormsWhenThereIsLittleToSay) {
  spec_.checkpoint_every = {};
  attempt_.nodes = {NodeId(1), NodeId(2)};
  attempt_.base = {};
  attempt_.replicas.clear();
  attempt_.gateways.clear();
  const TaskVariables variables = Variables();
  EXPECT_THAT(Misfits(variables, kToldByScheduler, false, false), IsEmpty());
  EXPECT_EQ(variables.at("GLIM_RESUME_STEP"), "-1");
  EXPECT_EQ(variables.at("GLIM_RESUME_PATH"), "");
  EXPECT_EQ(variables.at("GLIM_GATEWAYS"), "");
}

TEST_F(LaunchEnvironment, TellsWhoTheTaskIsAndWhoTheOthersAre) {
  spec_.launcher = Launcher::kPerGpu;
  const TaskVariables variables = Variables();
  const std::string peer = kServiceKey + "10.0.0.4:7010";
  const std::pair<const char*, const char*> rows[] = {
      {"GLIM_JOB_ID", "7"},
      {"GLIM_JOB_NAME", "pretrain"},
      {"GLIM_ATTEMPT", "2"},
      {"GLIM_HOSTS", "10.0.0.1,10.0.0.2,10.0.0.3"},
      {"GLIM_ZONES", "A,B,B"},
      {"GLIM_GATEWAYS", "0,1"},
      {"GLIM_ZONE", "B"},
      {"GLIM_LEAF", "leaf-2"},
      {"GLIM_NODE_RANK", "1"},
      {"NODE_RANK", "1"},
      {"GLIM_NNODES", "3"},
      {"WORLD_SIZE", "24"},
      {"MASTER_ADDR", "10.0.0.1"},
      {"MASTER_PORT", "20000"},
      {"GLIM_RESUME_STEP", "10"},
      {"GLIM_RESUME_PATH", "/shared/step-10"},
      {"GLIM_HFREDUCE_PORT", "20001"},
      {"GLIM_REPLICA_PEER", peer.c_str()},
  };
  for (const auto& [name, value] : rows) EXPECT_EQ(variables.at(name), value) << name;
}

TEST_F(LaunchEnvironment, OfASaveInNodesOwnFoldersTheAgentKnowsThePath) {
  attempt_.base.path.clear();
  attempt_.base.local = "attempt-1/step-10";
  EXPECT_FALSE(Variables().contains("GLIM_RESUME_PATH"));
}

TEST_F(LaunchEnvironment, TheJobsOwnVariablesAreKeptAndCannotHideThePlatforms) {
  spec_.env = {{"FOO", "bar"}, {"PATH", "/own"}, {"MASTER_ADDR", "elsewhere"}, {"RANK", "9"}, {"GLIM_ANY", "x"}};
  const TaskVariables variables = Variables();
  EXPECT_EQ(variables.at("FOO"), "bar");
  EXPECT_EQ(variables.at("PATH"), "/own");
  EXPECT_EQ(variables.at("MASTER_ADDR"), "10.0.0.1");
  EXPECT_FALSE(variables.contains("RANK")) << "of a rank the agent tells";
  EXPECT_FALSE(variables.contains("GLIM_ANY"));
}

TEST_F(LaunchEnvironment, TheCheckpointFolderIsTheJobsOrBelowTheClustersRoot) {
  Job job = testing::JobRow(12, spec_);
  EXPECT_EQ(CheckpointDirOf(job), "") << "each node's own";
  job.checkpoint_root = "/ckpt";
  EXPECT_EQ(CheckpointDirOf(job), "/ckpt/jobs/12");
  spec_.checkpoint_dir = "/srv/${GLIM_JOB_NAME}/$GLIM_JOB_ID/$HOME";
  EXPECT_EQ(CheckpointDirOf(testing::JobRow(12, spec_)), "/srv/pretrain/12/$HOME");
}

}  // namespace
}  // namespace glim::core
