// A task is no more protected from the kernel's killer than any other process, however its agent is.
#include "nodeagent/os/oom_score.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

class OomScore : public testing::Test {
 protected:
  ~OomScore() override { std::filesystem::remove(file_); }

  // What the score is, once protection was given up.
  std::string After(const std::string& before) {
    std::ofstream(file_) << before;
    EXPECT_TRUE(GiveUpOomProtection(file_).ok());
    return ReadFile(file_, 64).value();
  }

  const std::string file_ = testing::TempDir() + "oom_score_" + std::to_string(::getpid());
};

TEST_F(OomScore, OfAProtectedAgentIsNotInherited) {
  EXPECT_EQ(After("-900\n"), "0");
  EXPECT_EQ(After("-1\n"), "0");
}

TEST_F(OomScore, OfWhoIsToGoFirstStays) {
  EXPECT_EQ(After("0\n"), "0\n");
  EXPECT_EQ(After("300\n"), "300\n");
}

TEST_F(OomScore, ThatCannotBeReadIsAnError) { EXPECT_FALSE(GiveUpOomProtection(file_ + ".none").ok()); }

TEST_F(OomScore, OfThisProcessIsNeverBelowZeroAfterwards) {
  ASSERT_TRUE(GiveUpOomProtection().ok());
  EXPECT_GE(std::stoi(ReadFile("/proc/self/oom_score_adj", 64).value()), 0);
}

TEST_F(OomScore, OfAnotherProcessIsRaisedAndNeverLowered) {
  const pid_t other = ::fork();
  if (other == 0) {
    ::pause();
    ::_exit(0);
  }
  const auto score = [&] { return ReadFile("/proc/" + std::to_string(other) + "/oom_score_adj", 64).value(); };
  RaiseOomScore(other, kRankOomScore);
  EXPECT_EQ(score(), "900\n");
  RaiseOomScore(other, kTaskOomScore);
  EXPECT_EQ(score(), "900\n");
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  RaiseOomScore(other, kRankOomScore);  // nobody is there
}

}  // namespace
}  // namespace glim::nodeagent
