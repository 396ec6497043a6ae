#include "nodeagent/launch/launch_plan.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "nodeagent/launch/launch_user.h"
#include "nodeagent/options/testing/sdk.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::nodeagent {
namespace {

AgentOptions ForAnyUser() {
  AgentOptions options;
  options.runtime = "process";
  options.any_user = true;
  return options;
}

TEST(LaunchPlan, TheJobsOwnVariablesCannotHideTheAgents) {
  AgentOptions options = ForAnyUser();
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

// By the bounds of a job's spec (scheduler/core/model/spec_limits.h), whoever sent the order.
TEST(LaunchPlan, RefusesLimitsThatAreNoneAndPathsOfTwoSpellings) {
  AgentOptions options = ForAnyUser();
  const auto refused = [&](auto change) {
    v1::TaskLaunch launch;
    launch.set_ranks(1);
    launch.set_run("x");
    change(launch);
    return PlanLaunch(options, {{"HOME", "/"}}, {7, 2, 0}, "/t", launch).status().field();
  };
  EXPECT_EQ(refused([](auto& l) { l.mutable_limits()->set_memory_bytes(-1); }), "limits.memory");
  EXPECT_EQ(refused([](auto& l) { l.mutable_limits()->set_pids(1); }), "limits.pids");
  EXPECT_EQ(refused([](auto& l) { l.set_workdir("/a//b"); }), "workdir");
  EXPECT_EQ(refused([](auto& l) { l.set_checkpoint_dir("/a/../b"); }), "checkpoint.dir");
  EXPECT_EQ(refused([](auto& l) {
              for (int i = 0; i < 65; ++i) l.add_mounts();
            }),
            "mounts");
}

// The kernel would start it on no node: the job's fault, told before a save is copied for it.
TEST(LaunchPlan, RefusesWhatTheKernelWouldNotStart) {
  AgentOptions options = ForAnyUser();
  v1::TaskLaunch launch;
  launch.set_ranks(1);
  launch.set_run("x");
  v1::EnvVar& var = *launch.add_env();
  var.set_name("LONG");
  var.set_value(std::string(128 * 1024, 'x'));
  const auto refusal = [&] { return PlanLaunch(options, {{"HOME", "/"}}, {7, 2, 0}, "/t", launch).status(); };
  EXPECT_EQ(refusal().field(), "env.LONG");
  var.set_value(std::string(100 * 1024, 'x'));
  EXPECT_TRUE(refusal().ok()) << refusal().message();
  for (int i = 0; i < 10; ++i) {
    *launch.add_env() = launch.env(0);
    launch.mutable_env(i + 1)->set_name("LONG" + std::to_string(i));
  }
  EXPECT_EQ(refusal().field(), "env");
  EXPECT_EQ(refusal().code(), StatusCode::kInvalidArgument);
}

TEST(LaunchPlan, TheSdkComesAfterWhatIsTheJobsOwn) {
  TempFolder folder;
  AgentOptions options = ForAnyUser();
  options.state_dir = "/state";
  options.shim = "/opt/glim/bin/glim-shim";
  options.sdk = MakeSdk(folder.path() + "/sdk");
  options.task_user = TaskUser{1000, 1000, {}};
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
  AgentOptions options = ForAnyUser();
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

TEST(LaunchPlan, TheAgentKnowsWhereASaveInItsOwnFolderLies) {
  AgentOptions options = ForAnyUser();
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

class LaunchUserTest : public testing::Test {
 protected:
  LaunchUserTest() {
    options_.runtime = "runc";
    launch_.set_user("kim");
  }
  // The order's user, as the registry has it.
  void Name(std::uint32_t uid, std::uint32_t gid, const std::vector<std::uint32_t>& groups = {}) {
    v1::TaskUser& user = *launch_.mutable_task_user();
    user.Clear();
    user.set_uid(uid);
    user.set_gid(gid);
    for (const std::uint32_t id : groups) user.add_groups(id);
  }
  Status Refusal() const { return UserOf(options_, launch_).status(); }

  AgentOptions options_;
  v1::TaskLaunch launch_;
};

TEST_F(LaunchUserTest, InContainersATaskIsItsUserAndElseWhomTheOperatorNames) {
  options_.task_user = TaskUser{4321, 4322, {}};
  EXPECT_EQ(**UserOf(options_, launch_), (TaskUser{4321, 4322, {}})) << "the registry has no uid of this one";
  Name(1001, 100, {2000, 2001});
  EXPECT_EQ(**UserOf(options_, launch_), (TaskUser{1001, 100, {2000, 2001}}));
}

TEST_F(LaunchUserTest, NobodyIsRootWhateverTheRegistryHolds) {
  options_.task_user = TaskUser{4321, 4322, {}};
  const struct {
    std::uint32_t uid, gid;
    std::vector<std::uint32_t> groups;
    const char* says;
  } cases[] = {{0, 100, {}, "user kim has uid 0 in the registry"},
               {1001, 0, {}, "user kim has gid 0 in the registry"},
               {1001, 100, {2000, 0}, "user kim is in the group with gid 0 in the registry"},
               {~0U, 100, {}, "user kim has an id that is none, 4294967295 in the registry"},
               {1001, 100, std::vector<std::uint32_t>(1025, 7), "user kim is in more than 1024 groups"}};
  for (const auto& one : cases) {
    Name(one.uid, one.gid, one.groups);
    const Status refusal = Refusal();
    EXPECT_EQ(refusal.code(), StatusCode::kInvalidArgument) << "no node would";
    EXPECT_EQ(refusal.field(), "user");
    EXPECT_TRUE(refusal.message().starts_with(one.says)) << refusal.message();
  }
}

TEST_F(LaunchUserTest, WithoutAUidAndWithoutAnOperatorsChoiceThereIsNoTask) {
  const Status refusal = Refusal();
  EXPECT_EQ(refusal.code(), StatusCode::kFailedPrecondition) << "another node may have a choice";
  EXPECT_EQ(refusal.message(),
            "user kim has no uid in the registry, and this node has no --task-user to run such jobs as");
}

TEST_F(LaunchUserTest, PlainProcessesAreTheAgentsOwnUserAndNoOtherUsers) {
  options_.runtime = "process";
  EXPECT_EQ(Refusal().code(), StatusCode::kFailedPrecondition) << "nobody knows who kim is";
  Name(::geteuid() + 1, 100);
  EXPECT_EQ(Refusal().message(), "this node runs plain processes, and so jobs of the user with uid " +
                                     std::to_string(::geteuid()) + " alone; user kim has uid " +
                                     std::to_string(::geteuid() + 1));
  options_.any_user = true;
  EXPECT_EQ(*UserOf(options_, launch_), std::nullopt) << "for development";
  if (::geteuid() == 0) return;  // root has no jobs
  options_.any_user = false;
  Name(::geteuid(), 100);
  EXPECT_EQ(*UserOf(options_, launch_), std::nullopt);
}

}  // namespace
}  // namespace glim::nodeagent
