// A save that finds no room makes some: by the oldest of several good saves, never by the last.
#include <gmock/gmock.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <tuple>

#include "sdk/checkpoint/save/copier.h"
#include "sdk/checkpoint/save/image_pool.h"
#include "sdk/checkpoint/save/layout_cache.h"
#include "sdk/checkpoint/save/publisher.h"
#include "sdk/checkpoint/save/testing/saver_fixture.h"
#include "sdk/checkpoint/save/testing/small_disk.h"
#include "sdk/io/io_error.h"

namespace glim::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kMiB = 1 << 20;

std::uint64_t BytesUnder(const std::string& path) {
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

// Writes as long as all files below `root` fit into `limit`, and then says `error`, as a quota would. `late` as some
// network file systems do: only when all was sent.
class QuotaWriter final : public FileWriter {
 public:
  QuotaWriter(std::string root, const std::uint64_t* limit, int error, bool late)
      : root_(std::move(root)), limit_(limit), error_(error), late_(late) {}
  void Register(std::span<const std::byte> memory) override { writer_->Register(memory); }
  void Forget() override { writer_->Forget(); }
  Result<IoReport> WriteAsItComes(int folder, const std::string& name, std::span<const std::byte> image,
                                  const std::function<void(std::uint64_t)>& wait_for) override {
    if (BytesUnder(root_) + image.size() <= *limit_) return writer_->WriteAsItComes(folder, name, image, wait_for);
    if (late_) wait_for(image.size());
    return IoError(error_, "write " + name);
  }

 private:
  const std::string root_;
  const std::uint64_t* limit_;
  const int error_;
  const bool late_;
  const std::unique_ptr<FileWriter> writer_ = MakeFileWriter({}, root_).value();
};

// (what the system says, late)
class QuotaTest : public SaverFixture, public ::testing::WithParamInterface<std::tuple<int, bool>> {
 protected:
  QuotaTest() { Attempt(1); }

  // A process of attempt `number`.
  void Attempt(std::uint32_t number) {
    SaverOptions options = Options();
    options.attempt = number;
    options.keep.newest = 3;
    auto directory = Directory::Open(path(), options.job).value();
    ASSERT_TRUE(directory->BeginAttempt(number).ok());
    auto writer = std::make_unique<QuotaWriter>(path(), &limit_, std::get<0>(GetParam()), std::get<1>(GetParam()));
    publisher_ = std::make_unique<Publisher>(options, std::move(directory), std::move(writer), testing::StandingClock);
    attempt_ = number;
  }

  Status SaveOf(std::uint64_t step, const SaveTensor& tensor) {
    LayoutCache layouts(0, 1, SaverOptions().split_bytes);
    const auto layout = layouts.For({&tensor, 1}).value();
    ImagePool pool(1);
    EXPECT_TRUE(pool.Grow(layout->file_bytes + 4096).ok());
    std::memcpy(pool.image(0).data(), layout->header.data(), layout->header.size());
    CopyRanges(pool.image(0), {&tensor, 1}, layout->copies, 1, [](std::uint64_t) {});
    const auto progress = std::make_shared<CopyProgress>();
    progress->Finish({});
    SaveRequest request{.image = pool.image(0).first(layout->file_bytes),
                        .layout = layout,
                        .progress = progress,
                        .metadata = {{"step", std::to_string(step)}},
                        .asked = {},
                        .report = {}};
    request.report.step = step;
    const Result<SaveReport> report = publisher_->Save(std::move(request), [](const SaveReport&) {});
    publisher_->Forget();
    if (report.ok()) publisher_->Prune();
    if (report.ok()) made_room_ += report->made_room;
    return report.ok() ? Status::Ok() : report.status();
  }
  Status SaveMiB(std::uint64_t step, std::uint64_t mib) { return SaveOf(step, Bytes(mib * kMiB, step)); }
  std::vector<CheckpointId> Visible() const { return Directory::Open(path(), "").value()->Visible().value(); }
  std::vector<std::string> StepFolders() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path() + "/attempt-" + std::to_string(attempt_))) {
      if (entry.is_directory()) names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  std::uint64_t limit_ = 15 * kMiB;
  std::unique_ptr<Publisher> publisher_;
  std::uint32_t attempt_ = 0;
  std::uint64_t made_room_ = 0;  // as the reports say
};

INSTANTIATE_TEST_SUITE_P(Ways, QuotaTest, ::testing::Combine(::testing::Values(ENOSPC, EDQUOT), ::testing::Bool()),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param) == ENOSPC ? "Disk" : "Quota") +
                                  (std::get<1>(info.param) ? "Late" : "");
                         });

TEST_P(QuotaTest, WithRoomForThreeAndNoneForAFourthEachSaveIsMade) {
  for (std::uint64_t step = 9; step < 100; step += 10) {
    ASSERT_TRUE(SaveMiB(step, 4).ok()) << step;
    EXPECT_EQ(made_room_, step < 39 ? 0 : (step - 29) / 10) << step;
  }
  EXPECT_THAT(Visible(), ElementsAre(CheckpointId{1, 79}, CheckpointId{1, 89}, CheckpointId{1, 99}));
  EXPECT_TRUE(IsIn(Newest(), Bytes(4 * kMiB, 99)));
  EXPECT_THAT(StepFolders(), ElementsAre("step-00000079", "step-00000089", "step-00000099"));
}

TEST_P(QuotaTest, ALargerStateTakesTheRoomOfSeveral) {
  for (const std::uint64_t step : {9, 19, 29}) ASSERT_TRUE(SaveMiB(step, 4).ok());
  ASSERT_TRUE(SaveMiB(39, 10).ok());
  EXPECT_THAT(Visible(), ElementsAre(CheckpointId{1, 29}, CheckpointId{1, 39}));
}

TEST_P(QuotaTest, WhatDoesNotFitBesideTheLastGoodOneFailsAndLeavesThat) {
  for (const std::uint64_t step : {9, 19}) ASSERT_TRUE(SaveMiB(step, 4).ok());
  const Status status = SaveMiB(29, 14);
  EXPECT_TRUE(IsDiskFull(status)) << status.message();
  EXPECT_THAT(status.message(), HasSubstr(std::strerror(std::get<0>(GetParam()))));
  EXPECT_THAT(Visible(), ElementsAre(CheckpointId{1, 19}));
  EXPECT_TRUE(IsIn(Newest(), Bytes(4 * kMiB, 19)));
  EXPECT_THAT(StepFolders(), ElementsAre("step-00000019")) << "nothing of the try that failed";
  ASSERT_TRUE(SaveMiB(39, 4).ok());
}

TEST_P(QuotaTest, WhereOthersFillTheDiskTheBaseStaysAndTheNextSaveAfterRoomIsMade) {
  for (const std::uint64_t step : {9, 19, 29}) ASSERT_TRUE(SaveMiB(step, 4).ok());
  Attempt(2);
  limit_ = 6 * kMiB;  // others have taken the rest
  EXPECT_TRUE(IsDiskFull(SaveMiB(39, 4)));
  EXPECT_THAT(Visible(), ElementsAre(CheckpointId{1, 29})) << "what this attempt goes on from is the last good one";
  EXPECT_THAT(StepFolders(), IsEmpty());
  limit_ = 9 * kMiB;
  ASSERT_TRUE(SaveMiB(49, 4).ok());
  ASSERT_TRUE(SaveMiB(59, 4).ok());
  EXPECT_THAT(Visible(), ElementsAre(CheckpointId{2, 49}, CheckpointId{2, 59})) << "the base may go by then";
}

TEST_P(QuotaTest, WhatAKilledSaveLeftGoesBeforeAnyGoodOne) {
  for (const std::uint64_t step : {9, 19}) ASSERT_TRUE(SaveMiB(step, 4).ok());
  const std::string left = path() + "/" + PathOf({1, 29}) + "/shard-00000-of-00001.safetensors";
  fs::create_directories(fs::path(left).parent_path());
  std::ofstream(left) << "half of one";
  fs::resize_file(left, 4 * kMiB);
  Attempt(2);
  ASSERT_TRUE(SaveMiB(39, 4).ok());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_THAT(Visible(), ElementsAre(CheckpointId{1, 9}, CheckpointId{1, 19}, CheckpointId{2, 39}));
}

class SmallDiskTest : public SaverFixture {};

TEST_F(SmallDiskTest, EachSaveIsMadeWhereThreeFit) {
  const testing::SmallDisk disk(path(), "15m");
  if (!disk.error().empty()) GTEST_SKIP() << "mounting needs root: " << disk.error();
  const auto saver = Make(Options());
  for (std::uint64_t step = 9; step < 100; step += 10) {
    const Status status = Save(*saver, step, Bytes(4 * kMiB, step));
    ASSERT_TRUE(status.ok()) << status.message();
  }
  EXPECT_TRUE(IsIn(Newest(), Bytes(4 * kMiB, 99)));
}

// Whoever finds no room makes some, and what one has made the others use.
TEST_F(SmallDiskTest, SeveralRanksMakeRoomForOneSaveTogether) {
  constexpr std::uint32_t kRanks = 4;
  const testing::SmallDisk disk(path(), "9m");
  if (!disk.error().empty()) GTEST_SKIP() << "mounting needs root: " << disk.error();
  const auto said = testing::InProcesses(kRanks, [&](std::uint32_t rank) -> std::string {
    const auto saver = Make(Options(rank, kRanks));
    for (std::uint64_t step = 1; step <= 20; ++step) {
      const Status status = Save(*saver, step, Bytes(kMiB, step, "rank " + std::to_string(rank)));
      if (!status.ok()) return "step " + std::to_string(step) + ": " + status.message();
      // As in a training, nobody is a step ahead.
      const std::string manifest = path() + "/" + PathOf({1, step}) + "/manifest.json";
      while (!fs::exists(manifest)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return "";
  });
  EXPECT_THAT(said, ::testing::Each(std::string()));
  EXPECT_TRUE(IsIn(Newest("rank 3"), Bytes(kMiB, 20, "rank 3")));
}

}  // namespace
}  // namespace glim::checkpoint
