#include "sdk/task_environment/task_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sdk/task_environment/testing/forms.h"
#include "sdk/task_environment/testing/samples.h"

namespace glim {
namespace {

const std::string kServiceKey = std::string(64, 'a') + "@";

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Misfits;
using testing::ReadSample;

const std::set<VariableSetter> kPlatform = {VariableSetter::kScheduler, VariableSetter::kAgent,
                                            VariableSetter::kEither};

// Rank 3, on the second of two nodes of zone A, with a third in zone B; saves in the nodes' own folders.
TaskVariables PerGpu() {
  TaskVariables variables;
  const GangEnvironment gang{.hosts = "10.0.0.1,10.0.0.2,10.1.0.1",
                             .zones = "A,A,B",
                             .gateways = "1,2",
                             .replica_sources = kServiceKey + "10.0.0.7:7010," + kServiceKey + "10.0.0.8:7010",
                             .master_addr = "10.0.0.1"};
  AddVariables(TaskEnvironment{.job_id = 12,
                               .job_name = "pretrain",
                               .attempt = 3,
                               .node_rank = 1,
                               .nodes = 3,
                               .gpus_per_node = 2,
                               .per_gpu = true,
                               .zone = "A",
                               .leaf = "leaf-4",
                               .resume_step = 500,
                               .resume_path = std::nullopt,
                               .checkpoint_every_ms = 300'000,
                               .checkpoint_keep = 2,
                               .replica_peer = kServiceKey + "10.0.0.9:7010",
                               .master_port = 20000},
               gang, &variables);
  AddVariables(NodeEnvironment{.socket = "/srv/node/tasks/12.3.1/run/socket",
                               .hosts_file = "/srv/node/tasks/12.3.1/run/hosts",
                               .zones_file = "/srv/node/tasks/12.3.1/run/zones",
                               .workdir = "/home/kim/train",
                               .checkpoint_dir = "/srv/node/checkpoints/12",
                               .checkpoint_local = true,
                               .resume_path = "/srv/node/checkpoints/12/attempt-2/step-500",
                               .gpus_simulated = true,
                               .sdk = "/run/glim/sdk",
                               .secrets = "/run/glim/private/secrets",
                               .api_token_file = "/run/glim/private/api-token",
                               .api_ca_file = "/run/glim/private/ca.pem",
                               .attempt_secret_file = "/run/glim/private/attempt-secret",
                               .local_ranks = 2,
                               .hfreduce_device = "mlx5_0:1",
                               .hfreduce_service_level = 3,
                               .replica_token_file = "/run/glim/private/replica-token",
                               .replica_tls = "rc,self",
                               .replica_device = "mlx5_1:1",
                               .replica_service_level = 5},
               &variables);
  AddVariables(RankEnvironment{.rank = 3, .local_rank = 1}, &variables);
  variables[NameOf(TaskVariable::kServer)] = "head:7601";  // added with the token, when the launch is sent
  return variables;
}

// A job of one node without GPUs, with a shared checkpoint folder and nothing in it.
TaskVariables PerNode() {
  TaskVariables variables;
  TaskEnvironment task;
  task.job_id = 7;
  task.job_name = "one";
  task.attempt = 1;
  task.leaf = "leaf-1";
  task.resume_path = "";
  task.checkpoint_keep = 3;
  task.master_port = 20002;
  GangEnvironment gang;
  gang.hosts = gang.master_addr = "10.0.0.5";
  AddVariables(task, gang, &variables);
  NodeEnvironment node;
  node.socket = "/srv/node/tasks/7.1.0/run/socket";
  node.hosts_file = "/srv/node/tasks/7.1.0/run/hosts";
  node.zones_file = "/srv/node/tasks/7.1.0/run/zones";
  node.workdir = "/home/kim";
  node.checkpoint_dir = "/srv/shared/jobs/7";
  AddVariables(node, &variables);
  AddVariables(RankEnvironment{}, &variables);
  return variables;
}

TEST(TaskEnvironment, IsWhatTheSamplesSay) {
  EXPECT_EQ(PerGpu(), ReadSample("per_gpu.env"));
  EXPECT_EQ(PerNode(), ReadSample("per_node.env"));
}

TEST(TaskEnvironment, HasWhatTheTableSaysAndNothingElse) {
  EXPECT_THAT(Misfits(PerGpu(), kPlatform, true, true), IsEmpty());
  EXPECT_THAT(Misfits(PerNode(), kPlatform, false, false), IsEmpty());
}

// The kernel takes 128 KiB for one variable: longer lists are in files alone.
TEST(TaskEnvironment, AListThatIsTooLongIsNotSet) {
  TaskVariables variables;
  GangEnvironment gang;
  gang.hosts = std::string(kListBytesMax, 'h');
  gang.zones = std::string(kListBytesMax + 1, 'z');
  AddVariables(TaskEnvironment{}, gang, &variables);
  EXPECT_TRUE(variables.contains("GLIM_HOSTS"));
  EXPECT_FALSE(variables.contains("GLIM_ZONES"));
}

TEST(TaskEnvironment, AMisfitIsFound) {
  TaskVariables wrong = PerGpu();
  wrong.erase("GLIM_JOB_ID");
  wrong["RANK"] = "-1";
  wrong["GLIM_REPLICA_SOURCES"] = kServiceKey + "10.0.0.7:7010,10.0.0.8:7010";
  wrong["PET_NNODES"] = "1";
  wrong["GLIM_NEW"] = "1";
  EXPECT_THAT(Misfits(wrong, kPlatform, true, true),
              ElementsAre("GLIM_JOB_ID is not set", "RANK=-1 has another form", "PET_NNODES is of the other launcher",
                          HasSubstr("GLIM_REPLICA_SOURCES="), HasSubstr("GLIM_NEW is not in the table")));
}

TEST(TaskVariables, EachStandsOnceInTheTable) {
  std::set<std::string> names;
  for (const TaskVariableInfo& info : kTaskVariables) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.meaning.empty()) << info.name;
  }
  EXPECT_STREQ(NameOf(TaskVariable::kJobId), "GLIM_JOB_ID");
  EXPECT_STREQ(NameOf(TaskVariable::kNcclInterface), "NCCL_SOCKET_IFNAME") << "the last one";
}

TEST(TaskVariables, AJobsOwnDoNotReachThePlatforms) {
  for (const char* name : {"GLIM_JOB_ID", "GLIM_WHATEVER", "RANK", "WORLD_SIZE", "MASTER_ADDR", "PET_NNODES"}) {
    EXPECT_TRUE(IsReservedVariable(name)) << name;
  }
  for (const char* name : {"PATH", "PYTHONPATH", "NCCL_SOCKET_IFNAME", "FOO", "GLIMMER", ""}) {
    EXPECT_FALSE(IsReservedVariable(name)) << name;
  }
}

TEST(VariableReader, WhatIsWrongNamesTheVariable) {
  const TaskVariables variables = {{"RANK", "6"}, {"GLIM_JOB_ID", ""}, {"GLIM_ZONES", ""}};
  const VariableLookup lookup = [&](const char* name) {
    const auto it = variables.find(name);
    return it == variables.end() ? std::nullopt : std::optional(it->second);
  };
  const VariableReader reader(lookup);
  EXPECT_EQ(reader.Number(TaskVariable::kRank, 0, 6).value(), 6u);
  const Status out_of_range = reader.Number(TaskVariable::kRank, 0, 5).status();
  EXPECT_EQ(out_of_range.field(), "RANK");
  EXPECT_THAT(out_of_range.message(), HasSubstr("'6' is not a number from 0 to 5"));
  EXPECT_THAT(reader.Text(TaskVariable::kJobId).status().message(), HasSubstr("GLIM_JOB_ID: it is not set"));
  EXPECT_TRUE(reader.Has(TaskVariable::kZones));
  EXPECT_FALSE(reader.Has(TaskVariable::kHosts));
  EXPECT_THAT(SplitVariable(reader.OrEmpty(TaskVariable::kZones)), ElementsAre(""));
  EXPECT_THAT(SplitVariable("a,,b"), ElementsAre("a", "", "b"));
}

}  // namespace
}  // namespace glim
