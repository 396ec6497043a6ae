#include "sdk/checkpoint/testing/stepped_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "sdk/checkpoint/directory/testing/small_checkpoint.h"

namespace glim::checkpoint {
namespace {

using ::testing::ElementsAre;

// Makes a folder, and in it a file of four bytes. The errno of what failed.
int MakeFolderAndFile(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0777) != 0) return errno;
  const int fd = ::open((folder + "/file").c_str(), O_WRONLY | O_CREAT, 0666);
  if (fd < 0) return errno;
  for (ssize_t done = 0; done < 4;) {
    const ssize_t written = ::write(fd, &"data"[done], static_cast<std::size_t>(4 - done));
    if (written < 0) return errno;
    done += written;
  }
  return 0;
}

class SteppedProcessTest : public ::testing::Test {
 protected:
  std::function<int()> Body() {
    return [this] { return MakeFolderAndFile(target_); };
  }

  TestFolder folder_;
  const std::string target_ = folder_.path() + "/made";
};

TEST_F(SteppedProcessTest, StandsBeforeEachCall) {
  SteppedProcess process(Body());
  ASSERT_TRUE(process.call());
  EXPECT_EQ(process.call()->name, "mkdir");
  EXPECT_EQ(process.call()->path, target_);
  EXPECT_FALSE(std::filesystem::exists(target_));

  process.Step();
  EXPECT_TRUE(std::filesystem::exists(target_));
  ASSERT_TRUE(process.call());
  EXPECT_EQ(process.call()->name, "openat");
  EXPECT_EQ(process.call()->path, target_ + "/file");

  process.Step();
  ASSERT_TRUE(process.call());
  EXPECT_EQ(process.call()->name, "write");
  EXPECT_EQ(process.call()->path, target_ + "/file");
  EXPECT_EQ(std::filesystem::file_size(target_ + "/file"), 0U);

  EXPECT_EQ(process.RunToEnd(), 0);
  EXPECT_EQ(std::filesystem::file_size(target_ + "/file"), 4U);
}

TEST_F(SteppedProcessTest, AFailedCallIsNotMadeAndTheProcessSeesTheError) {
  SteppedProcess process(Body());
  process.Step();
  process.StepFailing(ENOSPC);
  EXPECT_EQ(process.RunToEnd(), ENOSPC);
  EXPECT_FALSE(std::filesystem::exists(target_ + "/file"));
}

TEST_F(SteppedProcessTest, AShortWriteTakesHalf) {
  SteppedProcess process(Body());
  process.Step();
  process.Step();
  process.StepShort();
  EXPECT_EQ(std::filesystem::file_size(target_ + "/file"), 2U);
  EXPECT_EQ(process.RunToEnd(), 0);
  EXPECT_EQ(std::filesystem::file_size(target_ + "/file"), 4U);
}

TEST_F(SteppedProcessTest, KilledBeforeACallItDoesNotMakeIt) {
  {
    SteppedProcess process(Body());
    process.Kill();
    EXPECT_FALSE(process.call());
    EXPECT_EQ(process.RunToEnd(), 128 + 9);
  }
  EXPECT_FALSE(std::filesystem::exists(target_));
}

TEST_F(SteppedProcessTest, AllCallsInOrder) {
  int exit_status = -1;
  std::vector<std::string> names;
  for (const FileCall& call : FileCallsOf(Body(), &exit_status)) names.push_back(call.name);
  EXPECT_THAT(names, ElementsAre("mkdir", "openat", "write"));
  EXPECT_EQ(exit_status, 0);
}

}  // namespace
}  // namespace glim::checkpoint
