// The operator's programs: who may have written them, as whom they run, and what they find.
#include "scheduler/notify/command.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "sdk/base/testing/waits.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::notify {
namespace {

constexpr uid_t kOther = 61'234;  // nobody's on this machine

struct NotifyCommandTest : ::testing::Test {
  NotifyCommandTest() { ::chmod(folder.path().c_str(), 0755); }

  // As root another user's, else our own.
  std::string User() const { return std::to_string(::geteuid() == 0 ? kOther : ::geteuid()); }
  core::NotifyCommand Program(const std::string& script, mode_t mode = 0755) {
    const std::string path = folder.path() + "/program";
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    ::chmod(path.c_str(), mode);
    return {path, User()};
  }
  Result<CommandRun> Run(const core::NotifyCommand& command, Duration limit = LongWaitDuration()) {
    return RunCommand(command, R"({"kind": "done"})", limit, stopping);
  }

  TempFolder folder;
  std::atomic<bool> stopping{false};
};

TEST_F(NotifyCommandTest, FindsTheMessageAndNothingOfTheSchedulers) {
  ::setenv("GLIM_TEST_SECRET", "of the scheduler", 1);
  const auto run =
      Run(Program("cat; echo; pwd; id -u; id -g; id -G; echo \"$GLIM_TEST_SECRET.\"; ls /proc/self/fd | wc -l\n"
                  "grep -E 'CapPrm|CapBnd|NoNewPrivs' /proc/self/status"));
  ::unsetenv("GLIM_TEST_SECRET");
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ(run->exit_code, 0);
  const std::string& said = run->output;
  EXPECT_TRUE(said.starts_with(R"({"kind": "done"})")) << said;
  EXPECT_NE(said.find("/"), std::string::npos);
  EXPECT_EQ(said.find("of the scheduler"), std::string::npos) << said;
  EXPECT_NE(said.find("NoNewPrivs:"), std::string::npos) << said;
  if (::geteuid() != 0) return;
  const std::string id = std::to_string(kOther);
  EXPECT_NE(said.find(id), std::string::npos) << said;
  std::size_t zeros = 0;
  for (std::size_t at = said.find("0000000000000000"); at != std::string::npos;
       at = said.find("0000000000000000", at + 1)) {
    ++zeros;
  }
  EXPECT_EQ(zeros, 2u) << "neither has any nor can get some: " << said;
}

TEST_F(NotifyCommandTest, ItsEndIsTold) {
  EXPECT_EQ(Run(Program("exit 3"))->exit_code, 3);
  EXPECT_EQ(Run(Program("kill -9 $$"))->exit_code, 137);
}

TEST_F(NotifyCommandTest, WhatItSaysIsBounded) {
  const auto run = Run(Program("yes | head -c 1000000; exit 0"));
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ(run->exit_code, 0) << "nobody waits for somebody to read";
  EXPECT_LE(run->output.size(), kCommandOutputMax);
}

TEST_F(NotifyCommandTest, OneThatHangsIsKilled) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(Run(Program("sleep 600 & sleep 600"), Milliseconds(200)).status().code(), StatusCode::kDeadlineExceeded);
  stopping = true;
  EXPECT_EQ(Run(Program("sleep 600")).status().code(), StatusCode::kAborted);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, LongWait());
}

TEST_F(NotifyCommandTest, OnlyWhatNobodyElseCouldWrite) {
  EXPECT_TRUE(CheckCommand(Program("true")).ok());
  for (const mode_t mode : {0775U, 0757U, 0644U}) {
    const Status status = CheckCommand(Program("true", mode)).status();
    EXPECT_EQ(status.reason(), "BAD_COMMAND") << mode;
    EXPECT_NE(status.fix().find("chmod"), std::string::npos) << status.fix();
  }
  core::NotifyCommand command = Program("true");
  const std::string link = folder.path() + "/link";
  std::filesystem::create_symlink(command.path, link);
  EXPECT_NE(CheckCommand({link, User()}).status().fix().find(command.path), std::string::npos);
  EXPECT_EQ(CheckCommand({folder.path(), User()}).status().reason(), "BAD_COMMAND");
  EXPECT_EQ(CheckCommand({command.path + "-not", User()}).status().reason(), "BAD_COMMAND");
  ::chmod(folder.path().c_str(), 0777);
  EXPECT_EQ(CheckCommand(command).status().reason(), "BAD_COMMAND") << "a folder where others may exchange it";
}

TEST_F(NotifyCommandTest, NeverAsRoot) {
  core::NotifyCommand command = Program("true");
  for (const char* user : {"root", "0", "no-such-user-here"}) {
    command.user = user;
    EXPECT_EQ(CheckCommand(command).status().reason(), "BAD_COMMAND") << user;
  }
  if (::geteuid() == 0) return;
  command.user = std::to_string(kOther);
  EXPECT_NE(CheckCommand(command).status().message().find("as itself alone"), std::string::npos);
}

TEST_F(NotifyCommandTest, SomebodyElsesProgramIsRefused) {
  if (::geteuid() != 0) return;  // only root can give it away
  const core::NotifyCommand command = Program("true");
  ASSERT_EQ(::chown(command.path.c_str(), kOther, kOther), 0);
  EXPECT_NE(CheckCommand(command).status().message().find("belongs to uid"), std::string::npos);
}

}  // namespace
}  // namespace glim::notify
