#include "nodeagent/control/disk_use.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "sdk/io/read_file.h"
#include "sdk/io/unique_fd.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

namespace fs = std::filesystem;

class DiskUseTest : public testing::Test {
 protected:
  DiskUseTest() {
    std::string name = testing::TempDir() + "disk-use-XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  ~DiskUseTest() override { EXPECT_EQ(std::system(("rm -rf " + root_).c_str()), 0); }

  static void Fill(const std::string& file) {
    ASSERT_TRUE(WriteFileAtomically(file, std::string(100'000, 'x'), Durability::kProcess).ok());
  }
  // Folders within each other, and a file in the last one, whose path may be longer than any that a call takes.
  static void Dig(const std::string& folder, int levels) {
    UniqueFd at(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    for (int i = 0; i < levels; ++i) {
      ASSERT_EQ(::mkdirat(at.get(), "d", 0700), 0);
      at = UniqueFd(::openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
    ASSERT_TRUE(WriteFileIn(at.get(), "large", std::string(100'000, 'x'), {Durability::kProcess}).ok());
  }

  std::string root_;
};

TEST_F(DiskUseTest, CountsFilesAndFoldersAndNoLink) {
  fs::create_directories(root_ + "/a/b/c");
  Fill(root_ + "/a/b/c/f");
  fs::create_directory_symlink("/usr", root_ + "/a/usr");
  const FolderBytes size = BytesIn(root_ + "/a");
  EXPECT_GE(size.bytes, 100'000);
  EXPECT_LT(size.bytes, 200'000);
  EXPECT_EQ(size.uncounted, "");
  EXPECT_EQ(BytesIn(root_ + "/none").bytes, 0);
}

TEST_F(DiskUseTest, CountsFilesWithPathsThatAreTooLongForACall) {
  UniqueFd at(::open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string name(255, 'n');
  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ(::mkdirat(at.get(), name.c_str(), 0700), 0);
    at = UniqueFd(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ASSERT_TRUE(WriteFileIn(at.get(), "large", std::string(100'000, 'x'), {Durability::kProcess}).ok());
  EXPECT_GE(BytesIn(root_).bytes, 100'000);
  EXPECT_EQ(BytesIn(root_).uncounted, "");
}

TEST_F(DiskUseTest, FoldersTooDeepAreSaidAndCostNothing) {
  Dig(root_, 2500);
  const auto peak = [] {
    const std::string status = ReadFile("/proc/self/status", 1 << 16).value();
    return std::stol(status.substr(status.find("VmHWM:") + 6));
  };
  const long before = peak();
  const FolderBytes size = BytesIn(root_);
  EXPECT_EQ(size.uncounted, "folders more than 100 deep");
  EXPECT_LT(peak() - before, 16 * 1024) << "KiB";
}

TEST_F(DiskUseTest, WhatIsNotCountedToItsEndComesFirstOfTheLargest) {
  for (const char* folder : {"tasks/7.1.0/tmp", "tasks/8.1.0/tmp", "logs/7-1", "checkpoints/7"}) {
    fs::create_directories(root_ + "/" + folder);
  }
  Fill(root_ + "/checkpoints/7/f");
  Dig(root_ + "/tasks/8.1.0/tmp", 200);
  const std::vector<DiskUse> uses = LargestIn(root_, 2);
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].path, "tasks/8.1.0/tmp");
  EXPECT_NE(BytesText(uses[0].size).find(" KiB and folders more than 100 deep"), std::string::npos);
  EXPECT_EQ(uses[1].path, "checkpoints/7");
}

}  // namespace
}  // namespace glim::nodeagent
