// A task's secrets and its token: in memory and on tmpfs, in the task's hands, and nowhere else.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "nodeagent/options/secrets_folder.h"
#include "nodeagent/task/task_files.h"
#include "nodeagent/testing/agent_fixture.h"
#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

namespace fs = std::filesystem;

constexpr const char* kValue = "correct-horse-battery-staple";
constexpr const char* kAttemptSecret = "5ec2e70000000000000000000000000000000000000000000000000000000abc";
constexpr const char* kToken = "glim_0123456789abcdef_tokens-secret-part";

class AgentSecretsTest : public AgentTest {
 protected:
  AgentSecretsTest() : secrets_(SecretsFolder(state_)) {}

  void LaunchWithSecrets(const std::string& run) {
    Launch(kKey, run, [](v1::TaskLaunch& launch) {
      AddSecret(launch, "key", kValue, "");
      AddSecret(launch, "other", std::string(kValue) + "-2", "OTHER_KEY");
      launch.set_api(true);
      launch.set_api_token(kToken);
    });
    Send();
  }
  static void AddSecret(v1::TaskLaunch& launch, const std::string& name, const std::string& value,
                        const std::string& env) {
    v1::TaskSecret& secret = *launch.add_secrets();
    secret.set_name(name);
    secret.set_value(value);
    secret.set_env(env);
  }

  bool AreThere() const { return fs::exists(secrets_ + "/" + ToString(kKey)); }
  pid_t ShimPid() const {
    const auto text = ReadFile(TaskPaths(TaskFolder(kKey)).identity(), 1 << 16);
    const auto identity = text.ok() ? ParseProcessIdentity(*text) : Result<ProcessIdentity>(text.status());
    return identity.ok() ? identity->pid : 0;
  }

  const std::string secrets_;  // below it each task has its folder
};

bool Holds(const std::string& text) {
  return text.find(kValue) != std::string::npos || text.find(kAttemptSecret) != std::string::npos ||
         text.find("tokens-secret-part") != std::string::npos;
}

// Files below the folder that hold a value, and how many were looked at.
std::vector<std::string> FilesThatHold(const std::string& folder, int* looked_at) {
  std::vector<std::string> found;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end;
  for (; !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (!fs::is_regular_file(it->symlink_status(gone)) || gone) continue;
    const auto text = ReadFile(it->path().string(), 64 << 20);
    ++*looked_at;
    if (text.ok() && Holds(*text)) found.push_back(it->path().string());
  }
  return found;
}

// Processes whose command line holds a value.
std::vector<std::string> CommandLinesThatHold() {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const auto text = ReadFile((it->path() / "cmdline").string(), 4 << 20);
    if (text.ok() && Holds(*text)) found.push_back(it->path().string());
  }
  return found;
}

// It shows what it has without a word of it: what it prints is in a file of the agent's.
constexpr const char* kShow =
    "[ \"$(tr a-z A-Z < $GLIM_SECRETS/key)\" = CORRECT-HORSE-BATTERY-STAPLE ] && echo key;"
    "[ \"$(tr a-z A-Z < $GLIM_SECRETS/other)\" = CORRECT-HORSE-BATTERY-STAPLE-2 ] && echo other;"
    "[ \"$(echo $OTHER_KEY | tr a-z A-Z)\" = CORRECT-HORSE-BATTERY-STAPLE-2 ] && echo variable;"
    "[ \"$(tr a-z A-Z < $GLIM_API_TOKEN_FILE)\" = GLIM_0123456789ABCDEF_TOKENS-SECRET-PART ] && echo token;"
    "[ $GLIM_TOKEN_FILE = $GLIM_API_TOKEN_FILE ] && stat -c %a $GLIM_SECRETS/key $GLIM_API_TOKEN_FILE;";

TEST_P(AgentSecretsTest, AreWithTheTaskAndNowhereElse) {
  ASSERT_FALSE(secrets_.empty()) << "this machine has no tmpfs";
  StartAgent({"--log-level", "debug"});
  LaunchWithSecrets(std::string(kShow) + "echo ready; exec sleep 1000");
  ASSERT_EQ(WaitLine(kKey, 0, "ready"), "");
  EXPECT_EQ(LogText(kKey, 0), "key\nother\nvariable\ntoken\n400\n400\nready\n");
  EXPECT_TRUE(AreThere());
  int looked_at = 0;
  EXPECT_EQ(FilesThatHold(state_, &looked_at), std::vector<std::string>()) << "state, launch files, records, logs";
  EXPECT_EQ(FilesThatHold(folder_, &looked_at), std::vector<std::string>()) << "the agent's own log";
  EXPECT_GT(looked_at, 5);
  EXPECT_EQ(CommandLinesThatHold(), std::vector<std::string>());
  const auto environment = ReadFile("/proc/" + std::to_string(ShimPid()) + "/environ", 4 << 20);
  ASSERT_TRUE(environment.ok());
  EXPECT_FALSE(Holds(*environment));

  Stop(kKey, 0);
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_TRUE(Eventually([this] { return !fs::exists(secrets_); })) << "nothing is left, not even the folder above";
}

// Of a job that asks for nothing: its ranks know each other by it.
TEST_P(AgentSecretsTest, TheAttemptsIsForTheTasksUserAloneAndNowhereElse) {
  StartAgent({"--log-level", "debug"});
  Launch(kKey,
         std::string("[ \"$(tr a-c A-C < $GLIM_ATTEMPT_SECRET_FILE)\" = ") +
             "5eC2e70000000000000000000000000000000000000000000000000000000ABC ] && echo secret;"
             "stat -c '%a %u' $GLIM_ATTEMPT_SECRET_FILE; id -u; echo [$GLIM_SECRETS];"
             "env | grep -q $(cat $GLIM_ATTEMPT_SECRET_FILE) && echo in the environment; echo ready; exec sleep 1000")
      .set_attempt_secret(kAttemptSecret);
  Send();
  ASSERT_EQ(WaitLine(kKey, 0, "ready"), "");
  const std::string uid = std::to_string(in_container() ? kTaskUser.uid : ::geteuid());
  EXPECT_EQ(LogText(kKey, 0), "secret\n400 " + uid + "\n" + uid + "\n[]\nready\n");
  int looked_at = 0;
  EXPECT_EQ(FilesThatHold(state_, &looked_at), std::vector<std::string>());
  EXPECT_EQ(FilesThatHold(folder_, &looked_at), std::vector<std::string>());
  EXPECT_GT(looked_at, 5);
  EXPECT_EQ(CommandLinesThatHold(), std::vector<std::string>());

  Listed(kKey).clear_launch();  // it goes on being told, and nothing comes of that
  Send();
  Stop(kKey, 0);
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_TRUE(Eventually([this] { return !fs::exists(secrets_); }));
}

TEST_P(AgentSecretsTest, ATaskWithoutThemHasNone) {
  StartAgent();
  Launch(kKey,
         "echo [$GLIM_SECRETS$GLIM_API_TOKEN_FILE$GLIM_TOKEN_FILE$GLIM_CA$GLIM_ATTEMPT_SECRET_FILE];"
         "ls -d /run/glim/private 2>/dev/null");
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_EQ(LogText(kKey, 0), "[]\n");
  EXPECT_FALSE(AreThere());
}

TEST_P(AgentSecretsTest, StayWithATaskWhoseAgentIsKilledAndGoWithItsEnd) {
  StartAgent();
  LaunchWithSecrets("echo ready; while ! [ -e /tmp/never ]; do sleep 0.05; done");
  ASSERT_EQ(WaitLine(kKey, 0, "ready"), "");
  fs::create_directories(secrets_ + "/9.9.0/secrets");  // what an agent that was killed leaves of a task that is gone
  KillAgent();
  StartAgent();
  EXPECT_TRUE(Eventually([this] { return !fs::exists(secrets_ + "/9.9.0"); }));
  ASSERT_TRUE(scheduler_.WaitHello(2));
  ASSERT_TRUE(WaitPhase(kKey, kRunning));
  EXPECT_TRUE(AreThere());
  Stop(kKey, 0);
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_TRUE(Eventually([this] { return !AreThere(); }));
}

// Its order is on the disk, without the values: the next agent has them from the scheduler.
TEST_P(AgentSecretsTest, AreAskedForAgainByAnAgentThatIsRestartedBeforeTheStart) {
  const std::string prolog = folder_ + "/prolog";
  ASSERT_TRUE(
      WriteFileAtomically(prolog, "#!/bin/sh\n: > " + folder_ + "/begun\nexec sleep 1000\n", Durability::kProcess)
          .ok());
  fs::permissions(prolog, fs::perms::owner_all);
  StartAgent({"--prolog", prolog});
  LaunchWithSecrets(kShow);
  ASSERT_TRUE(Eventually([this] { return fs::exists(folder_ + "/begun"); }));
  EXPECT_TRUE(AreThere());
  KillAgent();
  StartAgent();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_FALSE(task->start_failed()) << task->message();
  EXPECT_EQ(LogText(kKey, 0), "key\nother\nvariable\ntoken\n400\n400\n");
}

TEST_P(AgentSecretsTest, AStartWithoutAValueFails) {
  StartAgent();
  Launch(kKey, "true", [](v1::TaskLaunch& launch) { AddSecret(launch, "key", "", ""); });
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_TRUE(task->start_failed());
  EXPECT_FALSE(task->job_fault());
  EXPECT_NE(task->message().find("did not send secret key"), std::string::npos) << task->message();
}

TEST_P(AgentSecretsTest, WhatCanBeNoVariableIsTheJobsFault) {
  StartAgent();
  Launch(kKey, "true", [](v1::TaskLaunch& launch) { AddSecret(launch, "key", std::string("a\0b", 3), "KEY"); });
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_TRUE(task->job_fault());
  EXPECT_NE(task->message().find("zero byte"), std::string::npos) << task->message();
}

GLIM_FOR_EACH_RUNTIME(AgentSecretsTest);

}  // namespace
}  // namespace glim::nodeagent
