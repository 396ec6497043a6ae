// Where archives of code are laid, and that users are not in each other's way.
#include "cli/snapshot/snapshot_store.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sdk/base/snapshot_name.h"
#include "sdk/io/read_file.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::cli {
namespace {

const std::string kHash(64, 'a');

class SnapshotStoreTest : public testing::Test {
 protected:
  struct stat InfoOf(const std::string& path) const {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info;
  }
  void MakeAll(mode_t mode) const {
    std::filesystem::create_directory(all_);
    ASSERT_EQ(::chmod(all_.c_str(), mode), 0);
  }

  TempFolder root_;
  const std::string all_ = root_.path() + "/snapshots";
};

TEST_F(SnapshotStoreTest, AnArchiveLiesInItsUsersOwnFolder) {
  ASSERT_TRUE(StoreSnapshot(root_.path(), kHash, "code").ok());
  const std::string path = SnapshotPath(root_.path(), ::geteuid(), kHash);
  EXPECT_EQ(*ReadFile(path, 10), "code");
  EXPECT_EQ(InfoOf(path).st_mode & 07777, 0640u);
  EXPECT_EQ(InfoOf(std::filesystem::path(path).parent_path()).st_mode & 07777, 0700u);
  EXPECT_EQ(InfoOf(all_).st_mode & 07777, 01733u);
}

// Where agents are not root they are in the group of `snapshots`.
TEST_F(SnapshotStoreTest, InASetgidFolderTheGroupMayEnterTheUsersWhateverTheUmask) {
  MakeAll(03777);
  const mode_t before = ::umask(077);
  const Status status = StoreSnapshot(root_.path(), kHash, "code");
  EXPECT_EQ(::umask(before), 077u) << "it is the caller's";
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(InfoOf(all_ + "/" + std::to_string(::geteuid())).st_mode & 07777, 02710u);
}

TEST_F(SnapshotStoreTest, NoLinkIsFollowed) {
  MakeAll(01733);
  std::filesystem::create_directory(root_.path() + "/elsewhere");
  std::filesystem::create_directory_symlink(root_.path() + "/elsewhere", all_ + "/" + std::to_string(::geteuid()));
  EXPECT_EQ(StoreSnapshot(root_.path(), kHash, "code").reason(), "NO_SNAPSHOT");
  EXPECT_TRUE(std::filesystem::is_empty(root_.path() + "/elsewhere"));
}

// What only root may do, who may be anybody: without root there is no instance.
class SnapshotUsersTest : public SnapshotStoreTest, public testing::WithParamInterface<uid_t> {
 protected:
  SnapshotUsersTest() {
    EXPECT_EQ(::chmod(root_.path().c_str(), 0755), 0);
    MakeAll(01733);
  }
  // Whether `work` says yes, in a process that is this user.
  static bool As(uid_t uid, const std::function<bool()>& work) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      const bool good = ::setgroups(0, nullptr) == 0 && ::setgid(uid) == 0 && ::setuid(uid) == 0 && work();
      ::_exit(good ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
};

TEST_P(SnapshotUsersTest, TheSameCodeOfTwoUsersIsEachOnesOwn) {
  const uid_t first = GetParam(), second = first + 1;
  for (const uid_t uid : {first, second}) {
    EXPECT_TRUE(As(uid, [&] { return StoreSnapshot(root_.path(), kHash, "code").ok(); })) << uid;
    EXPECT_EQ(InfoOf(SnapshotPath(root_.path(), uid, kHash)).st_uid, uid);
  }
  EXPECT_TRUE(As(second, [&] {
    return ::access(SnapshotPath(root_.path(), second, kHash).c_str(), R_OK) == 0 &&
           ::access(SnapshotPath(root_.path(), first, kHash).c_str(), F_OK) != 0 && errno == EACCES;
  })) << "nobody learns who has which code";
}

TEST_P(SnapshotUsersTest, WhoMakesAnothersFolderIsNamed) {
  const uid_t kim = GetParam(), lee = kim + 1;
  const std::string folder = all_ + "/" + std::to_string(kim);
  ASSERT_TRUE(As(lee, [&] { return ::mkdir(folder.c_str(), 0777) == 0 && ::chmod(folder.c_str(), 0777) == 0; }));
  EXPECT_TRUE(As(kim, [&] {
    const Status status = StoreSnapshot(root_.path(), kHash, "code");
    return status.reason() == "NO_SNAPSHOT" && status.field() == "code" && !status.fix().empty() &&
           status.message().find(folder + " belongs to uid " + std::to_string(lee)) != std::string::npos;
  }));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

INSTANTIATE_TEST_SUITE_P(Root, SnapshotUsersTest,
                         testing::ValuesIn(::geteuid() == 0 ? std::vector<uid_t>{61002} : std::vector<uid_t>{}));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SnapshotUsersTest);

}  // namespace
}  // namespace glim::cli
