#include "nodeagent/sync/wire.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "nodeagent/launch/launch_plan.h"
#include "nodeagent/launch/sdk_folder.h"
#include "nodeagent/sync/reconnect.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::nodeagent {
namespace {

TEST(Wire, SignalsByNameAndNumber) {
  EXPECT_EQ(SignalNumber("USR1"), SIGUSR1);
  EXPECT_EQ(SignalNumber("SIGTERM"), SIGTERM);
  EXPECT_EQ(SignalNumber("2"), SIGINT);
  for (const char* name : {"", "SIG", "usr1", "0", "32", "-9", "KILLER"}) EXPECT_FALSE(SignalNumber(name)) << name;
}

TEST(Wire, ADesiredStateIsReadWithItsDeadlinesOnOurClock) {
  v1::DesiredState set;
  set.set_epoch(3);
  set.set_revision(9);
  v1::DesiredTask& task = *set.add_tasks();
  task.mutable_attempt()->set_job_id(7);
  task.mutable_attempt()->set_number(2);
  task.set_index(1);
  task.mutable_interrupt()->set_agreement(4);
  task.mutable_interrupt()->set_grace_left_ms(5000);
  task.mutable_interrupt()->set_stop_step(-1);
  task.mutable_stop()->set_term_ms(30'000);
  const Desired desired = FromProto(set, TimePoint{1000}, true);
  EXPECT_EQ(desired.revision, (Revision{3, 9}));
  ASSERT_EQ(desired.tasks.size(), 1u);
  EXPECT_EQ(desired.tasks[0].key, (TaskKey{7, 2, 1}));
  EXPECT_FALSE(desired.tasks[0].launch);
  EXPECT_EQ(desired.tasks[0].interrupt->deadline.ms, 6000);
  EXPECT_EQ(desired.tasks[0].stop->term_ms, 30'000);
  task.mutable_interrupt()->set_grace_left_ms(std::numeric_limits<std::int64_t>::max());
  task.mutable_stop()->set_term_ms(std::numeric_limits<std::int64_t>::max());
  const Desired far = FromProto(set, TimePoint{1000}, true);
  EXPECT_GT(far.tasks[0].interrupt->deadline.ms, 0) << "no overflow";
  EXPECT_GT((TimePoint{1000} + Milliseconds(far.tasks[0].stop->term_ms)).ms, 0);
}

TEST(Wire, AMessageIsCutAtACharacter) {
  Inspection inspection;
  for (int i = 0; i < 4000; ++i) inspection.message += "\xc3\xa4";
  v1::ObservedTask task;
  ToProto({7, 1, 0}, inspection, nullptr, {}, &task);
  EXPECT_LE(task.message().size(), 4000u);
  EXPECT_EQ(task.message().size() % 2, 0u);
  std::string bytes;
  EXPECT_TRUE(task.SerializeToString(&bytes));
}

TEST(Wire, GraceIsToldForTheAgreementThatWasAcknowledged) {
  std::vector<RankState> ranks(1);
  ranks[0].acked_agreement = 2;
  ranks[0].extend_agreement = 1;
  ranks[0].extend_ms = 9000;
  v1::ObservedTask task;
  ToProto(
      {7, 1, 0}, {}, &ranks, [](std::uint32_t) { return false; }, &task);
  EXPECT_EQ(task.ranks(0).extend_ms(), 0);
  ranks[0].extend_agreement = 2;
  task.Clear();
  ToProto(
      {7, 1, 0}, {}, &ranks, [](std::uint32_t) { return true; }, &task);
  EXPECT_EQ(task.ranks(0).extend_ms(), 9000);
  EXPECT_TRUE(task.ranks(0).connected());
}

TEST(Wire, AFailedRestoreIsTold) {
  std::vector<RankState> ranks(1);
  ranks[0].restore_failed = "/ckpt/step-5: bad checksum";
  v1::ObservedTask task;
  ToProto(
      {7, 1, 0}, {}, &ranks, [](std::uint32_t) { return false; }, &task);
  EXPECT_EQ(task.ranks(0).restore_failed(), "/ckpt/step-5: bad checksum");
}

TEST(Wire, ALogLineStaysOneLine) { EXPECT_EQ(Quoted("a \"b\"\nc\\"), R"("a \"b\" c\\")"); }

TEST(Reconnect, GrowsToFiveSecondsWithJitter) {
  Reconnect reconnect(1);
  for (const std::int64_t longest : {100, 200, 400, 800, 1600, 3200, 5000, 5000}) {
    const auto pause = reconnect.Next(false).count();
    EXPECT_LE(pause, longest);
    EXPECT_GE(pause, longest / 2);
  }
  reconnect.Succeeded();
  EXPECT_LE(reconnect.Next(false).count(), 100);
  EXPECT_GE(reconnect.Next(true).count(), 2500);
}

TEST(LaunchPlan, TheJobsOwnVariablesCannotHideTheAgents) {
  AgentOptions options;
  options.state_dir = "/state";
  options.shim = "/opt/glim/bin/glim-shim";
  v1::TaskLaunch launch;
  launch.set_ranks(1);
  launch.set_run("true");
  for (const auto& [name, value] :
       {std::pair("GLIM_SOCKET", "/elsewhere"), std::pair("PATH", "/own"), std::pair("GLIM_CHECKPOINT_DIR", "/no")}) {
    launch.add_env()->set_name(name);
    launch.mutable_env(launch.env_size() - 1)->set_value(value);
  }
  const std::map<std::string, std::string> base = {{"PATH", "/bin"}, {"HOME", "/home/a"}};
  const auto spec = PlanLaunch(options, base, {7, 2, 0}, "/state/tasks/7.2.0", launch);
  ASSERT_TRUE(spec.ok());
  const std::map<std::string, std::string> env(spec->env.begin(), spec->env.end());
  EXPECT_EQ(env.at("GLIM_SOCKET"), "/state/tasks/7.2.0/run/socket");
  EXPECT_EQ(env.at("GLIM_CHECKPOINT_DIR"), "/state/checkpoints/7");
  EXPECT_EQ(env.at("PATH"), "/own:/opt/glim/bin") << "so that glim-task is found";
  EXPECT_EQ(spec->workdir, "/home/a") << "none was given";
  EXPECT_EQ(spec->log_folder, "/state/logs/7-2");
  launch.mutable_env(0)->set_name("A=B");
  EXPECT_EQ(PlanLaunch(options, {{"HOME", "/"}}, {7, 2, 0}, "/t", launch).status().field(), "env");
}

// As the build stages it.
std::string MakeSdk(const std::string& folder) {
  std::filesystem::create_directories(folder + "/python/glim");
  std::filesystem::create_directories(folder + "/bin");
  std::ofstream(folder + "/python/glim/__init__.py") << "";
  std::ofstream(folder + "/bin/glim-task") << "";
  return std::filesystem::canonical(folder).string();
}

TEST(LaunchPlan, TheSdkComesAfterWhatIsTheJobsOwn) {
  TempFolder folder;
  AgentOptions options;
  options.state_dir = "/state";
  options.shim = "/opt/glim/bin/glim-shim";
  options.sdk = MakeSdk(folder.path() + "/sdk");
  options.runtime = "process";
  v1::TaskLaunch launch;
  launch.set_ranks(1);
  launch.set_run("true");
  const std::map<std::string, std::string> base = {{"PATH", "/bin"}, {"HOME", "/home/a"}};
  const auto plan = [&] {
    const auto spec = PlanLaunch(options, base, {7, 2, 0}, "/state/tasks/7.2.0", launch);
    EXPECT_TRUE(spec.ok()) << spec.status().message();
    return std::map<std::string, std::string>(spec->env.begin(), spec->env.end());
  };
  EXPECT_EQ(plan().at("PYTHONPATH"), options.sdk + "/python");
  EXPECT_EQ(plan().at("PATH"), "/bin:" + options.sdk + "/bin");
  EXPECT_EQ(plan().at("GLIM_SDK"), options.sdk);
  launch.add_env()->set_name("PYTHONPATH");
  launch.mutable_env(0)->set_value("lib:/mine");
  EXPECT_EQ(plan().at("PYTHONPATH"), "lib:/mine:" + options.sdk + "/python");
  options.runtime = "runc";
  EXPECT_EQ(plan().at("PYTHONPATH"), "lib:/mine:/run/glim/sdk/python") << "one place in every container";
  options.sdk.clear();
  EXPECT_EQ(plan().at("PYTHONPATH"), "lib:/mine");
  EXPECT_FALSE(plan().contains("GLIM_SDK"));
  EXPECT_EQ(plan().at("PATH"), "/bin:/opt/glim/bin") << "glim-task is there without an SDK, too";
}

TEST(LaunchPlan, AnSdkThatIsGoneIsTheNodesFault) {
  TempFolder folder;
  AgentOptions options;
  options.state_dir = "/state";
  options.sdk = MakeSdk(folder.path() + "/sdk");
  std::filesystem::remove_all(options.sdk + "/bin");
  v1::TaskLaunch launch;
  launch.set_ranks(1);
  launch.set_run("true");
  const Status status = PlanLaunch(options, {{"HOME", "/"}}, {7, 2, 0}, "/t", launch).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("this node's SDK is gone: there is no " + options.sdk + "/bin/glim-task"),
            std::string::npos)
      << status.message();
}

TEST(SdkFolder, BesideTheProgramsOrNamedOrNone) {
  TempFolder folder;
  const std::string programs = folder.path() + "/bin", sdk = folder.path() + "/share/glim/sdk";
  std::filesystem::create_directories(programs);
  const auto complete = [&](const std::string& said) {
    AgentOptions options;
    options.sdk = said;
    const Status status = CompleteSdk(programs, &options);
    return status.ok() ? "ok " + options.sdk : status.field() + " " + status.message();
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

TEST(LaunchPlan, TheAgentKnowsWhereASaveInItsOwnFolderLies) {
  AgentOptions options;
  options.state_dir = "/state";
  v1::TaskLaunch launch;
  launch.set_ranks(1);
  launch.set_run("true");
  const auto plan = [&] { return PlanLaunch(options, {{"HOME", "/"}}, {7, 2, 0}, "/t", launch); };
  const auto env = [&] {
    const auto spec = plan();
    EXPECT_TRUE(spec.ok()) << spec.status().message();
    return std::map<std::string, std::string>(spec->env.begin(), spec->env.end());
  };
  EXPECT_EQ(env().at("GLIM_CHECKPOINT_LOCAL"), "1");
  EXPECT_FALSE(env().contains("GLIM_RESUME_PATH"));
  launch.mutable_base()->set_local("attempt-1/step-7");
  EXPECT_EQ(env().at("GLIM_RESUME_PATH"), "/state/checkpoints/7/attempt-1/step-7");
  launch.mutable_base()->set_local("../8/s");
  EXPECT_EQ(plan().status().field(), "base.local");
  launch.mutable_base()->set_local("s");
  launch.set_checkpoint_dir("/shared");
  EXPECT_EQ(plan().status().field(), "base") << "such a job has no save in a node's own folder";
  launch.clear_base();
  EXPECT_FALSE(env().contains("GLIM_CHECKPOINT_LOCAL"));
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
