// An attempt that is to begin on a full disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "sdk/checkpoint/directory/directory.h"
#include "sdk/checkpoint/directory/testing/directory_fixture.h"
#include "sdk/checkpoint/testing/shared_text.h"
#include "sdk/checkpoint/testing/stepped_process.h"

namespace glim::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FullDiskTest : public DirectoryFixture {
 protected:
  void StartAfresh(std::uint64_t newest) {
    fs::remove_all(path());
    const auto directory = OpenAs("job 1");
    Begin(*directory, 1);
    for (std::uint64_t step = 10; step <= newest; step += 10) Save(*directory, {1, step});
  }
  // A process of attempt 2; 100: it was told another base than `base`.
  std::function<int()> BeginnerFrom(CheckpointId base) {
    return [this, base] {
      const auto directory = Directory::Open(path(), "job 1");
      if (!directory.ok()) return words_.Leave(directory.status());
      const auto begun = (*directory)->BeginAttempt(2);
      return begun.ok() && *begun != base ? 100 : words_.Leave(begun.status());
    };
  }

  SharedText words_;
};

// At any of its calls in its own folder.
TEST_F(FullDiskTest, AnAttemptBeginsByTheOldestSaveAndKeepsItsBase) {
  for (const int error : {ENOSPC, EDQUOT}) {
    std::size_t made = 0;
    for (std::size_t k = 0;; ++k) {
      StartAfresh(30);
      SteppedProcess beginner(BeginnerFrom({1, 30}));
      auto is_the_one = [&, seen = std::size_t{0}]() mutable {
        return beginner.call()->path.find("attempt-2") != std::string::npos && seen++ == k;
      };
      while (beginner.call() && !is_the_one()) beginner.Step();
      if (!beginner.call()) break;
      SCOPED_TRACE(beginner.call()->name + " " + beginner.call()->path + " fails with " + std::strerror(error));
      const bool makes = beginner.call()->name == "mkdirat" || beginner.call()->is_write;
      beginner.StepFailing(error);
      EXPECT_EQ(beginner.RunToEnd(), 0) << words_.text();
      const auto visible = VisibleIn(*OpenAs("job 1"));
      ASSERT_FALSE(visible.empty());
      EXPECT_EQ(visible.back(), (CheckpointId{1, 30}));
      if (!makes) continue;
      ++made;
      EXPECT_THAT(visible, ElementsAre(CheckpointId{1, 20}, CheckpointId{1, 30}));
    }
    EXPECT_GE(made, 2U) << "its folder, and the text of its base";
  }
}

TEST_F(FullDiskTest, AnAttemptThatFindsNoRoomSaysSoAndLeavesTheLastSave) {
  StartAfresh(10);
  SteppedProcess beginner(BeginnerFrom({1, 10}));
  while (beginner.call()) beginner.call()->is_write ? beginner.StepFailing(EDQUOT) : beginner.Step();
  EXPECT_NE(beginner.RunToEnd(), 0);
  EXPECT_THAT(words_.text(), HasSubstr(std::strerror(EDQUOT)));
  EXPECT_EQ(FaultOf(*OpenAs("job 1"), {1, 10}), "");
}

}  // namespace
}  // namespace glim::checkpoint
