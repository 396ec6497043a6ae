// What every BatchReader does, whichever way it reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <map>

#include "sdk/base/rng.h"
#include "sdk/checkpoint/io/batch_reader.h"
#include "sdk/checkpoint/io/make_channel.h"
#include "sdk/checkpoint/io/range_reader.h"
#include "sdk/checkpoint/io/testing/io_cases.h"

namespace glim::checkpoint {
namespace {

using testing::HasSubstr;

Status Nothing(std::size_t) { return Status::Ok(); }

class ReaderContract : public testing::TestWithParam<IoCase> {
 protected:
  std::unique_ptr<BatchReader> Reader() {
    auto reader = MakeBatchReader(OptionsFor(GetParam()), folder_.path());
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    return std::move(reader).value();
  }

  // Files "0", "1", ... of these sizes, in the page cache or not.
  void MakeFiles(const std::vector<std::size_t>& sizes, bool cached) {
    for (const std::size_t bytes : sizes) {
      images_.emplace_back(bytes, images_.size() + 1);
      names_.push_back(std::to_string(names_.size()));
      folder_.WriteAll(names_.back(), images_.back().bytes());
      if (!cached) folder_.Drop(names_.back());
    }
  }

  bool IsRight(const ReadRange& range) {
    const auto due = images_[range.file].bytes().subspan(range.offset, range.into.size());
    return std::equal(due.begin(), due.end(), range.into.begin());
  }

  IoFolder folder_;
  std::vector<Image> images_;
  std::vector<std::string> names_;
};

INSTANTIATE_TEST_SUITE_P(Ways, ReaderContract, testing::ValuesIn(AllIoCases()),
                         [](const auto& info) { return NameOf(info.param); });

// Any ranges of any files in any order, to any address, overlapping in the files: all of them, each told of once when
// it is right, and no byte beside them.
TEST_P(ReaderContract, RandomRangesAllCome) {
  MakeFiles({700'000, 4096, 1, 0, 300'001}, true);
  const auto reader = Reader();
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed);
    const auto below = [&rng](std::uint64_t n) {
      return static_cast<std::uint64_t>(rng.Between(0, static_cast<std::int64_t>(n) - 1));
    };
    if (seed % 2 == 0) folder_.Drop("0");
    // Into one memory, with gaps that stay as they are.
    constexpr std::byte kGuard{0xA5};
    std::vector<ReadRange> ranges;
    std::vector<std::uint64_t> sizes, places;
    std::uint64_t total = below(64);
    for (std::uint64_t i = 0, count = 1 + below(60); i < count; ++i) {
      const auto file = static_cast<std::uint32_t>(below(images_.size()));
      const std::uint64_t size = images_[file].bytes().size();
      const std::uint64_t offset = below(size + 1);
      const std::uint64_t longest = rng.OneIn(4) ? size : 20'000;
      ranges.push_back({file, offset, {}});
      sizes.push_back(std::min(below(longest + 1), size - offset));
      places.push_back(total);
      total += sizes.back() + below(64);
    }
    std::vector<std::byte> memory(total, kGuard);
    std::vector<bool> mine(total, false);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      ranges[i].into = std::span(memory).subspan(places[i], sizes[i]);
      std::fill_n(mine.begin() + static_cast<std::ptrdiff_t>(places[i]), sizes[i], true);
    }
    std::vector<int> told(ranges.size(), 0);
    const Result<IoReport> report = reader->Read(folder_.fd(), names_, ranges, [&](std::size_t i) {
      ++told.at(i);
      EXPECT_TRUE(IsRight(ranges[i])) << "seed " << seed << ", range " << i;
      return Status::Ok();
    });
    ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.status().message();
    EXPECT_THAT(told, testing::Each(1)) << "seed " << seed;
    for (std::size_t i = 0; i < total; ++i) {
      ASSERT_TRUE(mine[i] || memory[i] == kGuard) << "seed " << seed << ": a byte beside the ranges";
    }
  }
}

TEST_P(ReaderContract, AllOfAFileIntoAlignedMemory) {
  MakeFiles({1'000'003}, false);
  Image into(1'000'003, 99);
  const std::vector<ReadRange> ranges = {{0, 0, into.bytes()}};
  const Result<IoReport> report = Reader()->Read(folder_.fd(), names_, ranges, Nothing);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(into.ToString() == images_[0].ToString());
  EXPECT_EQ(report->bytes, 1'000'003u);
  EXPECT_EQ(report->kind, GetParam().kind);
}

TEST_P(ReaderContract, WhatThePageCacheHasIsTakenFromThereAndTheRestFromTheDisk) {
  MakeFiles({1 << 20}, false);
  if (!folder_.Drop("0")) GTEST_SKIP() << "this file system is all page cache";
  const bool can_be_direct = GetParam().direct && GetParam().kind != IoKind::kUsrbio;
  const auto reader = Reader();
  Image into(1 << 20, 9);
  const std::vector<ReadRange> ranges = {{0, 0, into.bytes()}};
  const Result<IoReport> cold = reader->Read(folder_.fd(), names_, ranges, Nothing);
  ASSERT_TRUE(cold.ok()) << cold.status().message();
  EXPECT_EQ(cold->direct, can_be_direct);
  EXPECT_TRUE(IsRight(ranges[0]));

  // Now the page cache is given it; a machine that is short of memory may take a page away again at once.
  bool from_cache = false;
  for (int attempt = 0; attempt < 20 && !from_cache; ++attempt) {
    ASSERT_TRUE(folder_.ReadAll("0") == images_[0].ToString());
    const Result<IoReport> warm = reader->Read(folder_.fd(), names_, ranges, Nothing);
    ASSERT_TRUE(warm.ok()) << warm.status().message();
    EXPECT_TRUE(IsRight(ranges[0]));
    from_cache = !warm->direct;
  }
  EXPECT_TRUE(from_cache);
}

TEST_P(ReaderContract, NothingWantedIsNothingRead) {
  const Result<IoReport> report = Reader()->Read(folder_.fd(), {}, {}, Nothing);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->bytes, 0u);
}

TEST_P(ReaderContract, AFileThatIsTooShortIsDataLossAndNamed) {
  MakeFiles({10'000, 10'000}, true);
  std::filesystem::resize_file(folder_.path() + "/1", 9'999);
  Image into(20'000, 1);
  const std::vector<ReadRange> ranges = {{0, 0, into.bytes().first(10'000)}, {1, 0, into.bytes().subspan(10'000)}};
  const Status status = Reader()->Read(folder_.fd(), names_, ranges, Nothing).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_EQ(status.message(), "1 ends after 9999 bytes where 10000 are due");
}

// The cut comes between two requests: those before it may have read what is gone, those after it cannot.
TEST_P(ReaderContract, AFileThatIsCutWhileItIsReadIsDataLoss) {
  constexpr std::uint64_t kRequestsBefore = 2;  // of 16
  const IoOptions options = OptionsFor(GetParam());
  for (const std::size_t left : {std::size_t{0}, std::size_t{500'000}, std::size_t{(1 << 20) - 1}}) {
    MakeFiles({1 << 20}, true);
    const auto file = static_cast<std::uint32_t>(names_.size() - 1);
    Result<std::unique_ptr<Channel>> channel = MakeChannel(options, folder_.path(), IoDirection::kRead);
    ASSERT_TRUE(channel.ok()) << channel.status().message();
    std::uint64_t requests = 0;
    const auto cut = [&](std::uint64_t number, IoRequest&) -> std::optional<std::int64_t> {
      requests = number + 1;
      if (number == kRequestsBefore) std::filesystem::resize_file(folder_.path() + "/" + names_[file], left);
      return {};
    };
    const auto reader =
        MakeRangeReader(std::make_unique<FaultyChannel>(std::move(channel).value(), cut, options.depth), options);
    Image into(1 << 20, 1);
    const auto first = into.bytes().first(100'000);
    const std::vector<ReadRange> ranges = {{file, 0, first}, {file, 100'000, into.bytes().subspan(100'000)}};
    const Status status = reader->Read(folder_.fd(), names_, ranges, Nothing).status();
    EXPECT_GT(requests, kRequestsBefore) << "the file was read before it was cut";
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << left;
    EXPECT_THAT(status.message(), HasSubstr(names_[file] + " ends after "));
  }
}

TEST_P(ReaderContract, WhatIsNoFileIsDataLossAndNamed) {
  folder_.WriteAll("target", {});
  std::filesystem::create_symlink("target", folder_.path() + "/link");
  ASSERT_EQ(::mkfifo((folder_.path() + "/pipe").c_str(), 0600), 0);
  ASSERT_EQ(::mkdir((folder_.path() + "/folder").c_str(), 0700), 0);
  Image into(10, 1);
  const std::vector<ReadRange> ranges = {{0, 0, into.bytes()}};
  const auto reader = Reader();
  const std::map<std::string, std::string> due = {{"gone", "gone is missing"},
                                                  {"link", "link is not a file"},
                                                  {"pipe", "pipe is not a file"},
                                                  {"folder", "folder is not a file"}};
  for (const auto& [name, message] : due) {
    const Status status = reader->Read(folder_.fd(), {name}, ranges, Nothing).status();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_EQ(status.message(), message);
  }
  EXPECT_EQ(reader->Read(folder_.fd(), {"../a"}, ranges, Nothing).status().code(), StatusCode::kInvalidArgument);
}

TEST_P(ReaderContract, ARangeOfNoFileOrBeyondAllNumbersIsRefused) {
  MakeFiles({100}, true);
  Image into(10, 1);
  const auto reader = Reader();
  const std::vector<ReadRange> no_file = {{0, 0, into.bytes()}, {1, 0, into.bytes()}};
  EXPECT_EQ(reader->Read(folder_.fd(), names_, no_file, Nothing).status().field(), "ranges[1]");
  const std::vector<ReadRange> beyond = {{0, ~std::uint64_t{0} - 5, into.bytes()}};
  EXPECT_EQ(reader->Read(folder_.fd(), names_, beyond, Nothing).status().field(), "ranges[0]");
}

TEST_P(ReaderContract, WhatDoneSaysEndsTheReadAndTheReaderGoesOn) {
  MakeFiles({1 << 20}, true);
  const auto reader = Reader();
  Image into(1 << 20, 1);
  std::vector<ReadRange> ranges;
  for (std::size_t at = 0; at < into.bytes().size(); at += 1 << 16) {
    ranges.push_back({0, at, into.bytes().subspan(at, 1 << 16)});
  }
  std::size_t told = 0;
  const Status status =
      reader
          ->Read(folder_.fd(), names_, ranges,
                 [&](std::size_t) { return ++told == 3 ? Status(StatusCode::kDataLoss, "a bad chunk") : Status::Ok(); })
          .status();
  EXPECT_EQ(status.message(), "a bad chunk");
  EXPECT_EQ(told, 3u);
  ASSERT_TRUE(reader->Read(folder_.fd(), names_, ranges, Nothing).ok());
  EXPECT_TRUE(into.ToString() == images_[0].ToString());
}

TEST_P(ReaderContract, NoDescriptorStaysOpen) {
  MakeFiles({100'000, 100'000}, true);
  const std::size_t before = OpenDescriptors();
  {
    const auto reader = Reader();
    Image into(100'000, 1);
    const std::vector<ReadRange> ranges = {{0, 0, into.bytes()}, {1, 0, into.bytes()}};
    const std::vector<ReadRange> too_long = {{0, 1, into.bytes()}};
    const std::size_t made = OpenDescriptors();
    ASSERT_TRUE(reader->Read(folder_.fd(), names_, ranges, Nothing).ok());
    ASSERT_FALSE(reader->Read(folder_.fd(), names_, too_long, Nothing).ok());
    EXPECT_EQ(OpenDescriptors(), made);
  }
  EXPECT_LE(OpenDescriptors(), before);
}

}  // namespace
}  // namespace glim::checkpoint
