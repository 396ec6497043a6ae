// A base that the scheduler says, instead of the one that the directory would choose.
#include <gmock/gmock.h>

#include "sdk/checkpoint/directory/testing/directory_fixture.h"

namespace glim::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ToldBaseTest : public DirectoryFixture {
 protected:
  void SetUp() override {
    directory_ = OpenAs("job 1");
    Begin(*directory_, 1);
    for (const std::uint64_t step : {10, 20, 30}) Save(*directory_, {1, step});
  }

  std::unique_ptr<Directory> directory_;
};

TEST_F(ToldBaseTest, CountsInsteadOfTheNewestWithThoseBeforeIt) {
  EXPECT_EQ(directory_->BeginAttemptFrom(2, CheckpointId{1, 20}).value(), (CheckpointId{1, 20}));
  EXPECT_THAT(VisibleIn(*directory_), ElementsAre(CheckpointId{1, 10}, CheckpointId{1, 20}));
  Save(*directory_, {2, 25});
  EXPECT_THAT(VisibleIn(*directory_), ElementsAre(CheckpointId{1, 10}, CheckpointId{1, 20}, CheckpointId{2, 25}));
}

TEST_F(ToldBaseTest, NothingMeansThatNothingOlderCounts) {
  EXPECT_EQ(directory_->BeginAttemptFrom(2, {}).value(), std::nullopt);
  EXPECT_THAT(VisibleIn(*directory_), IsEmpty());
}

TEST_F(ToldBaseTest, TheFirstCallersWordCounts) {
  EXPECT_EQ(directory_->BeginAttemptFrom(2, CheckpointId{1, 20}).value(), (CheckpointId{1, 20}));
  EXPECT_EQ(directory_->BeginAttemptFrom(2, CheckpointId{1, 10}).value(), (CheckpointId{1, 20}));
  EXPECT_EQ(Begun(*directory_, 2), (CheckpointId{1, 20}));
  Begin(*directory_, 3);
  EXPECT_EQ(directory_->BeginAttemptFrom(3, {}).value(), (CheckpointId{1, 20}));
}

TEST_F(ToldBaseTest, AnAttemptBetweenMayHaveSavedNothingOrMoreThanWasReported) {
  Begin(*directory_, 2);
  EXPECT_EQ(directory_->BeginAttemptFrom(3, CheckpointId{1, 30}).value(), (CheckpointId{1, 30}));
  Save(*directory_, {3, 40});
  EXPECT_EQ(directory_->BeginAttemptFrom(4, CheckpointId{1, 20}).value(), (CheckpointId{1, 20}));
  EXPECT_THAT(VisibleIn(*directory_), ElementsAre(CheckpointId{1, 10}, CheckpointId{1, 20}));
}

TEST_F(ToldBaseTest, OneThatIsNotThereIsRefusedAndAnotherMayBeSaid) {
  EXPECT_EQ(directory_->BeginAttemptFrom(2, CheckpointId{1, 15}).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(directory_->BeginAttemptFrom(2, CheckpointId{2, 20}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(directory_->BeginAttemptFrom(2, CheckpointId{1, 10}).value(), (CheckpointId{1, 10}));
}

TEST_F(ToldBaseTest, OneThatWasReadElsewhereNeedNotBeThereAndThoseBeforeItCount) {
  EXPECT_EQ(directory_->BeginAttemptFromElsewhere(2, {1, 25}).value(), (CheckpointId{1, 25}));
  EXPECT_THAT(VisibleIn(*directory_), ElementsAre(CheckpointId{1, 10}, CheckpointId{1, 20}));
  EXPECT_EQ(directory_->BeginAttemptFrom(2, CheckpointId{1, 20}).value(), (CheckpointId{1, 25}));
  Save(*directory_, {2, 26});
  EXPECT_THAT(VisibleIn(*directory_), ElementsAre(CheckpointId{1, 10}, CheckpointId{1, 20}, CheckpointId{2, 26}));
  EXPECT_EQ(directory_->BeginAttemptFromElsewhere(3, {3, 30}).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(ToldBaseTest, AZombieIsRefused) {
  Begin(*directory_, 3);
  EXPECT_EQ(directory_->BeginAttemptFrom(2, CheckpointId{1, 20}).status().reason(), "SUPERSEDED");
}

}  // namespace
}  // namespace glim::checkpoint
