// What goes wrong in a save reaches its handle, leaves the checkpoint before as it was, and the next save works.
#include <gmock/gmock.h>

#include "sdk/checkpoint/save/testing/saver_fixture.h"
#include "sdk/checkpoint/save/testing/small_disk.h"

namespace glim::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SaveAndWait;

class SaverFaults : public SaverFixture {};

TEST_F(SaverFaults, AFullDiskFailsTheSaveAndNothingElse) {
  const testing::SmallDisk disk(path(), "24m");
  if (!disk.error().empty()) GTEST_SKIP() << "mounting needs root: " << disk.error();
  SaverOptions options = Options();
  options.keep.newest = 1;
  const SaveTensor fits = Bytes(8 << 20, 1);
  const SaveTensor fits_too = Bytes(8 << 20, 2);
  {
    const auto saver = Make(options);
    ASSERT_TRUE(Save(*saver, 1, fits).ok());
    const Status full = Save(*saver, 2, Bytes(20 << 20, 3));
    EXPECT_EQ(full.code(), StatusCode::kResourceExhausted) << full.message();
    EXPECT_FALSE(IsThere({1, 2})) << "what was written is gone";
    EXPECT_TRUE(IsIn(Newest(), fits));
    ASSERT_TRUE(Save(*saver, 3, fits_too).ok());
  }
  EXPECT_TRUE(IsIn(Newest(), fits_too));
  EXPECT_FALSE(IsThere({1, 1}));
}

TEST_F(SaverFaults, AMissingPartIsWaitedForSoLongAndItsRankNamed) {
  SaverOptions options = Options(0, 3);
  options.parts_timeout_ms = 30;
  {
    const auto zero = Make(options);
    const auto one = Make(Options(1, 3));
    const auto two = Make(Options(2, 3));
    const SaveTensor a = Bytes(100, 1, "a");
    const SaveTensor b = Bytes(100, 2, "b");
    const SaveTensor c = Bytes(100, 3, "c");
    ASSERT_TRUE(Save(*one, 1, b).ok()) << "a part is all that a rank but 0 has to do";
    const Status status = Save(*zero, 1, a);
    EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
    EXPECT_EQ(status.field(), "rank 2");
    EXPECT_THAT(FilesOf({1, 1}), ElementsAre("part-00001.json", "shard-00001-of-00003.safetensors"));

    ASSERT_TRUE(Save(*one, 2, b).ok());
    ASSERT_TRUE(Save(*two, 2, c).ok());
    ASSERT_TRUE(Save(*zero, 2, a).ok());
    EXPECT_THAT(FilesOf({1, 1}), IsEmpty()) << "rank 0 has cleared it for the next one's sake";
  }
  EXPECT_FALSE(IsThere({1, 1}));
  EXPECT_EQ(Newest("c").size(), 100u);
}

TEST_F(SaverFaults, ATryAtAStepNeverTouchesTheShardOfAnEarlierTry) {
  const SaveTensor a = Bytes(100, 1, "a");
  const SaveTensor b = Bytes(100, 2, "b");
  const SaveTensor b_again = Bytes(100, 3, "b");
  ASSERT_TRUE(Save(*Make(Options(1, 2)), 5, b).ok());
  ASSERT_TRUE(Save(*Make(Options(1, 2)), 5, b_again).ok());
  ASSERT_TRUE(Save(*Make(Options(0, 2)), 5, a).ok());
  EXPECT_TRUE(FilesOf({1, 5}).contains("shard-00001-of-00002.safetensors"));
  EXPECT_TRUE(FilesOf({1, 5}).contains("shard-00001-of-00002-2.safetensors"));
  EXPECT_TRUE(IsIn(Newest("b"), b_again));
}

TEST_F(SaverFaults, PartsOfAnotherSaveAreNotTaken) {
  SaverOptions options = Options(0, 2);
  options.parts_timeout_ms = 20;
  ASSERT_TRUE(Save(*Make(Options(1, 3)), 5, Bytes(100, 1, "b")).ok());
  EXPECT_EQ(Save(*Make(options), 5, Bytes(100, 2, "a")).reason(), "PARTS_MISSING");
}

TEST_F(SaverFaults, RanksThatDisagreeAreToldTheTensor) {
  ASSERT_TRUE(Save(*Make(Options(1, 2)), 1, Bytes(100, 1, "same")).ok());
  const Status status = Save(*Make(Options(0, 2)), 1, Bytes(200, 2, "same"));
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.field(), "same");
  const auto directory = Directory::Open(path(), "").value();
  EXPECT_THAT(directory->All().value(), IsEmpty());
}

TEST_F(SaverFaults, AShardThatVanishedIsNotPublished) {
  ASSERT_TRUE(Save(*Make(Options(1, 2)), 1, Bytes(100, 1, "b")).ok());
  std::filesystem::remove(path() + "/" + PathOf({1, 1}) + "/shard-00001-of-00002.safetensors");
  const Status status = Save(*Make(Options(0, 2)), 1, Bytes(100, 2, "a"));
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_EQ(status.field(), "shard-00001-of-00002.safetensors");
}

TEST_F(SaverFaults, AnAttemptThatWasSupersededSavesNothing) {
  const auto zombie = Make(Options());
  const SaveTensor tensor = Bytes(100, 1);
  ASSERT_TRUE(Save(*zombie, 1, tensor).ok());
  SaverOptions options = Options();
  options.attempt = 2;
  const auto heir = Make(options);
  EXPECT_EQ(heir->base(), (CheckpointId{1, 1}));
  EXPECT_EQ(Save(*zombie, 2, Bytes(100, 2)).reason(), "SUPERSEDED");
  EXPECT_TRUE(IsIn(Newest(), tensor));
}

TEST_F(SaverFaults, ADirectoryThatVanishesIsSaid) {
  const auto saver = Make(Options());
  ASSERT_TRUE(Save(*saver, 1, Bytes(100, 1)).ok());
  std::filesystem::remove_all(path());
  EXPECT_EQ(Save(*saver, 2, Bytes(100, 1)).code(), StatusCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(path())) << "it is not made again behind its owner's back";
}

TEST_F(SaverFaults, MoreTensorsThanThereIsMemoryForAreRefused) {
  const auto saver = Make(Options());
  SaveTensor tensor = Bytes(1, 1);
  tensor.info.shape = {std::uint64_t{1} << 50};
  tensor.data = {tensor.data.data(), std::size_t{1} << 50};  // refused before it is read
  const auto refused = saver->SaveAsync(1, {&tensor, 1}, {}, {});
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(Save(*saver, 1, Bytes(100, 1)).ok());
}

}  // namespace
}  // namespace glim::checkpoint
