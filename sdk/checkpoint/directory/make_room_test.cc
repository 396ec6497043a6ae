// What goes when a save found the disk full.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "sdk/checkpoint/directory/directory.h"
#include "sdk/checkpoint/directory/testing/directory_fixture.h"

namespace glim::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

constexpr char kShardFile[] = "/shard-00000-of-00001.safetensors";

class MakeRoomTest : public DirectoryFixture {
 protected:
  MakeRoomTest() { Begin(*directory_, 1); }

  // For a save of `writing`, by a rule that would keep three.
  Result<bool> Made(CheckpointId writing) { return directory_->MakeRoom(writing, {.newest = 3}, 0); }
  // What a process that was killed in a save leaves.
  void LeaveHalfOf(CheckpointId id) {
    fs::create_directories(At(id));
    Write(At(id) + kShardFile, "half of it");
  }

  std::unique_ptr<Directory> directory_ = OpenAs("job 1");
};

TEST_F(MakeRoomTest, TheOldestGoesUntilOneGoodOneIsLeft) {
  for (const std::uint64_t step : {10, 20, 30}) Save(*directory_, {1, step});
  EXPECT_TRUE(Made({1, 40}).value());
  EXPECT_THAT(VisibleIn(*directory_), ElementsAre(CheckpointId{1, 20}, CheckpointId{1, 30}));
  EXPECT_FALSE(fs::exists(At({1, 10})));
  EXPECT_TRUE(Made({1, 40}).value());
  EXPECT_THAT(VisibleIn(*directory_), ElementsAre(CheckpointId{1, 30}));
  EXPECT_FALSE(Made({1, 40}).value());
  EXPECT_THAT(VisibleIn(*directory_), ElementsAre(CheckpointId{1, 30}));
}

TEST_F(MakeRoomTest, WithoutAnySaveNothingGoes) { EXPECT_FALSE(Made({1, 10}).value()); }

TEST_F(MakeRoomTest, TheBaseIsOneOfThemAndIsKeptWhileItIsTheOnlyGoodOne) {
  Save(*directory_, {1, 10});
  Begin(*directory_, 2);
  EXPECT_FALSE(Made({2, 20}).value());
  EXPECT_THAT(VisibleIn(*directory_), ElementsAre(CheckpointId{1, 10}));
  Save(*directory_, {2, 20});
  EXPECT_TRUE(Made({2, 30}).value());
  EXPECT_THAT(VisibleIn(*directory_), ElementsAre(CheckpointId{2, 20}));
}

TEST_F(MakeRoomTest, OneWithoutAGoodNewerOneStays) {
  Save(*directory_, {1, 10});
  Save(*directory_, {1, 20});
  fs::resize_file(At({1, 20}) + kShardFile, 5);
  EXPECT_EQ(Made({1, 30}).status().reason(), "NONE_GOOD");
  EXPECT_EQ(FaultOf(*directory_, {1, 10}), "");
}

TEST_F(MakeRoomTest, WhatWasLeftUnfinishedGoesFirstAndAlone) {
  Save(*directory_, {1, 10});
  LeaveHalfOf({1, 15});
  Begin(*directory_, 2);
  Save(*directory_, {2, 20});
  LeaveHalfOf({2, 17});
  LeaveHalfOf({2, 30});
  EXPECT_TRUE(Made({2, 40}).value());
  EXPECT_FALSE(fs::exists(At({1, 15})));
  EXPECT_FALSE(fs::exists(At({2, 17})));
  EXPECT_TRUE(fs::exists(At({2, 30}))) << "newer than the newest: another rank may be at work there";
  EXPECT_THAT(VisibleIn(*directory_), ElementsAre(CheckpointId{1, 10}, CheckpointId{2, 20}));
}

TEST_F(MakeRoomTest, AJobThatHasSavedNothingYetMakesRoomByWhatOthersLeftUnfinished) {
  LeaveHalfOf({1, 15});
  Begin(*directory_, 2);
  EXPECT_TRUE(Made({2, 20}).value());
  EXPECT_FALSE(fs::exists(At({1, 15})));
  EXPECT_FALSE(Made({2, 20}).value());
}

TEST_F(MakeRoomTest, EmptyFoldersGoAndMakeNoRoom) {
  Save(*directory_, {1, 10});
  fs::create_directories(At({1, 5}));
  EXPECT_FALSE(Made({1, 20}).value());
  EXPECT_FALSE(fs::exists(At({1, 5})));
}

TEST_F(MakeRoomTest, SavesThatDoNotCountStayWhereNoneCounts) {
  Save(*directory_, {1, 10});
  ASSERT_TRUE(directory_->BeginAttemptFrom(2, {}).ok());
  EXPECT_FALSE(Made({2, 20}).value());
  EXPECT_EQ(FaultOf(*directory_, {1, 10}), "");
}

TEST_F(MakeRoomTest, TheFolderThatIsBeingWrittenStaysEvenWhereItsStepIsLower) {
  Save(*directory_, {1, 10});
  Save(*directory_, {1, 20});
  LeaveHalfOf({1, 15});
  EXPECT_TRUE(Made({1, 15}).value());
  EXPECT_TRUE(fs::exists(At({1, 15}) + kShardFile));
  EXPECT_THAT(VisibleIn(*directory_), ElementsAre(CheckpointId{1, 20}));
}

TEST_F(MakeRoomTest, AnAttemptThatIsOverRemovesNothing) {
  Save(*directory_, {1, 10});
  Save(*directory_, {1, 20});
  fs::create_directory(path() + "/attempt-2");
  EXPECT_EQ(Made({1, 30}).status().reason(), "SUPERSEDED");
  EXPECT_THAT(VisibleIn(*directory_), ElementsAre(CheckpointId{1, 10}, CheckpointId{1, 20}));
}

TEST_F(MakeRoomTest, OfAFailedSaveAllGoesUnlessItWasPublished) {
  Save(*directory_, {1, 10});
  LeaveHalfOf({1, 20});
  Write(At({1, 20}) + "/part-00001.json", "{}");
  EXPECT_TRUE(directory_->RemoveUnfinished({1, 20}).ok());
  EXPECT_FALSE(fs::exists(At({1, 20})));
  EXPECT_TRUE(directory_->RemoveUnfinished({1, 20}).ok()) << "there is nothing to do";
  EXPECT_TRUE(directory_->RemoveUnfinished({1, 10}).ok());
  EXPECT_THAT(VisibleIn(*directory_), ElementsAre(CheckpointId{1, 10}));
}

}  // namespace
}  // namespace glim::checkpoint
