// What a process does is seen, also when it can tell nothing, and it goes on.
#include "nodeagent/task/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "nodeagent/os/process_look.h"
#include "nodeagent/os/program_stacks.h"

namespace glim::nodeagent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A child that waits in a function of its own until its pipe is closed, and then ends with 7.
class Waiter {
 public:
  Waiter() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[1]);
      char byte = 0;
      while (::read(ends[0], &byte, 1) < 0) {
      }
      ::_exit(7);
    }
    ::close(ends[0]);
    door_ = ends[1];
  }
  ~Waiter() {
    if (door_ >= 0) (void)End();
  }
  pid_t pid() const { return pid_; }
  int End() {
    ::close(std::exchange(door_, -1));
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = 0;
  int door_ = -1;
};

TEST(Evidence, AnOrderIsReadAsItWasWritten) {
  EvidenceOrder order;
  order.ranks = {{3, 4711}, {4, 4712}};
  order.processes = {4711, 4712, 4720};
  order.user = TaskUser{4321, 4322, {7, 8}};
  const auto read = ParseEvidenceOrder(ToJson(order));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->ranks.at(1).rank, 4u);
  EXPECT_EQ(read->ranks.at(1).pid, 4712);
  EXPECT_EQ(read->processes, order.processes);
  EXPECT_EQ(read->user, order.user);
  EXPECT_FALSE(ParseEvidenceOrder("{}").ok());
  EXPECT_FALSE(ParseEvidenceOrder("").ok());
}

TEST(Evidence, TheLastWholeTextCounts) {
  EXPECT_EQ(LastEvidence(""), "");
  EXPECT_EQ(LastEvidence("cut off"), "");
  EXPECT_EQ(LastEvidence("one\fcut off"), "one");
  EXPECT_EQ(LastEvidence("one\ftwo\fcut"), "two");
}

TEST(Evidence, AProcessThatSleepsIsSeen) {
  const Waiter waiter;
  const ProcessLook look = LookAtProcess(waiter.pid());
  ASSERT_EQ(look.threads.size(), 1u);
  EXPECT_EQ(look.parent, ::getpid());
  EXPECT_THAT(TellingThread(look).state, ::testing::AnyOf('S', 'R'));
  EXPECT_EQ(LookAtProcess(waiter.pid()).name, LookAtProcess(::getpid()).name) << "this program's, as it forked";
}

TEST(Evidence, WhoIsGoneIsNotSeen) {
  Waiter waiter;
  EXPECT_EQ(waiter.End(), 7);
  EXPECT_TRUE(LookAtProcess(waiter.pid()).threads.empty());
}

// It would be ended by a signal that it does not catch.
TEST(Evidence, WhoHasNoDoorIsNotAsked) {
  Waiter waiter;
  EXPECT_FALSE(FindStackDoor(LookAtProcess(waiter.pid())));
  EXPECT_EQ(waiter.End(), 7);
}

TEST(Evidence, StacksOfAProgramAreTakenAndItGoesOn) {
  Waiter waiter;
  EvidenceOrder order;
  order.ranks = {{3, waiter.pid()}};
  order.processes = {waiter.pid()};
  std::string output;
  int told = 0;
  Gather(order, [&](const std::string& text) {
    output += text;
    ++told;
  });
  EXPECT_EQ(told, 2) << "the first text comes before anything is asked of the process";
  const std::string text = LastEvidence(output);
  const std::string head = "rank 3: " + LookAtProcess(waiter.pid()).name + " (pid " + std::to_string(waiter.pid());
  EXPECT_THAT(text, ::testing::StartsWith(head));
  EXPECT_THAT(text, AllOf(HasSubstr("Waiter"), HasSubstr("read"), HasSubstr("as gdb finds it")));
  EXPECT_EQ(waiter.End(), 7) << "it was looked at, and no more";
}

TEST(Evidence, WhatAProcessSaysThatItWaitsForIsInItsLineAlone) {
  const int file = ::memfd_create("glim-waits", MFD_CLOEXEC);
  constexpr char kSays[] = "hfreduce: rank 1 has not\x1b called Barrier (operation 7)\0rest\n";
  ASSERT_GT(::pwrite(file, kSays, sizeof(kSays), 0), 0);
  Waiter waiter, child;  // both have it, as a forked child has its parent's
  EvidenceOrder order;
  order.ranks = {{3, waiter.pid()}};
  order.processes = {waiter.pid(), child.pid()};
  const auto taken = [&order] {
    std::string output;
    Gather(order, [&](const std::string& text) { output += text; });
    return LastEvidence(output);
  };
  const std::string text = taken();
  const std::string words = "; hfreduce: rank 1 has not\\x1b called Barrier (operation 7)\n";
  EXPECT_THAT(text.substr(0, text.find('\n') + 1), ::testing::EndsWith(words));
  EXPECT_EQ(text.find("hfreduce", text.find(words) + words.size()), std::string::npos) << "once";
  ASSERT_EQ(::pwrite(file, "", 1, 0), 1);
  EXPECT_EQ(taken().find("hfreduce"), std::string::npos) << "it waits no more";
  ::close(file);
  EXPECT_EQ(child.End(), 7) << "first: it has the other one's pipe, too";
  EXPECT_EQ(waiter.End(), 7);
}

TEST(Evidence, ADebuggerThatDoesNotEndIsKilledAndTheProcessGoesOn) {
  Waiter waiter;
  const auto stacks = DebuggerStacks({waiter.pid()}, std::chrono::milliseconds(1));
  ASSERT_EQ(stacks.size(), 1u);
  EXPECT_FALSE(stacks[0].ok());
  EXPECT_EQ(waiter.End(), 7);
}

}  // namespace
}  // namespace glim::nodeagent
