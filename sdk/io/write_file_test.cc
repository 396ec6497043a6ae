#include "sdk/io/write_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "sdk/io/read_file.h"
#include "sdk/io/testing/temp_folder.h"
#include "sdk/io/unique_fd.h"

namespace glim {
namespace {

class WriteFile : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string Text(const std::string& name) const { return ReadFile(Path(name), 1 << 20).value(); }
  int ModeOf(const std::string& name) const {
    struct stat info {};
    return ::stat(Path(name).c_str(), &info) == 0 ? static_cast<int>(info.st_mode & 07777) : -1;
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      names.push_back(entry.path().filename());
    return names;
  }

  TempFolder folder_;
  const UniqueFd fd_{::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
};

TEST_F(WriteFile, WritesWholeAndLeavesNothingBeside) {
  for (const std::string text : {"first", "second, longer", "", "x"}) {
    for (const Durability durability : {Durability::kProcess, Durability::kMachine}) {
      for (const bool sole_writer : {false, true}) {
        ASSERT_TRUE(WriteFileAtomically(Path("file"), text, {durability, {}, sole_writer}).ok());
        EXPECT_EQ(Text("file"), text);
      }
    }
  }
  EXPECT_THAT(Names(), testing::ElementsAre("file"));
}

TEST_F(WriteFile, TheModeIsAsToldWhateverTheUmask) {
  const mode_t before = ::umask(0077);
  EXPECT_TRUE(WriteFileAtomically(Path("private"), "x", Durability::kProcess).ok());
  EXPECT_TRUE(WriteFileIn(fd_.get(), "for all", "x", {Durability::kProcess, 0644}).ok());
  EXPECT_TRUE(WriteFileIn(fd_.get(), "by umask", "x").ok());
  ::umask(before);
  EXPECT_EQ(ModeOf("private"), 0600);
  EXPECT_EQ(ModeOf("for all"), 0644);
  EXPECT_EQ(ModeOf("by umask"), 0600);
}

TEST_F(WriteFile, AFailedWriteLeavesTheOldContent) {
  ASSERT_TRUE(WriteFileAtomically(Path("file"), "old", Durability::kProcess).ok());
  std::filesystem::create_directory(Path("file.tmp"));  // in the way
  const Status status = WriteFileAtomically(Path("file"), "new", Durability::kProcess);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), testing::HasSubstr(Path("file")));
  EXPECT_EQ(Text("file"), "old");
  std::filesystem::create_directory(Path("folder"));
  EXPECT_FALSE(WriteFileIn(fd_.get(), "folder", "new").ok());
  EXPECT_THAT(Names(), testing::UnorderedElementsAre("file", "file.tmp", "folder"));
  EXPECT_EQ(WriteFileAtomically(Path("gone/file"), "", Durability::kProcess).code(), StatusCode::kNotFound);
  EXPECT_EQ(WriteFileIn(fd_.get(), "../file", "").code(), StatusCode::kInvalidArgument);
}

TEST_F(WriteFile, ASoleWriterTakesOverWhatItsKilledPredecessorLeft) {
  ASSERT_TRUE(WriteFileAtomically(Path("file.tmp"), "half of a longer text", {Durability::kProcess, 0777}).ok());
  ASSERT_TRUE(WriteFileAtomically(Path("file"), "x", Durability::kProcess).ok());
  EXPECT_EQ(Text("file"), "x");
  EXPECT_EQ(ModeOf("file"), 0600);
  EXPECT_THAT(Names(), testing::ElementsAre("file"));
}

TEST_F(WriteFile, APathWithoutAFolderIsInTheWorkingFolder) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  EXPECT_TRUE(WriteFileAtomically("file", "x", Durability::kMachine).ok());
  std::filesystem::current_path(before);
  EXPECT_EQ(Text("file"), "x");
  EXPECT_TRUE(WriteFileAtomically("/dev/shm/../../" + Path("file"), "y", Durability::kProcess).ok());
  EXPECT_EQ(Text("file"), "y");
}

TEST_F(WriteFile, OfAllWhoCreateAtOnceOneIsTold) {
  std::vector<std::thread> threads;
  std::atomic<int> told = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const Result<bool> created = CreateFileIn(fd_.get(), "file", std::to_string(i), {Durability::kProcess});
      EXPECT_TRUE(created.ok());
      if (created.ok() && *created) ++told;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(told, 1);
  EXPECT_EQ(Text("file").size(), 1u);
  EXPECT_THAT(Names(), testing::ElementsAre("file"));
}

// As users write to a cluster's folder of snapshots.
TEST_F(WriteFile, WritesWhereItMayNotRead) {
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0333), 0);
  std::thread([&] {
    if (::geteuid() == 0) ::setfsuid(61002);  // of this thread; root may read everything
    EXPECT_LT(::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0);
    for (const Durability durability : {Durability::kProcess, Durability::kMachine}) {
      const Status status = WriteFileAtomically(Path("file"), "text", durability);
      EXPECT_TRUE(status.ok()) << status.message();
    }
    const UniqueFd folder(::open(folder_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const Result<bool> created = CreateFileIn(folder.get(), "new", "text", {Durability::kMachine});
    EXPECT_TRUE(created.ok() && *created);
    EXPECT_EQ(ReadFile(Path("file"), 10).value(), "text");
  }).join();
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0700), 0);
  EXPECT_THAT(Names(), testing::UnorderedElementsAre("file", "new"));
}

TEST_F(WriteFile, ALinkTakesThePlaceOfAFileOrALink) {
  ASSERT_TRUE(WriteFileIn(fd_.get(), "link", "a file").ok());
  for (const char* target : {"one", "another"}) {
    ASSERT_TRUE(ReplaceLink(fd_.get(), "link", target).ok());
    EXPECT_EQ(std::filesystem::read_symlink(Path("link")), target);
  }
  EXPECT_THAT(Names(), testing::ElementsAre("link"));
}

TEST_F(WriteFile, WhatAKilledWriterLeavesIsKnownByItsName) {
  EXPECT_TRUE(IsTemporary(".base.json.0123456789abcdef.tmp"));
  for (const char* name : {"base.json", "base.json.tmp", ".hidden"}) EXPECT_FALSE(IsTemporary(name)) << name;
}

}  // namespace
}  // namespace glim
