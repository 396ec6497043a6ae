#include "nodeagent/os/child_work.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <optional>

namespace glim::nodeagent {
namespace {

using std::chrono::seconds;

class ChildWorkTest : public testing::Test {
 protected:
  ChildWork::Outcome Run(const std::string& script, std::chrono::milliseconds limit = seconds(60)) {
    std::optional<ChildWork::Outcome> outcome;
    const auto id = work_.Start({"/bin/sh", "-c", script}, "told", limit,
                                [&outcome](const ChildWork::Outcome& told) { outcome = told; });
    EXPECT_TRUE(id.ok()) << id.status().message();
    while (io_.run_one() > 0) {  // until it is reaped
    }
    return outcome.value_or(ChildWork::Outcome{});
  }

  boost::asio::io_context io_;
  ChildWork work_{io_};
};

TEST_F(ChildWorkTest, ReadsItsInputAndTellsItsOutput) { EXPECT_EQ(Run("cat <&3 >&4").output, "told"); }

TEST_F(ChildWorkTest, WhatIsNotDoneInTimeIsGivenUpWithWhatItSaid) {
  const ChildWork::Outcome outcome = Run("echo begun >&4; exec sleep 1000", std::chrono::milliseconds(500));
  EXPECT_FALSE(outcome.in_time);
  EXPECT_EQ(outcome.output, "begun\n");
}

TEST_F(ChildWorkTest, WhoHasEndedIsNotThereThoughNobodyHasHeardOfTheEnd) {
  const auto id = work_.Start({"/bin/true"}, "", seconds(60), [](const ChildWork::Outcome&) {});
  ASSERT_TRUE(id.ok());
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(work_.IsThere(*id));
  while (io_.run_one() > 0) {
  }
}

// The loop may see the end and the last words at once, in either order.
TEST_F(ChildWorkTest, NothingIsLostWhenTheEndComesWithTheLastWords) {
  for (int round = 0; round < 50; ++round) {
    std::optional<std::string> output;
    const auto id = work_.Start({"/bin/sh", "-c", "seq 2000 >&4"}, "", seconds(60),
                                [&output](const ChildWork::Outcome& told) { output = told.output; });
    ASSERT_TRUE(id.ok());
    siginfo_t ended{};  // the child has ended before the loop runs, and is not reaped
    ASSERT_EQ(::waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT), 0);
    while (!output && io_.run_one() > 0) {
    }
    ASSERT_EQ(output->size(), 8893u);
  }
}

}  // namespace
}  // namespace glim::nodeagent
