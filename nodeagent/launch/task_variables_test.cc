// The agent's half of a task's environment, against the table of variables.
#include "nodeagent/launch/task_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "nodeagent/options/testing/sdk.h"
#include "sdk/io/testing/temp_folder.h"
#include "sdk/task_environment/testing/forms.h"

namespace glim::nodeagent {
namespace {

using ::testing::IsEmpty;

const std::set<VariableSetter> kSetByAgent = {VariableSetter::kAgent, VariableSetter::kEither,
                                              VariableSetter::kDefault};

// Of rank 1 of a task on one of two nodes, whose order holds nothing of the scheduler's.
TaskVariables VariablesOf(const AgentOptions& options, const TaskVariables& base, const v1::TaskLaunch& launch) {
  Result<TaskVariables> planned =
      PlanVariables(options, base, {7, 2, 0}, "/state/tasks/7.2.0", launch, HomeOf(options, base));
  EXPECT_TRUE(planned.ok()) << planned.status().message();
  TaskVariables variables = std::move(planned).value();
  for (const auto& [name, value] : RankVariables(launch, 1)) variables[name] = value;
  return variables;
}

AgentOptions Plain() {
  AgentOptions options;
  options.state_dir = "/state";
  options.shim = "/opt/glim/bin/glim-shim";
  options.runtime = "process";
  return options;
}

v1::TaskLaunch Order(bool per_gpu) {
  v1::TaskLaunch launch;
  launch.set_ranks(per_gpu ? 2 : 1);
  launch.set_per_gpu(per_gpu);
  launch.set_run("true");
  return launch;
}

TEST(AgentVariables, AreWhatTheTableSaysWithEitherLauncher) {
  TempFolder folder;
  AgentOptions options = Plain();
  options.gpus = 2;
  options.simulated_gpus = true;
  options.sdk = MakeSdk(folder.path() + "/sdk");
  options.hfreduce_device = "mlx5_0:1";
  options.hfreduce_service_level = 3;
  options.replica_tls = "rc,self";
  options.replica_device = "mlx5_1:1";
  options.replica_service_level = 5;
  options.state_dir = folder.path();
  options.secrets_dir = "/dev/shm/glim-secrets";
  std::filesystem::create_directory(folder.path() + "/identity");
  std::ofstream(folder.path() + "/identity/node.pem") << "scheduler head:7603\n";
  const TaskVariables base = {{"PATH", "/bin"},
                              {"HOME", "/home/a"},
                              {"USER", "a"},
                              {"LANG", "C"},
                              {"LC_ALL", "C"},
                              {"TZ", "UTC"},
                              {"GLOO_SOCKET_IFNAME", "e"},
                              {"NCCL_SOCKET_IFNAME", "e"}};
  for (const bool per_gpu : {false, true}) {
    v1::TaskLaunch launch = Order(per_gpu);
    launch.set_gpus(2);
    launch.mutable_base()->set_local("attempt-1/step-7");
    launch.add_secrets()->set_name("hf");
    launch.set_api(true);
    launch.set_with_attempt_secret(true);
    v1::EnvVar& peer = *launch.add_env();  // with it goes the token's file
    peer.set_name("GLIM_REPLICA_PEER");
    peer.set_value(std::string(64, 'a') + "@10.0.0.4:7010");
    TaskVariables variables = VariablesOf(options, base, launch);
    EXPECT_EQ(variables.erase("GLIM_REPLICA_PEER"), 1u) << "the scheduler's own word";
    EXPECT_THAT(glim::testing::Misfits(variables, kSetByAgent, per_gpu, true), IsEmpty());
    EXPECT_EQ(variables.at("GLIM_GPUS_SIMULATED"), "1");
    EXPECT_EQ(variables.contains("LOCAL_WORLD_SIZE"), per_gpu);
  }
}

// The agent's own tells of the operator's set-up, and names folders that a job's mounts may fill.
TEST(AgentVariables, ThePathIsTheSystemsWhateverTheAgentsOwnIs) {
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", "/root/.cargo/bin:/srv/tools", 1);
  const TaskVariables base = BaseVariables("127.0.0.1");
  ::setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(base.at("PATH"), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  AgentOptions options = Plain();
  options.shim = "/opt/glim/bin/glim-shim";
  EXPECT_EQ(VariablesOf(options, base, Order(false)).at("PATH"), base.at("PATH") + ":/opt/glim/bin")
      << "so that glim-task is found";
}

TEST(AgentVariables, HaveTheTablesFormsWhenThereIsLittleToSay) {
  for (const bool per_gpu : {false, true}) {
    const TaskVariables base = BaseVariables("127.0.0.1");
    const TaskVariables variables = VariablesOf(Plain(), base, Order(per_gpu));
    EXPECT_THAT(glim::testing::Misfits(variables, kSetByAgent, per_gpu, false), IsEmpty());
    EXPECT_FALSE(variables.contains("GLOO_SOCKET_IFNAME")) << "a loopback address";
    EXPECT_EQ(variables.at("GLIM_GPUS_SIMULATED"), "0");
  }
}

TEST(AgentVariables, TheSchedulersWordsStayAndTheAgentsComeLast) {
  v1::TaskLaunch launch = Order(false);
  for (const auto& [name, value] : {std::pair("GLIM_JOB_ID", "7"), std::pair("GLIM_NNODES", "1"),
                                    std::pair("PYTHONUNBUFFERED", "0"), std::pair("GLIM_WORKDIR", "/no")}) {
    v1::EnvVar& variable = *launch.add_env();
    variable.set_name(name);
    variable.set_value(value);
  }
  const TaskVariables variables = VariablesOf(Plain(), {{"HOME", "/home/a"}}, launch);
  EXPECT_EQ(variables.at("GLIM_JOB_ID"), "7");
  EXPECT_EQ(variables.at("PYTHONUNBUFFERED"), "0") << "the job's own wish";
  EXPECT_EQ(variables.at("GLIM_WORKDIR"), "/home/a");
  EXPECT_FALSE(variables.contains("GLIM_CHECKPOINT_LOCAL")) << "one node sees all that there is";
}

}  // namespace
}  // namespace glim::nodeagent
