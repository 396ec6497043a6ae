#include "nodeagent/runtime/process_census.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "nodeagent/os/run_program.h"
#include "sdk/base/testing/waits.h"
#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

class ProcessCensusTest : public testing::Test {
 protected:
  ProcessCensusTest()
      : socket_("/tmp/glim-census-" + std::to_string(::getpid()) + "/run/socket"),
        // Its child has another environment.
        pid_(*StartProgram({"/bin/sh", "-c", "env -i sleep 1000 & exec sleep 1000"},
                           {"GLIM_SOCKET=" + socket_, "PATH=/usr/bin:/bin"}, "/dev/null")) {}
  ~ProcessCensusTest() override {
    ::kill(-pid_, SIGKILL);  // a session of its own
    ::waitpid(pid_, nullptr, 0);
  }
  std::size_t Count(ProcessCensus& census, const std::string& socket, pid_t shim) {
    std::size_t count = 0;
    (void)Eventually([&] { return (count = census.Of(socket, shim, {::getuid()}).size()) == 2; });
    return count;
  }
  const std::string socket_;
  const pid_t pid_;
};

TEST_F(ProcessCensusTest, FindsMarkedProcessesAndAllBelowThem) {
  ProcessCensus census;
  EXPECT_EQ(Count(census, socket_, 0), 2u);
  EXPECT_TRUE(census.Of(socket_ + "2", 0, {::getuid()}).empty()) << "a name that only begins alike";
  EXPECT_EQ(census.Of(socket_ + "2", pid_, {::getuid()}).size(), 1u) << "what is below a shim";
}

// The shim of a task was killed, and what it has left cleared its environment and has init for its parent.
TEST_F(ProcessCensusTest, WhatBeganSinceIsAmongThoseOfItsUser) {
  ProcessCensus census;
  const std::uint64_t since = ReadProcess(pid_)->start_ticks;
  const std::string file = "/tmp/glim-census-daemon-" + std::to_string(::getpid());
  const pid_t parent = *StartProgram({"/bin/sh", "-c", "env -i setsid sleep 1000 & echo $! > " + file + "; exit 0"},
                                     {"PATH=/usr/bin:/bin"}, "/dev/null");
  ASSERT_EQ(::waitpid(parent, nullptr, 0), parent);
  const pid_t daemon = static_cast<pid_t>(std::atol(ReadFile(file, 100)->c_str()));
  ::unlink(file.c_str());
  ASSERT_GT(daemon, 0);
  const auto has = [&](std::uint64_t ticks, uid_t user) {
    const auto found = census.BegunSince(ticks, socket_, {user});
    return std::any_of(found.begin(), found.end(), [&](const ProcessInfo& one) { return one.pid == daemon; });
  };
  // Its parent here may be this very program, as a subreaper of its children; then it is left out as one of its own.
  const bool is_ours = ReadProcess(daemon)->parent == ::getpid();
  EXPECT_TRUE(Eventually([&] { return has(since, ::getuid()) != is_ours; }));
  EXPECT_FALSE(has(since, ::getuid() + 1));
  EXPECT_FALSE(has(ReadProcess(daemon)->start_ticks + 1, ::getuid()));
  ::kill(daemon, SIGKILL);
}

TEST_F(ProcessCensusTest, AnotherUsersEnvironmentMeansNothing) {
  ProcessCensus census;
  ASSERT_EQ(Count(census, socket_, 0), 2u);
  EXPECT_TRUE(census.Of(socket_, 0, {::getuid() + 1}).empty());
}

TEST_F(ProcessCensusTest, LooksOnceForAllWhoAskTogether) {
  ProcessCensus census;
  for (int i = 0; i < 100; ++i) (void)census.Of(socket_ + std::to_string(i), 0, {::getuid()});
  EXPECT_LT(census.looks(), 50u);
  const std::uint64_t looks = census.looks();
  const auto looks_again = [&] {
    (void)census.Of(socket_, 0, {::getuid()});
    return census.looks() > looks;
  };
  EXPECT_TRUE(Eventually(looks_again)) << "later";
}

}  // namespace
}  // namespace glim::nodeagent
