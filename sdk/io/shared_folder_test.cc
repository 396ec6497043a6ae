#include "sdk/io/shared_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "sdk/io/testing/temp_folder.h"
#include "sdk/io/unique_fd.h"

namespace glim {
namespace {

class SharedFolderTest : public testing::Test {
 protected:
  // What a file and a folder get in a folder of this mode.
  NewModes In(mode_t mode) {
    EXPECT_EQ(::chmod(folder_.path().c_str(), mode), 0);
    const UniqueFd open(::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return *ModesIn(open.get());
  }

  TempFolder folder_;
};

TEST_F(SharedFolderTest, WhatIsMadeIsItsOwnersUnlessTheFolderIsItsGroups) {
  for (const mode_t mode : {0700, 0755, 0750, 0777, 01777, 02700, 02710}) {
    EXPECT_EQ(In(mode).file, 0600u) << std::oct << mode;
    EXPECT_EQ(In(mode).folder, 0700u) << std::oct << mode;
  }
  for (const mode_t mode : {02750, 02770, 02755, 03770}) {
    EXPECT_EQ(In(mode).file, 0640u) << std::oct << mode;
    EXPECT_EQ(In(mode).folder, 02750u) << std::oct << mode;
  }
}

TEST_F(SharedFolderTest, AFolderInItIsShared) {
  for (const auto& [above, wanted] : {std::pair(0755, 0700), std::pair(02770, 02750)}) {
    ASSERT_EQ(::chmod(folder_.path().c_str(), static_cast<mode_t>(above)), 0);
    const std::string path = folder_.path() + "/" + std::to_string(above);
    ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
    const UniqueFd parent(::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const UniqueFd made(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_TRUE(ShareFolder(parent.get(), made.get()).ok());
    struct stat info {};
    ASSERT_EQ(::fstat(made.get(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, static_cast<mode_t>(wanted));
  }
}

}  // namespace
}  // namespace glim
