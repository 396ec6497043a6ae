#include "nodeagent/task/task_files.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "nodeagent/os/processes.h"
#include "sdk/base/testing/waits.h"

extern char** environ;

namespace glim::nodeagent {
namespace {

LaunchSpec SomeSpec() {
  LaunchSpec spec;
  spec.task = "7.1.0";
  spec.job_name = "name \"quoted\"";
  spec.workdir = "/work dir";
  spec.run = "echo 'a\nb' \\ \t \xc3\xa4";
  spec.log_folder = "/logs/7-1";
  spec.log_limits = {4096, 3};
  spec.gpus = 8;
  spec.env = {{"A", ""}, {"B", "x=y\nz"}};
  spec.ranks = {{6, {{"RANK", "6"}}, {0, 4}, {1}}, {7, {}}};
  spec.checkpoint_folder = "/ckpt/7";
  spec.code_folder = "/state/tasks/7.1.0/code";
  spec.mounts = {{"/data", "/in", true}, {"/out", "/out", false}};
  spec.limits = {1 << 30, 1500, 64, 1 << 20};
  spec.container =
      ContainerLaunch{"/usr/sbin/runc", "/state/runc", "7.1.0", "/state/tasks/7.1.0/bundle", "/glim/7.1.0"};
  spec.user = TaskUser{1001, 100, {2000, 2001}};
  return spec;
}

TEST(TaskFiles, ALaunchComesBackAsItWas) {
  const LaunchSpec spec = SomeSpec();
  const auto back = ParseLaunchSpec(ToJson(spec));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->task, spec.task);
  EXPECT_EQ(back->job_name, spec.job_name);
  EXPECT_EQ(back->workdir, spec.workdir);
  EXPECT_EQ(back->run, spec.run);
  EXPECT_EQ(back->shell, spec.shell);
  EXPECT_EQ(back->log_folder, spec.log_folder);
  EXPECT_EQ(back->log_limits.file_bytes_max, 4096);
  EXPECT_EQ(back->log_limits.files_max, 3u);
  EXPECT_EQ(back->gpus, 8u);
  EXPECT_EQ(back->env, spec.env);
  ASSERT_EQ(back->ranks.size(), 2u);
  EXPECT_EQ(back->ranks[0].rank, 6u);
  EXPECT_EQ(back->ranks[0].env, spec.ranks[0].env);
  EXPECT_EQ(back->ranks[0].cpus, spec.ranks[0].cpus);
  EXPECT_EQ(back->ranks[0].memory, spec.ranks[0].memory);
  EXPECT_TRUE(back->ranks[1].cpus.empty());
  EXPECT_EQ(back->checkpoint_folder, "/ckpt/7");
  EXPECT_EQ(back->code_folder, "/state/tasks/7.1.0/code");
  ASSERT_EQ(back->mounts.size(), 2u);
  EXPECT_EQ(back->mounts[0].source, "/data");
  EXPECT_EQ(back->mounts[0].target, "/in");
  EXPECT_TRUE(back->mounts[0].read_only);
  EXPECT_FALSE(back->mounts[1].read_only);
  EXPECT_EQ(back->limits.memory_bytes, 1 << 30);
  EXPECT_EQ(back->limits.cpu_millis, 1500);
  EXPECT_EQ(back->limits.pids, 64);
  EXPECT_EQ(back->limits.shm_bytes, 1 << 20);
  ASSERT_TRUE(back->container);
  EXPECT_EQ(back->container->runc, "/usr/sbin/runc");
  EXPECT_EQ(back->container->root, "/state/runc");
  EXPECT_EQ(back->container->id, "7.1.0");
  EXPECT_EQ(back->container->bundle, "/state/tasks/7.1.0/bundle");
  EXPECT_EQ(back->container->cgroup, "/glim/7.1.0");
  EXPECT_EQ(back->user, (TaskUser{1001, 100, {2000, 2001}}));
}

// A container's, of a task that an earlier version started: who its ranks are says the folder that was given to them.
TEST(TaskFiles, ALaunchOfAnEarlierVersionHasNoUser) {
  nlohmann::json value = nlohmann::json::parse(ToJson(SomeSpec()));
  for (const char* later : {"user", "group", "secrets_folder", "secret_env", "code_folder", "checkpoint_root"}) {
    value.erase(later);
  }
  value["limits"].erase("memory_by_default");
  const auto back = ParseLaunchSpec(value.dump());
  ASSERT_TRUE(back.ok()) << back.status().message();
  ASSERT_TRUE(back->container);
  EXPECT_FALSE(back->user);
  EXPECT_EQ(UidOf(*back, TaskPaths("/nonexistent")), ::geteuid());
  const auto again = ParseLaunchSpec(ToJson(*back));  // as the shim hands it on
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_FALSE(again->user);
}

TEST(TaskFiles, WithoutAContainerThereIsNone) {
  LaunchSpec spec = SomeSpec();
  spec.container.reset();
  spec.user.reset();
  const auto back = ParseLaunchSpec(ToJson(spec));
  ASSERT_TRUE(back.ok());
  EXPECT_FALSE(back->container);
  EXPECT_FALSE(back->user);
}

TEST(TaskFiles, AStatusComesBackAsItWas) {
  TaskStatus status{true,
                    false,
                    true,
                    137,
                    "why",
                    1'700'000'000'123,
                    {{6, 100, true, 137, 1'700'000'000'456, true}, {7, 101, false, 0, 0}},
                    StartFault::kPathMissing,
                    true};
  const auto back = ParseTaskStatus(ToJson(status));
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(back->started);
  EXPECT_FALSE(back->start_failed);
  EXPECT_TRUE(back->ended);
  EXPECT_EQ(back->exit_code, 137);
  EXPECT_EQ(back->message, "why");
  EXPECT_EQ(back->first_output_ms, 1'700'000'000'123);
  ASSERT_EQ(back->ranks.size(), 2u);
  EXPECT_EQ(back->ranks[0].pid, 100);
  EXPECT_TRUE(back->ranks[0].exited);
  EXPECT_EQ(back->ranks[0].exit_code, 137);
  EXPECT_EQ(back->ranks[0].exited_at_ms, 1'700'000'000'456);
  EXPECT_FALSE(back->ranks[1].exited);
  EXPECT_EQ(back->fault, StartFault::kPathMissing);
  EXPECT_TRUE(back->out_of_memory);
  EXPECT_TRUE(back->ranks[0].out_of_memory);
  EXPECT_FALSE(back->ranks[1].out_of_memory);
}

TEST(TaskFiles, AStatusOfAnEarlierShimIsRead) {
  const auto back = ParseTaskStatus(
      R"({"format":1,"started":true,"start_failed":false,"ended":false,"exit_code":1,"message":"","first_output_ms":0,)"
      R"("ranks":[{"rank":0,"pid":5,"exited":true,"exit_code":1}]})");
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->ranks[0].exited_at_ms, 0);
  EXPECT_EQ(back->fault, StartFault::kNode);
  EXPECT_FALSE(back->out_of_memory);
}

TEST(StartFault, IsToldByTheStatusAndComesBackFromItsWord) {
  const std::pair<Status, StartFault> cases[] = {
      {InvalidArgument("workdir", "is not a folder"), StartFault::kJob},
      {PathMissing("workdir", "/data/x"), StartFault::kPathMissing},
      {PathDenied("workdir", "/data/x", 1001), StartFault::kPathMissing},
      {Status(StatusCode::kNotFound, "cannot open /state/x"), StartFault::kNode},
      {Status(StatusCode::kInternal, "runc was killed"), StartFault::kNode},
  };
  for (const auto& [status, fault] : cases) {
    EXPECT_EQ(FaultOf(status), fault) << status.message();
    EXPECT_EQ(FaultOf(StartFailure(StartFaultOf(ToWord(fault)), "why")), fault);
  }
  EXPECT_EQ(StartFaultOf("of a later version"), StartFault::kNode);
  EXPECT_EQ(WithFix(PathMissing("workdir", "/data/x")),
            "workdir /data/x cannot be used on this node: No such file or directory: "
            "name a folder that exists on every node");
}

TEST(TaskFiles, WhatDoesNotFitIsRefused) {
  const std::string good = ToJson(SomeSpec());
  const std::string status = ToJson(TaskStatus{});
  for (std::size_t cut = 0; cut < good.size(); cut += 7) EXPECT_FALSE(ParseLaunchSpec(good.substr(0, cut)).ok());
  for (std::size_t cut = 0; cut < status.size(); ++cut) EXPECT_FALSE(ParseTaskStatus(status.substr(0, cut)).ok());
  for (const char* text : {"", "null", "[]", "{}", "{\"format\":2}", "{\"format\":\"1\"}", "{\"format\":1}"}) {
    EXPECT_FALSE(ParseLaunchSpec(text).ok()) << text;
    EXPECT_FALSE(ParseTaskStatus(text).ok()) << text;
    EXPECT_FALSE(ParseProcessIdentity(text).ok()) << text;
  }
  LaunchSpec none = SomeSpec();
  none.ranks.clear();
  EXPECT_FALSE(ParseLaunchSpec(ToJson(none)).ok());
}

// A child that sleeps, with `marker` in its environment.
pid_t StartSleeper(const char* marker) {
  const char* arguments[] = {"/bin/sh", "-c", "sleep 1000 & wait", nullptr};
  const char* environment[] = {"PATH=/usr/bin:/bin", marker, nullptr};
  pid_t pid = 0;
  EXPECT_EQ(::posix_spawn(&pid, arguments[0], nullptr, nullptr, const_cast<char**>(arguments),
                          const_cast<char**>(environment)),
            0);
  return pid;
}

TEST(Processes, AnIdentityIsOneProcessInOneBoot) {
  const pid_t pid = StartSleeper("NOTHING=1");
  const auto info = ReadProcess(pid);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->parent, ::getpid());
  const std::string boot = *ReadBootId();
  EXPECT_EQ(boot.size(), 36u);
  EXPECT_TRUE(OpenProcess({boot, pid, info->start_ticks}, boot));
  EXPECT_FALSE(OpenProcess({boot, pid, info->start_ticks + 1}, boot)) << "the pid was given out again";
  EXPECT_FALSE(OpenProcess({"another boot", pid, info->start_ticks}, boot));
  EXPECT_FALSE(SignalProcess({pid, 0, info->start_ticks + 1, false}, SIGKILL));
  ASSERT_TRUE(Eventually([&] { return !Descendants(ListProcesses(), pid).empty(); })) << "the shell has no child";
  const auto below = Descendants(ListProcesses(), pid);
  for (const ProcessInfo& process : below) EXPECT_TRUE(SignalProcess(process, SIGKILL));
  EXPECT_TRUE(SignalProcess(*info, SIGKILL));
  ::waitid(P_PID, static_cast<id_t>(pid), nullptr, WEXITED | WNOWAIT);
  EXPECT_FALSE(OpenProcess({boot, pid, info->start_ticks}, boot)) << "a zombie is gone";
  ::waitpid(pid, nullptr, 0);
  EXPECT_FALSE(ReadProcess(pid));
}

TEST(Processes, TheMarkFindsATaskAndNoneWhoseNameBeginsAlike) {
  const std::string mark = "GLIM_TASK=" + std::to_string(::getpid()) + ".1.1";
  const pid_t own = StartSleeper(mark.c_str());
  const pid_t other = StartSleeper((mark + "0").c_str());
  std::vector<ProcessInfo> found;
  const auto both_have_begun = [&] {
    found = Marked(ListProcesses(), mark);
    return found.size() == 2 && Marked(ListProcesses(), mark + "0").size() == 2;
  };
  EXPECT_TRUE(Eventually(both_have_begun)) << "the shells have no children";
  EXPECT_EQ(found.size(), 2u) << "the shell and its child";
  for (const ProcessInfo& process : found) EXPECT_TRUE(process.pid == own || process.parent == own);
  for (const std::string& marker : {mark, mark + "0"}) {
    for (const ProcessInfo& process : Marked(ListProcesses(), marker)) SignalProcess(process, SIGKILL);
  }
  ::waitpid(own, nullptr, 0);
  ::waitpid(other, nullptr, 0);
}

}  // namespace
}  // namespace glim::nodeagent
