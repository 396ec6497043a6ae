// The logs of attempts that have ended are copied to the folder that the policy names, and nothing waits for that.
#include <sys/stat.h>

#include <filesystem>

#include "nodeagent/testing/agent_fixture.h"
#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

constexpr TaskKey kNext{8, 1, 0};

class AgentLogExportTest : public AgentTest {
 protected:
  void SetUp() override {
    logs_root_ = folder_ + "/all-logs";
    scheduler_.NameLogsRoot(logs_root_);
  }
  void RunToItsEnd(const TaskKey& key, const std::string& run) {
    Launch(key, run);
    Send();
    ASSERT_TRUE(WaitPhase(key, kReleased));
  }
  // Empty as long as it is not there.
  std::string Copied(const TaskKey& key) const {
    const std::string name = std::to_string(key.job) + "-" + std::to_string(key.attempt);
    const auto text = ReadFile(logs_root_ + "/" + name + "/rank-0.log", 1 << 20);
    return text.ok() ? *text : "";
  }
  bool WaitCopied(const TaskKey& key, const std::string& text) const {
    return Eventually([&] { return Copied(key) == text; });
  }

  std::string logs_root_;
};

TEST_P(AgentLogExportTest, LogsAreCopiedWhenTheirAttemptHasEnded) {
  std::filesystem::create_directory(logs_root_);
  StartAgent();
  RunToItsEnd(kKey, "echo one; echo two >&2");
  EXPECT_TRUE(WaitCopied(kKey, "one\ntwo\n"));
}

TEST_P(AgentLogExportTest, AFolderThatIsNotThereIsNotMadeAndWhatWaitedIsCopiedByTheNextAgent) {
  StartAgent();
  RunToItsEnd(kKey, "echo one");
  KillAgent();
  EXPECT_FALSE(std::filesystem::exists(logs_root_));
  std::filesystem::create_directory(logs_root_);
  StartAgent();
  EXPECT_TRUE(WaitCopied(kKey, "one\n"));
}

// A pipe that nobody reads holds up who writes into it as storage does that hangs.
TEST_P(AgentLogExportTest, AFolderThatHangsHoldsUpNeitherTasksNorTheAgentsEnd) {
  std::filesystem::create_directories(logs_root_ + "/7-1");
  ASSERT_EQ(::mkfifo((logs_root_ + "/7-1/.rank-0.log.tmp").c_str(), 0600), 0);
  StartAgent();
  RunToItsEnd(kKey, "echo one");
  RunToItsEnd(kNext, "echo next");
  EXPECT_EQ(LogText(kNext, 0), "next\n");
  EXPECT_EQ(Copied(kKey), "");
  EXPECT_EQ(EndAgent(), 0);
}

TEST_P(AgentLogExportTest, WhatIsBeingCopiedIsNotCopiedAgain) {
  std::filesystem::create_directories(logs_root_ + "/7-1");
  const std::string held = logs_root_ + "/7-1/.rank-0.log.tmp";
  ASSERT_EQ(::mkfifo(held.c_str(), 0600), 0);
  StartAgent();
  RunToItsEnd(kKey, "echo one");
  scheduler_.Disconnect();  // whoever is connected anew looks for what was not copied yet
  ASSERT_TRUE(scheduler_.WaitHello(2));
  EXPECT_EQ(ReadFile(held, 1 << 20).value(), "one\n") << "now it can end";
  RunToItsEnd(kNext, "echo next");
  ASSERT_TRUE(WaitCopied(kNext, "next\n"));
  const std::string log = AgentLog(), copied = "event=log_copied attempt=7-1";
  ASSERT_NE(log.find(copied), std::string::npos);
  EXPECT_EQ(log.find(copied, log.find(copied) + 1), std::string::npos);
}

GLIM_FOR_EACH_RUNTIME(AgentLogExportTest);

}  // namespace
}  // namespace glim::nodeagent
