#include "nodeagent/confinement/task_mounts.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>

#include "nodeagent/os/mount_calls.h"
#include "nodeagent/os/testing/path_swapper.h"
#include "nodeagent/task/start_fault.h"
#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

namespace fs = std::filesystem;

constexpr int kSwaps = 1000;

// How a process that mounts for a task ends.
enum Outcome {
  kGiven,    // the task finds what the job was given
  kRefused,  // by the job's fault, with the field's name
  kOther,    // it finds something else; or this test is wrong
};

std::string NewFolder(std::string pattern) { return ::mkdtemp(pattern.data()); }
void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

Outcome InChild(const std::function<Outcome()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? static_cast<Outcome>(WEXITSTATUS(status)) : kOther;
}

// The parameter is for what only root may do: without root there is no instance.
class TaskMountsTest : public testing::TestWithParam<bool> {
 protected:
  TaskMountsTest()
      : root_(NewFolder("/tmp/glim-mounts-XXXXXX")),
        outside_(NewFolder("/var/tmp/glim-mounts-XXXXXX")),
        bundle_(root_ + "/state/bundle"),
        users_(root_ + "/users"),
        data_(users_ + "/data"),
        link_(users_ + "/link"),
        place_(bundle_ + "/root/place") {
    fs::create_directories(bundle_ + "/root");
    fs::create_directories(data_);
    fs::create_directory_symlink(outside_, link_);
    Write(data_ + "/word", "given");
    Write(outside_ + "/word", "secret");
    rules_ = {{users_}, root_ + "/state", {0, 0}};
  }
  ~TaskMountsTest() override {
    fs::remove_all(root_);
    fs::remove_all(outside_);
  }

  PathAnswer Look(const std::string& path, bool make = false, bool by_agent = false) const {
    const PathOrder order{{{"workdir", path, make, by_agent}}, rules_};
    std::string records;
    LookAt(order, [&](const std::string& record) { records += record; });
    return ReadPathRecords(order, records).answers.at("workdir");
  }
  MountOrder OrderOf(const std::string& real, bool read_only = false, bool by_agent = false) const {
    return {rules_, {{"workdir", data_, real, "/place", read_only, by_agent}}, 0, bundle_ + "/root"};
  }
  Outcome Mount(const std::string& real) const {
    return InChild([&] {
      const Status status = MountAll(OrderOf(real));
      if (!status.ok()) return FaultOf(status) != StartFault::kNode && status.field() == "workdir" ? kRefused : kOther;
      const Result<std::string> word = ReadFile(place_ + "/word", 100);
      return word.ok() && *word == "given" ? kGiven : kOther;
    });
  }

  const std::string root_, outside_, bundle_, users_, data_, link_, place_;
  MakeRules rules_;
};

TEST_P(TaskMountsTest, GivesWhatWasLookedAtAndLeavesNothingOnTheNode) {
  fs::create_directory_symlink(users_, root_ + "/way");
  const PathAnswer found = Look(root_ + "/way/data");
  EXPECT_EQ(found.real, data_) << "a link that leads to where the node gives";
  EXPECT_EQ(Mount(found.real), kGiven);
  EXPECT_TRUE(fs::is_empty(bundle_ + "/root"));
}

TEST_P(TaskMountsTest, AFileIsGivenAsAFile) {
  const Outcome outcome = InChild([&] {
    if (!MountAll(OrderOf(data_ + "/word")).ok()) return kOther;
    const Result<std::string> word = ReadFile(place_, 100);
    return word.ok() && *word == "given" ? kGiven : kOther;
  });
  EXPECT_EQ(outcome, kGiven);
}

// What runc's "ro" does to the topmost mount alone.
TEST_P(TaskMountsTest, WhatIsMountedBelowComesAlongAndIsAsReadOnly) {
  fs::create_directory(data_ + "/below");
  for (const bool read_only : {false, true}) {
    const Outcome outcome = InChild([&] {
      const bool ready = LeaveNodesMounts() == 0 &&
                         ::mount("none", (data_ + "/below").c_str(), "tmpfs", 0, "size=1m") == 0 &&
                         ::mkdir((data_ + "/below/there").c_str(), 0700) == 0;
      if (!ready || !MountAll(OrderOf(data_, read_only)).ok()) return kOther;
      if (::access((place_ + "/below/there").c_str(), F_OK) != 0) return kOther;
      const bool refused = ::mkdir((place_ + "/below/new").c_str(), 0700) != 0 && errno == EROFS;
      return refused == read_only ? kGiven : kOther;
    });
    EXPECT_EQ(outcome, kGiven) << read_only;
  }
}

TEST_P(TaskMountsTest, WhatTheNodeMadeReadOnlyStaysSo) {
  const Outcome outcome = InChild([&] {
    const char* data = data_.c_str();
    const bool ready = LeaveNodesMounts() == 0 && ::mount(data, data, nullptr, MS_BIND, nullptr) == 0 &&
                       ::mount(nullptr, data, nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0;
    if (!ready || !MountAll(OrderOf(data_)).ok()) return kOther;
    return ::mkdir((place_ + "/new").c_str(), 0700) != 0 && errno == EROFS ? kGiven : kOther;
  });
  EXPECT_EQ(outcome, kGiven);
}

TEST_P(TaskMountsTest, RefusesWhatIsNotWhatWasLookedAt) {
  EXPECT_EQ(Mount(link_), kRefused);
  EXPECT_EQ(Mount(outside_), kRefused);
  EXPECT_EQ(Mount(root_ + "/state"), kRefused);
  EXPECT_EQ(Mount(users_ + "/gone"), kRefused);
  EXPECT_EQ(Mount(data_ + "/word/none"), kRefused);
}

TEST_P(TaskMountsTest, AThousandSwapsBetweenTheLookAndTheMount) {
  for (int i = 0; i < kSwaps; ++i) {
    const PathAnswer found = Look(data_);
    ASSERT_EQ(found.real, data_);
    ASSERT_TRUE(ExchangeNames(data_, link_));
    ASSERT_EQ(Mount(found.real), kRefused);
    ASSERT_TRUE(ExchangeNames(data_, link_));
  }
}

TEST_P(TaskMountsTest, AThousandMountsWhileAnyPartIsSwapped) {
  fs::create_directory(data_ + "/deep");
  Write(data_ + "/deep/word", "given");
  fs::create_directory(outside_ + "/deep");
  Write(outside_ + "/deep/word", "secret");
  int outcomes[] = {0, 0, 0};
  const PathSwapper swapper(data_, link_);
  for (int i = 0; i < kSwaps; ++i) ++outcomes[Mount(data_ + "/deep")];
  EXPECT_EQ(outcomes[kOther], 0);
  EXPECT_GT(outcomes[kGiven], 0);
  EXPECT_GT(outcomes[kRefused], 0);
  EXPECT_GE(swapper.swaps(), kSwaps);
}

TEST_P(TaskMountsTest, AUsersTaskGetsNoMoreThanTheUserMay) {
  ASSERT_EQ(::chmod(root_.c_str(), 0755), 0);
  rules_.owner = {4321, 4322, {5001}};
  const std::string open = data_ + "/open";  // behind data_, which is closed
  fs::create_directory(open);
  Write(open + "/word", "given");
  const auto given = [&](uid_t uid, gid_t gid, mode_t mode) {
    if (::chown(data_.c_str(), uid, gid) != 0 || ::chmod(data_.c_str(), mode) != 0) return kOther;
    const PathAnswer found = Look(open);
    const Outcome outcome = Mount(open);
    EXPECT_EQ(found.error, outcome == kGiven ? 0 : EACCES) << "the look and the mount say the same";
    return outcome;
  };
  EXPECT_EQ(given(0, 0, 0755), kGiven);
  EXPECT_EQ(given(0, 0, 0700), kRefused) << "root may";
  EXPECT_EQ(given(1234, 1234, 0700), kRefused) << "another user";
  EXPECT_EQ(given(4321, 0, 0700), kGiven) << "its own";
  EXPECT_EQ(given(0, 4322, 0750), kGiven) << "its group's";
  EXPECT_EQ(given(0, 5001, 0770), kGiven) << "a further group's";
  EXPECT_EQ(given(0, 5002, 0770), kRefused) << "another group's";
  ASSERT_EQ(::chmod(data_.c_str(), 0755), 0);
  EXPECT_EQ(Look(data_ + "/new", true).error, EACCES) << "nor is anything made";
  EXPECT_FALSE(fs::exists(data_ + "/new"));
}

// ROOT/jobs/7, where the policy says so: the operator's folders above are root's, what is below is the user's.
TEST_P(TaskMountsTest, TheClustersFolderForSavesIsMadeForItsUser) {
  ASSERT_EQ(::chmod(root_.c_str(), 0755), 0);
  rules_.owner = {4321, 4322, {}};
  const std::string saves = users_ + "/jobs/7";
  ASSERT_EQ(Look(saves, true).error, EACCES) << "a job that names it";
  ASSERT_EQ(Look(saves, true, true).real, saves);
  struct stat info {};
  ASSERT_EQ(::stat((users_ + "/jobs").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 0u);
  EXPECT_EQ(info.st_mode & 0777, 0711u);
  ASSERT_EQ(::stat(saves.c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 4321u);
  EXPECT_EQ(info.st_gid, 4322u);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  Write(saves + "/word", "given");
  const auto mounted = [&](bool by_agent) {
    return InChild([&] { return MountAll(OrderOf(saves, false, by_agent)).ok() ? kGiven : kRefused; });
  };
  ASSERT_EQ(::chmod((users_ + "/jobs").c_str(), 0700), 0);
  EXPECT_EQ(mounted(true), kGiven) << "behind root's folder";
  EXPECT_EQ(mounted(false), kRefused);
  ASSERT_EQ(::chown(saves.c_str(), 1234, 1234), 0);
  EXPECT_EQ(Look(saves, true, true).error, EACCES) << "somebody else's";
  EXPECT_EQ(mounted(true), kRefused);
}

// Where users may write to the root: who owns `jobs`, or may rename in it, would give the next attempt saves of theirs.
TEST_P(TaskMountsTest, TheClustersFolderForSavesIsNobodysToExchange) {
  ASSERT_EQ(::chmod(root_.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(users_.c_str(), 01777), 0);
  rules_.owner = {4321, 4322, {}};
  const std::string jobs = users_ + "/jobs", saves = jobs + "/7";
  const auto has = [&](const std::string& folder, uid_t uid, mode_t mode) {
    fs::create_directories(folder);
    ASSERT_EQ(::chown(folder.c_str(), uid, uid), 0);
    ASSERT_EQ(::chmod(folder.c_str(), mode), 0);
  };
  const auto mounted = [&] {
    return InChild([&] { return MountAll(OrderOf(saves, false, true)).ok() ? kGiven : kRefused; });
  };
  ASSERT_EQ(Look(saves, true, true).real, saves);
  struct stat info {};
  ASSERT_EQ(::stat(jobs.c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 0u) << "the user might have made it";
  EXPECT_EQ(mounted(), kGiven);

  has(jobs, 1234, 0711);
  EXPECT_EQ(Look(saves, true, true).error, EACCES);
  EXPECT_EQ(Look(saves, true, true).why,
            jobs + " belongs to uid 1234: an operator removes it or takes it (chown root)");
  EXPECT_EQ(mounted(), kRefused);
  has(jobs, 0, 0777);
  EXPECT_NE(Look(saves, true, true).why.find("users may exchange what is in it"), std::string::npos);
  EXPECT_EQ(mounted(), kRefused);

  has(jobs, 0, 01777);  // as the operator makes it where root is nobody
  EXPECT_EQ(Look(saves, true, true).real, saves);
  EXPECT_EQ(mounted(), kGiven);
  has(saves, 1234, 0777);
  EXPECT_EQ(Look(saves, true, true).why.find(saves + " belongs to uid 1234, and the job to uid 4321: "), 0u);
  EXPECT_EQ(mounted(), kRefused);
  fs::remove(saves);
  has(data_ + "/own", 4321, 0700);
  fs::create_directory_symlink(data_ + "/own", saves);
  EXPECT_NE(Look(saves, true, true).error, 0) << "a link";
  EXPECT_EQ(mounted(), kRefused);
}

// Made by root for root and, where the agent may, for a user; and by the user.
TEST_P(TaskMountsTest, AThousandCheckpointFoldersWhileAnyPartIsSwapped) {
  ASSERT_EQ(::chmod(root_.c_str(), 0755), 0);
  for (const auto& [owner, folders_owner] : {std::pair(0u, 0u), std::pair(4321u, 0u), std::pair(4321u, 4321u)}) {
    rules_.owner = {owner, owner};
    for (const std::string& folder : {users_, data_}) {
      ASSERT_EQ(::chown(folder.c_str(), folders_owner, folders_owner), 0);
    }
    int made = 0;
    {
      const PathSwapper swapper(data_, link_);
      for (int i = 0; i < kSwaps; ++i) {
        const std::string path =
            data_ + "/" + std::to_string(owner + folders_owner) + "-" + std::to_string(i) + "/ckpt";
        const PathAnswer found = Look(path, true, true);
        if (found.error == 0 && !found.refused) ++made;
      }
      EXPECT_GE(swapper.swaps(), kSwaps);
    }
    if (fs::is_symlink(data_)) {
      ASSERT_TRUE(ExchangeNames(data_, link_));
    }
    EXPECT_GT(made, 0);
    const fs::directory_iterator entries(outside_), end;
    EXPECT_EQ(std::distance(entries, end), 1) << "something was made outside";
    struct stat info {};
    ASSERT_EQ(::stat(outside_.c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, 0u) << "it was given to somebody";
  }
}

// The programs are exchanged while the agent of before still runs: it orders, and this shim mounts.
TEST_P(TaskMountsTest, AnAgentOfBeforeIsObeyed) {
  Write(data_ + "/file", "given");
  const std::string order = R"({"allow":[")" + users_ + R"("],"gid":0,"mounts":[["workdir",")" + data_ + R"(",")" +
                            data_ + R"(",")" + place_ + R"(",false],["mounts[0].source",")" + data_ + R"(",")" + data_ +
                            R"(/file",")" + place_ + R"(-1",true]],"state_dir":")" + root_ + R"(/state","uid":0})";
  const Result<MountOrder> read = ParseMountOrder(order);
  ASSERT_TRUE(read.ok()) << read.status().message();
  const Outcome outcome = InChild([&] {
    if (!MountAll(*read).ok()) return kOther;
    const Result<std::string> word = ReadFile(place_ + "/word", 100), file = ReadFile(place_ + "-1", 100);
    if (!word.ok() || *word != "given" || !file.ok() || *file != "given") return kOther;
    if (::open((place_ + "-1").c_str(), O_WRONLY) >= 0 || errno != EROFS) return kOther;
    return ::mkdir((place_ + "/new").c_str(), 0700) == 0 ? kGiven : kOther;
  });
  EXPECT_EQ(outcome, kGiven);
  EXPECT_TRUE(fs::exists(data_ + "/new"));
  EXPECT_TRUE(fs::is_empty(place_)) << "on the node nothing is mounted";
}

TEST_P(TaskMountsTest, AnAgentOfBeforeGivesNoMoreThanIsTheUsers) {
  ASSERT_EQ(::chmod(root_.c_str(), 0755), 0);
  MountOrder order = OrderOf(data_);
  order.rules.owner = {4321, 4322, {}};
  order.root = "";
  order.mounts[0].target = place_;
  order.mounts[0].by_agent = true;
  const auto given = [&](uid_t uid, mode_t mode) {
    if (::chown(data_.c_str(), uid, 0) != 0 || ::chmod(data_.c_str(), mode) != 0) return kOther;
    return InChild([&] { return MountAll(order).ok() ? kGiven : kRefused; });
  };
  ASSERT_EQ(::chmod(users_.c_str(), 0700), 0);
  EXPECT_EQ(given(4321, 0700), kGiven) << "its own, behind a folder of root's";
  EXPECT_EQ(given(0, 0755), kRefused);
}

TEST_P(TaskMountsTest, SaysWhyItCouldNotMount) {
  const MountOrder order = OrderOf(outside_);
  Write(MountOrderFile(bundle_), ToJson(order));
  EXPECT_EQ(InChild([&] { return static_cast<Outcome>(RunWithMounts(bundle_, {"/bin/true"})); }), kRefused);
  const Status fault = ReadMountFault(bundle_);
  EXPECT_EQ(FaultOf(fault), StartFault::kJob);
  EXPECT_EQ(fault.message().find("workdir " + data_ + " was moved out of what this node gives to jobs"), 0u)
      << fault.message();
}

TEST(MountOrderTest, ReadsBack) {
  const MountOrder order{{{"/data"}, "/state", {1, 2}}, {{"workdir", "/data/link", "/data/w", "/state/0", true}}};
  const Result<MountOrder> back = ParseMountOrder(ToJson(order));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(ToJson(*back), ToJson(order));
  EXPECT_FALSE(ParseMountOrder("{}").ok());
  const char* const kLost =  // a field of today's
      R"({"allow":[],"gid":1,"mounts":[["a","b","c","d",true]],"root":"/r","root_owner":0,"state_dir":"/s","uid":1})";
  EXPECT_FALSE(ParseMountOrder(kLost).ok());
}

TEST(MountOrderTest, OfAnAgentOfBeforeHasNoRoot) {
  const auto read =
      ParseMountOrder(R"({"allow":["/data"],"gid":2,"mounts":[["workdir","/data/l","/data/w","/b/mounts/0",true]],)"
                      R"("state_dir":"/state","uid":1})");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->root, "");
  EXPECT_EQ(read->rules.owner, (TaskUser{1, 2, {}}));
  ASSERT_EQ(read->mounts.size(), 1U);
  EXPECT_EQ(read->mounts[0].target, "/b/mounts/0");
  EXPECT_TRUE(read->mounts[0].read_only && read->mounts[0].by_agent && !read->mounts[0].own);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TaskMountsTest);
INSTANTIATE_TEST_SUITE_P(Root, TaskMountsTest,
                         testing::ValuesIn(::geteuid() == 0 ? std::vector<bool>{true} : std::vector<bool>{}),
                         [](const auto&) { return "Root"; });

}  // namespace
}  // namespace glim::nodeagent
