#include "sdk/io/folders.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "sdk/io/testing/remove_until_gone.h"
#include "sdk/io/testing/temp_folder.h"
#include "sdk/io/write_file.h"

namespace glim {
namespace {

int ModeOf(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<int>(info.st_mode & 0777) : -1;
}

TEST(Folders, AStateFolderMustBePrivate) {
  TempFolder folder;
  const std::string deep = folder.path() + "/a/b/c";
  ASSERT_TRUE(MakePrivateFolder(deep).ok());
  EXPECT_EQ(ModeOf(deep), 0700);
  EXPECT_TRUE(MakePrivateFolder(deep).ok()) << "again is fine";
  ASSERT_EQ(::chmod(deep.c_str(), 0755), 0);
  const Status open = MakePrivateFolder(deep);
  EXPECT_EQ(open.code(), StatusCode::kPermissionDenied);
  EXPECT_NE(open.fix().find("0700"), std::string::npos);
  ASSERT_TRUE(WriteFileAtomically(folder.path() + "/file", "", Durability::kProcess).ok());
  EXPECT_FALSE(MakePrivateFolder(folder.path() + "/file").ok());
  ASSERT_EQ(::symlink(deep.c_str(), (folder.path() + "/link").c_str()), 0);
  EXPECT_FALSE(MakePrivateFolder(folder.path() + "/link").ok()) << "where it leads may change";
}

// As when a test's agent is gone, and what it started still removes a task's folder.
TEST(Folders, AFolderGoesBesideOthersThatRemoveInIt) {
  TempFolder folder;
  const std::string top = folder.path() + "/top";
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(MakeFolders(top + "/tasks/" + std::to_string(i) + "/in").ok());
  std::jthread other([&] {
    for (int i = 0; i < 2000; ++i) (void)RemoveFolder(top + "/tasks/" + std::to_string(i));
  });
  EXPECT_TRUE(RemoveUntilGone(top));
  EXPECT_FALSE(std::filesystem::exists(top));
}

}  // namespace
}  // namespace glim
