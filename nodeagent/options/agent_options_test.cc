#include "nodeagent/options/agent_options.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "nodeagent/options/sdk_folder.h"
#include "nodeagent/options/testing/sdk.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::nodeagent {
namespace {

TEST(SdkFolder, BesideTheProgramsOrNamedOrNone) {
  TempFolder folder;
  const std::string programs = folder.path() + "/bin", sdk = folder.path() + "/share/glim/sdk";
  std::filesystem::create_directories(programs);
  const auto complete = [&](const std::string& said) {
    std::string sdk_folder = said;
    const Status status = CompleteSdk(programs, &sdk_folder);
    return status.ok() ? "ok " + sdk_folder : status.field() + " " + status.message();
  };
  EXPECT_EQ(complete(""), "ok ") << "there is none: told in the log alone";
  EXPECT_EQ(complete("none"), "ok ");
  const std::string real = MakeSdk(sdk);
  EXPECT_EQ(complete(""), "ok " + real);
  EXPECT_EQ(complete("none"), "ok ");
  std::filesystem::create_directory_symlink(sdk, folder.path() + "/current");
  EXPECT_EQ(complete(folder.path() + "/current"), "ok " + real) << "links followed";
  EXPECT_EQ(complete(programs), "--sdk --sdk " + programs + " is no SDK: there is no " +
                                    std::filesystem::canonical(programs).string() + "/python/glim/__init__.py");
  EXPECT_TRUE(complete("/nonexistent").starts_with("--sdk --sdk /nonexistent is no SDK"));
}

TEST(AgentOptions, WhatDoesNotFitNamesTheOption) {
  TempFolder folder;
  AgentOptions good;
  good.state_dir = folder.path() + "/state";
  good.shim = "/bin/true";
  good.node_name = "node-1";
  AgentOptions complete = good;
  ASSERT_TRUE(CompleteOptions(&complete).ok()) << CompleteOptions(&complete).message();
  AgentOptions elsewhere = good;
  elsewhere.state_dir = folder.path() + "/other";
  ASSERT_TRUE(CompleteOptions(&elsewhere).ok());
  EXPECT_NE(complete.machine_id, elsewhere.machine_id) << "two agents of one machine";
  const std::pair<std::string, std::function<void(AgentOptions&)>> cases[] = {
      {"--state-dir", [](auto& o) { o.state_dir = ""; }},
      {"--state-dir", [&](auto& o) { o.state_dir = folder.path() + "/" + std::string(90, 'x'); }},
      {"--shim", [](auto& o) { o.shim = "/nonexistent"; }},
      {"--sdk", [](auto& o) { o.sdk = "/nonexistent"; }},
      {"--node-name", [](auto& o) { o.node_name = "Node 1"; }},
      {"--cluster-id", [](auto& o) { o.cluster_id = "a b"; }},
      {"--zone", [](auto& o) { o.zone = "a/b"; }},
      {"--runtime", [](auto& o) { o.runtime = "docker"; }},
      {"--task-user", [](auto& o) { o.task_user_text = "kim"; }},
      {"--task-user", [](auto& o) { o.task_user_text = "1000:1000x"; }},
      {"--task-user", [](auto& o) { o.runtime = "process", o.task_user_text = "1000:1000"; }},
      {"--nvlink", [](auto& o) { o.nvlink = "some"; }},
      {"--nic", [](auto& o) { o.nic = "pigeon"; }},
      {"--scheduler", [](auto& o) { o.scheduler = "host"; }},
      {"--machine-id", [](auto& o) { o.machine_id = "a b"; }},
      {"--saves-listen", [](auto& o) { o.saves_listen = "host"; }},
      {"--saves-listen", [](auto& o) { o.saves_listen = "0.0.0.0:7610"; }},
      {"--log-file-bytes", [](auto& o) { o.log_limits.file_bytes_max = 10; }},
  };
  for (const auto& [field, change] : cases) {
    AgentOptions options = good;
    change(options);
    const Status status = CompleteOptions(&options);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << field;
    EXPECT_EQ(status.field(), field) << status.message();
  }
}

}  // namespace
}  // namespace glim::nodeagent
