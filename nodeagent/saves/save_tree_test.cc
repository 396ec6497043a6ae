#include "nodeagent/saves/save_tree.h"

#include <fcntl.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "sdk/io/testing/temp_folder.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

using testing::ElementsAre;

TEST(SaveTree, ALocalPathStaysBelowItsFolder) {
  for (const char* good : {"a", "attempt-1/step-00000007", "..a/b..", "a b/\xc3\xa4"}) {
    EXPECT_TRUE(IsLocalPath(good)) << good;
  }
  for (const std::string& bad :
       {std::string(), std::string("/"), std::string("/a"), std::string("a/"), std::string("a//b"), std::string("."),
        std::string(".."), std::string("a/../b"), std::string("./a"), std::string("a/."), std::string("a\0b", 3),
        std::string(5000, 'x')}) {
    EXPECT_FALSE(IsLocalPath(bad)) << bad;
  }
}

class SaveTreeTest : public testing::Test {
 protected:
  SaveTreeTest() : fd_(std::move(OpenFolder(folder_.path())).value()) {
    std::filesystem::create_directories(folder_.path() + "/s/sub");
    std::ofstream(folder_.path() + "/s/b") << "1";
    std::ofstream(folder_.path() + "/s/sub/a") << "22";
  }
  std::vector<std::string> Walk(FolderOrder order) {
    std::vector<std::string> seen;
    const Status status = WalkTree(fd_.get(), "s", {}, order, [&](const TreeEntry& entry) {
      seen.push_back(entry.path + (entry.folder ? "/" : ":" + std::to_string(entry.bytes)));
      return Status::Ok();
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return seen;
  }
  TempFolder folder_;
  UniqueFd fd_;
};

TEST_F(SaveTreeTest, IsWalkedByName) {
  EXPECT_THAT(Walk(FolderOrder::kBefore), ElementsAre("/", "b:1", "sub/", "sub/a:2"));
  EXPECT_THAT(Walk(FolderOrder::kAfter), ElementsAre("b:1", "sub/a:2", "sub/", "/"));
}

TEST_F(SaveTreeTest, IsBounded) {
  const auto visit = [](const TreeEntry&) { return Status::Ok(); };
  EXPECT_TRUE(WalkTree(fd_.get(), "s", {4, 2}, FolderOrder::kBefore, visit).ok());
  EXPECT_EQ(WalkTree(fd_.get(), "s", {3, 2}, FolderOrder::kBefore, visit).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(WalkTree(fd_.get(), "s", {4, 1}, FolderOrder::kBefore, visit).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(WalkTree(fd_.get(), "t", {}, FolderOrder::kBefore, visit).code(), StatusCode::kNotFound);
}

TEST_F(SaveTreeTest, FoldersAreMadeButNeverThroughLinks) {
  EXPECT_TRUE(MakeFoldersBelow(fd_.get(), "x/y/z", std::nullopt, Durability::kMachine).ok());
  EXPECT_TRUE(MakeFoldersBelow(fd_.get(), "x/y/z", std::nullopt, Durability::kMachine).ok()) << "once more";
  EXPECT_TRUE(std::filesystem::is_directory(folder_.path() + "/x/y/z"));
  std::filesystem::create_symlink("/tmp", folder_.path() + "/link");
  EXPECT_FALSE(MakeFoldersBelow(fd_.get(), "link/y", std::nullopt, Durability::kMachine).ok());
  EXPECT_FALSE(OpenBelow(fd_.get(), "link", O_RDONLY).ok());
  EXPECT_TRUE(OpenBelow(fd_.get(), "s/sub/a", O_RDONLY).ok());
}

}  // namespace
}  // namespace glim::nodeagent
