#include "nodeagent/options/agent_options.h"

#include <gtest/gtest.h>

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "nodeagent/options/container_options.h"
#include "nodeagent/options/identity_options.h"
#include "nodeagent/options/sdk_folder.h"
#include "nodeagent/options/task_user_option.h"
#include "nodeagent/options/testing/sdk.h"
#include "sdk/base/testing/folders.h"
#include "sdk/io/testing/temp_folder.h"
#include "sdk/io/write_file.h"

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

// Whoever answers at the scheduler's address gives it orders, and containers are made by root.
TEST(AgentOptions, WithoutIdentityThereAreNoContainersForASchedulerElsewhere) {
  AgentOptions options;
  options.insecure_without_identity = true;
  options.scheduler = "head:7603";
  for (const char* runtime : {"runc", "crun"}) {
    options.runtime = runtime;
    EXPECT_EQ(CheckIdentityOptions(options).field(), "--insecure-without-identity") << runtime;
  }
  options.scheduler = "127.0.0.1:7603";
  EXPECT_TRUE(CheckIdentityOptions(options).ok());
  options.scheduler = "head:7603";
  options.runtime = "process";
  EXPECT_TRUE(CheckIdentityOptions(options).ok());
  options.runtime = "runc";
  options.insecure_without_identity = false;
  EXPECT_TRUE(CheckIdentityOptions(options).ok());
}

TEST(ContainerOptions, TheNodeKeepsAGiBOrATwentieth) {
  constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  EXPECT_EQ(ReserveByDefault(16 * kGiB), kGiB);
  EXPECT_EQ(ReserveByDefault(1000 * kGiB), 50 * kGiB);
  EXPECT_EQ(ReserveByDefault(kGiB), kGiB / 2) << "a small machine runs tasks, too";
  std::string user_namespace = "auto";
  std::int64_t reserve = -1;
  ASSERT_TRUE(CompleteContainers({true, 0, &user_namespace, &reserve}).ok());
  EXPECT_GT(reserve, 0);
  EXPECT_NE(user_namespace, "auto");
  reserve = std::int64_t{1} << 60;
  EXPECT_EQ(CompleteContainers({true, 0, &user_namespace, &reserve}).field(), "--reserve-memory");
  user_namespace = "perhaps";
  EXPECT_EQ(CompleteContainers({true, 0, &user_namespace, &reserve}).field(), "--user-namespace");
  DeviceChoice devices;
  devices.infiniband = "perhaps";
  EXPECT_EQ(CompleteContainers({true, 0, &user_namespace, &reserve, devices}).field(), "--infiniband");
}

TEST(ContainerOptions, PlainProcessesAreHeldToNothing) {
  std::string user_namespace = "auto";
  std::int64_t reserve = -1;
  EXPECT_TRUE(CompleteContainers({false, 0, &user_namespace, &reserve}).ok());
  EXPECT_EQ(CompleteContainers({false, 1, &user_namespace, &reserve}).field(), "--tmp-bytes");
  reserve = 1;
  EXPECT_EQ(CompleteContainers({false, 0, &user_namespace, &reserve}).field(), "--reserve-memory");
  reserve = -1;
  DeviceChoice devices;
  devices.devices = {"nvidia"};
  EXPECT_EQ(CompleteContainers({false, 0, &user_namespace, &reserve, devices}).field(), "--devices");
}

// A runc that is missing or broken must not make every job root.
TEST(AgentOptions, RootsJobsAreInContainersUnlessTheOperatorSaysOtherwise) {
  const auto chosen = [](const std::string& asked, bool root, const std::string& why) {
    const Result<std::string> runtime = ChooseRuntime(asked, root, why);
    return runtime.ok() ? *runtime : runtime.status().field() + "|" + runtime.status().message();
  };
  EXPECT_EQ(chosen("auto", true, ""), "runc");
  EXPECT_EQ(chosen("auto", true, "there is no program runc"), "--runtime|--runtime auto: there is no program runc");
  EXPECT_EQ(chosen("process", true, "there is no program runc"), "process");
  EXPECT_EQ(chosen("runc", true, "there is no program runc"), "--runtime|--runtime runc: there is no program runc");
  EXPECT_EQ(chosen("crun", true, ""), "crun");
  EXPECT_EQ(chosen("crun", true, "there is no program crun"), "--runtime|--runtime crun: there is no program crun");
  EXPECT_EQ(chosen("auto", false, "only root may"), "process");
  EXPECT_EQ(chosen("runc", false, "only root may"), "--runtime|--runtime runc: only root may");
  const std::string crun = ChooseRuntime("crun", true, "there is no program crun").status().fix();
  EXPECT_TRUE(crun.starts_with("install crun, or name it with --runc, or use --runtime runc;")) << crun;
  const std::string fix = ChooseRuntime("auto", true, "there is none").status().fix();
  EXPECT_NE(fix.find("--runtime process"), std::string::npos) << fix;
  EXPECT_NE(fix.find("each job is then root"), std::string::npos) << fix;
}

TEST(AgentOptions, ARuncThatDoesNotWorkIsNone) {
  TempFolder folder;
  const auto refusal = [&](const std::string& runc) {
    AgentOptions options;
    options.state_dir = folder.path() + "/state";
    options.shim = BuiltFile("bin/glim-shim");
    options.node_name = "node-1";
    options.runtime = "runc";
    options.runc = runc;
    const Status status = CompleteOptions(&options);
    EXPECT_EQ(status.field(), ::geteuid() == 0 ? "--runc" : "--runtime") << "who named the program mends that";
    return status.message();
  };
  const bool root = ::geteuid() == 0;
  EXPECT_EQ(refusal("/nonexistent/runc"), root ? "--runtime runc: there is no program /nonexistent/runc"
                                               : "--runtime runc: only root may make containers");
  EXPECT_EQ(refusal("/bin/false"), root ? "--runtime runc: /bin/false --version ends with status 1"
                                        : "--runtime runc: only root may make containers");
}

TEST(AgentOptions, ARuncThatDoesNotTellItsVersionIsNotWaitedFor) {
  if (::geteuid() != 0) return;  // only root may make containers, and only root's runc is asked
  TempFolder folder;
  AgentOptions options;
  options.state_dir = folder.path() + "/state";
  options.shim = BuiltFile("bin/glim-shim");
  options.node_name = "node-1";
  options.runtime = "runc";
  options.runc = folder.path() + "/runc";
  ASSERT_TRUE(WriteFileAtomically(options.runc, "#!/bin/sh\nexec sleep 1000\n", Durability::kProcess).ok());
  ASSERT_EQ(::chmod(options.runc.c_str(), 0700), 0);
  const Status status = CompleteOptions(&options);
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << "another start may do better";
  EXPECT_EQ(status.message(), "--runtime runc: " + options.runc + " --version did not end within 5 s");
}

TEST(AgentOptions, WhatDoesNotFitNamesTheOption) {
  TempFolder folder;
  AgentOptions good;
  good.state_dir = folder.path() + "/state";
  good.shim = BuiltFile("bin/glim-shim");
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
      {"--task-user", [](auto& o) { o.runtime = "process", o.task_user_text = "1000:1000"; }},
      {"--tmp-bytes", [](auto& o) { o.runtime = "process", o.tmp_bytes_max = 1 << 20; }},
      {"--address", [](auto& o) { o.address = "10.0.0.300"; }},
      {"--scheduler", [](auto& o) { o.scheduler = "head:port"; }},
      {"--scheduler", [](auto& o) { o.scheduler = "::1:7603"; }},
      {"--scheduler", [](auto& o) { o.scheduler = "https://head:7603"; }},
      {"--saves-listen", [](auto& o) { o.saves_listen = "::1:7610"; }},
      {"--metrics", [](auto& o) { o.metrics = "::1:7606"; }},
      {"--nvlink", [](auto& o) { o.nvlink = "some"; }},
      {"--nic", [](auto& o) { o.nic = "pigeon"; }},
      {"--scheduler", [](auto& o) { o.scheduler = "host"; }},
      {"--machine-id", [](auto& o) { o.machine_id = "a b"; }},
      {"--saves-listen", [](auto& o) { o.saves_listen = "host"; }},
      {"--saves-listen", [](auto& o) { o.saves_listen = "0.0.0.0:7610"; }},
      {"--metrics", [](auto& o) { o.metrics = "host"; }},
      {"--metrics", [](auto& o) { o.metrics = "0.0.0.0:7606"; }},
      {"--metrics", [](auto& o) { o.metrics = "unix:/run/metrics"; }},
      {"--prolog", [](auto& o) { o.prolog = "true"; }},
      {"--prolog", [](auto& o) { o.prolog = "/nonexistent"; }},
      {"--epilog", [](auto& o) { o.epilog = "/etc/passwd"; }},
      {"--hook-seconds", [](auto& o) { o.hook_seconds = 0; }},
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

class TaskUserOptionTest : public ::testing::Test {
 protected:
  Status Complete(const std::string& text) {
    said_.text = text;
    user_.reset();
    return CompleteUsers(said_, &user_);
  }

  UserOptions said_{true, false, ""};
  std::optional<TaskUser> user_;
};

TEST_F(TaskUserOptionTest, NobodyUnlessTheOperatorNamesOne) {
  ASSERT_TRUE(Complete("").ok());
  EXPECT_FALSE(user_);
}

TEST_F(TaskUserOptionTest, IsNumbersOrAnAccountWithItsGroups) {
  ASSERT_TRUE(Complete("1000:1001").ok());
  EXPECT_EQ(user_, (TaskUser{1000, 1001, {}}));
  ASSERT_TRUE(Complete("1000:1001:2000:2001").ok());
  EXPECT_EQ(user_, (TaskUser{1000, 1001, {2000, 2001}}));
  ASSERT_TRUE(Complete("nobody").ok());
  const passwd* nobody = ::getpwnam("nobody");
  EXPECT_EQ(user_, (TaskUser{nobody->pw_uid, nobody->pw_gid, {}}));
}

TEST_F(TaskUserOptionTest, IsNeverRootNorHalfAWord) {
  const std::pair<const char*, const char*> cases[] = {
      {"0:0", "has uid 0"},
      {"0:1000", "has uid 0"},
      {"1000:0", "has gid 0"},
      {"1000:1000:0", "is in the group with gid 0"},
      {"root", "has uid 0"},
      {"no-such-account", "is no account of this node"},
      {"1000:1000x", "is no account of this node"},
      {"1000", "is not UID:GID[:GROUP...]"},
      {"1000:", "is not UID:GID[:GROUP...]"},
      {":1000", "is not UID:GID[:GROUP...]"},
      {"1000::1000", "is not UID:GID[:GROUP...]"},
      {"1000:4294967296", "is not UID:GID[:GROUP...]"},
      {"1000:4294967295", "has an id that is none, 4294967295"},
  };
  for (const auto& [text, says] : cases) {
    const Status status = Complete(text);
    EXPECT_EQ(status.field(), "--task-user") << text;
    EXPECT_EQ(status.message(), std::string("--task-user \"") + text + "\" " + says);
    EXPECT_FALSE(user_) << text;
  }
}

TEST_F(TaskUserOptionTest, AnyUserIsForPlainProcessesAlone) {
  said_.any_user = true;
  EXPECT_EQ(Complete("").field(), "--any-user");
  said_.in_containers = false;
  EXPECT_TRUE(Complete("").ok());
  EXPECT_EQ(Complete("1000:1000").field(), "--task-user") << "plain processes are the agent's own user";
}

}  // namespace
}  // namespace glim::nodeagent
