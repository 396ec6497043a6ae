#include "nodeagent/os/unified_group.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "nodeagent/os/spawn_process.h"
#include "sdk/base/testing/waits.h"

namespace glim::nodeagent {
namespace {

// The parameter is for what only root may do: without root there is no instance.
class UnifiedGroupTest : public testing::TestWithParam<bool> {
 protected:
  UnifiedGroupTest() {
    const Result<std::string> parent = OpenGroupParent("/glim/unit-" + std::to_string(::getpid()));
    EXPECT_TRUE(parent.ok()) << parent.status().message();
    if (parent.ok()) parent_ = *parent;
    group_ = parent_ + "/1.1.0";
    EXPECT_TRUE(MakeGroup(group_).ok());
  }
  ~UnifiedGroupTest() override {
    KillGroup(parent_);
    EXPECT_TRUE(Eventually([this] { return RemoveGroup(parent_); }));
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
  pid_t Spawn(const std::string& script, const std::string& group) {
    pid_t pid = 0;
    EXPECT_EQ(SpawnProcess({{"/bin/bash", "-c", script}, {"PATH=/usr/bin:/bin"}, "/", group, {}}, &pid), 0);
    return pid;
  }
  std::string parent_;
  std::string group_;
};

TEST_P(UnifiedGroupTest, HoldsWhateverItsProcessesStart) {
  EXPECT_EQ(LookAtGroup(group_), GroupState::kEmpty);
  EXPECT_EQ(LookAtGroup(group_ + "-not"), GroupState::kNone);
  const pid_t first = Spawn("env -i setsid sleep 1000 & ( setsid sleep 1000 & ) ; exec sleep 1000", group_);
  EXPECT_EQ(LookAtGroup(group_), GroupState::kPopulated) << "from its first instruction on";
  EXPECT_TRUE(Eventually([&] { return GroupMembers(group_, 100).size() == 3; }));
  const std::vector<pid_t> members = GroupMembers(group_, 100);
  EXPECT_EQ(std::count(members.begin(), members.end(), first), 1);
  EXPECT_EQ(GroupMembers(group_, 2).size(), 2u);
  EXPECT_FALSE(RemoveGroup(group_)) << "not while something is in it";
  KillGroup(group_);
  EXPECT_TRUE(Eventually([&] { return LookAtGroup(group_) == GroupState::kEmpty; })) << "a zombie does not count";
  EXPECT_TRUE(RemoveGroup(group_));
  EXPECT_EQ(LookAtGroup(group_), GroupState::kNone);
}

TEST_P(UnifiedGroupTest, IsOneWithThoseBelowIt) {
  const std::string inner = group_ + "/inner";
  ASSERT_TRUE(MakeGroup(inner).ok());
  Spawn("exec sleep 1000", inner);
  EXPECT_EQ(LookAtGroup(group_), GroupState::kPopulated);
  EXPECT_EQ(GroupMembers(group_, 100).size(), 1u);
  SignalGroup(group_, SIGTERM);
  EXPECT_TRUE(Eventually([&] { return LookAtGroup(group_) == GroupState::kEmpty; }));
  EXPECT_TRUE(RemoveGroup(group_));
}

// Each of its processes starts the next one and ends: whoever looks for them one by one comes too late.
TEST_P(UnifiedGroupTest, IsKilledInOneStep) {
  const std::string run = "setsid /bin/bash -c \"$0\" \"$0\" & exit";
  pid_t pid = 0;
  ASSERT_EQ(SpawnProcess({{"/bin/bash", "-c", run, run}, {"PATH=/usr/bin:/bin"}, "/", group_, {}}, &pid), 0);
  ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
  EXPECT_EQ(LookAtGroup(group_), GroupState::kPopulated);
  KillGroup(group_);
  EXPECT_TRUE(Eventually([&] { return LookAtGroup(group_) == GroupState::kEmpty; }));
}

INSTANTIATE_TEST_SUITE_P(Root, UnifiedGroupTest,
                         testing::ValuesIn(::geteuid() == 0 ? std::vector<bool>{true} : std::vector<bool>{}));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(UnifiedGroupTest);

}  // namespace
}  // namespace glim::nodeagent
