#include "nodeagent/os/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "nodeagent/testing/temp_folder.h"

namespace glim::nodeagent {
namespace {

int ModeOf(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<int>(info.st_mode & 0777) : -1;
}

TEST(Files, WritesWholeAndPrivate) {
  TempFolder folder;
  const std::string path = folder.path() + "/file";
  for (const std::string text : {"first", "second, longer", "", "x"}) {
    for (Durability durability : {Durability::kProcess, Durability::kMachine}) {
      ASSERT_TRUE(WriteFileAtomically(path, text, durability).ok());
      EXPECT_EQ(*ReadFile(path, 100), text);
    }
  }
  EXPECT_EQ(ModeOf(path), 0600);
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST(Files, AFailedWriteLeavesTheOldContent) {
  TempFolder folder;
  const std::string path = folder.path() + "/file";
  ASSERT_TRUE(WriteFileAtomically(path, "old", Durability::kProcess).ok());
  std::filesystem::create_directory(path + ".tmp");  // in the way
  const Status status = WriteFileAtomically(path, "new", Durability::kProcess);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find(path), std::string::npos) << status.message();
  EXPECT_EQ(*ReadFile(path, 100), "old");
}

TEST(Files, ReadingIsBounded) {
  TempFolder folder;
  const std::string path = folder.path() + "/file";
  EXPECT_EQ(ReadFile(path, 10).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(WriteFileAtomically(path, std::string(11, 'x'), Durability::kProcess).ok());
  EXPECT_EQ(ReadFile(path, 10).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(ReadFile(path, 11)->size(), 11u);
}

TEST(Files, AStateFolderMustBePrivate) {
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

}  // namespace
}  // namespace glim::nodeagent
