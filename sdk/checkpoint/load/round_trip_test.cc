// What was saved is what is loaded: of any type, size and placement, by any number of ranks, on any other number.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "sdk/checkpoint/directory/testing/small_checkpoint.h"
#include "sdk/checkpoint/load/checkpoint.h"
#include "sdk/checkpoint/load/load_range.h"
#include "sdk/checkpoint/load/rows.h"
#include "sdk/checkpoint/save/testing/ranks.h"

namespace glim::checkpoint {
namespace {

using testing::DataJob;
using testing::InProcesses;
using testing::OptionsOf;
using testing::SaveAndWait;
using testing::StandingClock;

// All ranks save step 1 at once, as processes.
void SaveInProcesses(const std::string& path, const DataJob& job) {
  const auto world = static_cast<std::uint32_t>(job.ranks.size());
  const std::vector<std::string> said = InProcesses(world, [&](std::uint32_t rank) -> std::string {
    const auto saver = Saver::Create(OptionsOf(path, rank, world), StandingClock);
    if (!saver.ok()) return saver.status().message();
    const Result<SaveReport> report = SaveAndWait(**saver, 1, job.ranks[rank]);
    return report.ok() ? "" : report.status().message();
  });
  ASSERT_EQ(said, std::vector<std::string>(world));
}

// The bytes of `whole` that it asked for.
bool Holds(const LoadRange& range, const std::vector<std::byte>& whole) {
  return std::ranges::equal(range.into, std::span(whole).subspan(range.at, range.into.size()));
}

std::unique_ptr<Checkpoint> Opened(const Directory& directory) {
  return OpenCheckpoint(directory, directory.Visible().value().back(), {}).value();
}

// Every tensor whole, in one call.
void ExpectAllLoaded(Checkpoint& checkpoint, const DataJob& job) {
  std::map<std::string, std::vector<std::byte>> loaded;
  std::vector<LoadRange> ranges;
  for (const auto& [name, bytes] : job.whole) {
    loaded[name].resize(bytes.size());
    ranges.push_back({name, 0, loaded[name]});
  }
  const Result<IoReport> report = checkpoint.Load(ranges);
  ASSERT_TRUE(report.ok()) << report.status().message();
  for (const auto& [name, bytes] : job.whole) {
    ASSERT_TRUE(loaded[name] == bytes) << name;
    const TensorEntry* entry = checkpoint.manifest().Find(name);
    ASSERT_NE(entry, nullptr) << name;
    ASSERT_EQ(entry->info, job.infos.at(name));
  }
  EXPECT_EQ(checkpoint.manifest().tensors.size(), job.whole.size());
}

class RoundTrip : public ::testing::Test {
 protected:
  std::string path() const { return folder_.path() + "/ckpt"; }

 private:
  TestFolder folder_;
};

TEST_F(RoundTrip, EveryTypeScalarsEmptyTensorsAndOddSizes) {
  DataJob job(1);
  for (int type = 0; type < kDTypes; ++type) {
    const auto dtype = static_cast<DType>(type);
    const std::string name(SafetensorsNameOf(dtype));
    job.AddOwn({name + ".scalar", dtype, {}}, 0);
    job.AddOwn({name + ".empty", dtype, {3, 0, 5}}, 0);
    job.AddOwn({name + ".odd", dtype, {7, 11, 13}}, 0);
    job.AddReplicated({name + ".replicated", dtype, {4097}});
  }
  job.AddOwn({"one byte short of two chunks", DType::kU8, {2 * kChunkBytes - 1}}, 0);
  job.AddOwn({"one byte more than two chunks", DType::kU8, {2 * kChunkBytes + 1}}, 0);
  SaveInProcesses(path(), job);
  const auto directory = Directory::Open(path(), "").value();
  const auto checkpoint = Opened(*directory);
  ExpectAllLoaded(*checkpoint, job);
  EXPECT_TRUE(checkpoint->Verify().ok()) << checkpoint->Verify().message();
  EXPECT_EQ(checkpoint->manifest().metadata.at("step"), "1");
  EXPECT_EQ(checkpoint->manifest().created_at_ms, StandingClock());
}

TEST_F(RoundTrip, ACheckpointWithoutATensorIsOne) {
  const DataJob job(1);
  SaveInProcesses(path(), job);
  const auto directory = Directory::Open(path(), "").value();
  ExpectAllLoaded(*Opened(*directory), job);
}

TEST_F(RoundTrip, TenThousandSmallTensors) {
  DataJob job(1);
  for (int i = 0; i < 10'000; ++i) {
    job.AddOwn({"layer." + std::to_string(i), DType::kU8, {static_cast<std::uint64_t>(i % 700)}}, 0);
  }
  SaveInProcesses(path(), job);
  const auto directory = Directory::Open(path(), "").value();
  const auto checkpoint = Opened(*directory);
  ExpectAllLoaded(*checkpoint, job);
  EXPECT_TRUE(checkpoint->Verify().ok());
}

class Worlds : public RoundTrip, public ::testing::WithParamInterface<std::uint32_t> {};

TEST_P(Worlds, RanksAsProcessesSaveAWholeAndEveryOtherNumberOfRanksFindsItsRows) {
  Rng rng(GetParam());
  DataJob job(GetParam());
  job.AddRandom(rng, 25);
  job.AddRows({"rows.large", DType::kF16, {1'300, 4'099}});  // two chunks and a half
  job.AddRows({"rows.fewer than ranks", DType::kI32, {3, 7}});
  job.AddReplicated({"replicated.split", DType::kU8, {3 * kChunkBytes + 5}});
  SaveInProcesses(path(), job);
  const auto directory = Directory::Open(path(), "").value();
  const auto checkpoint = Opened(*directory);
  ExpectAllLoaded(*checkpoint, job);
  EXPECT_TRUE(checkpoint->Verify().ok()) << checkpoint->Verify().message();
  std::ptrdiff_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(path() + "/" + PathOf(checkpoint->id()))) {
    files += file.is_regular_file();
  }
  EXPECT_EQ(files, GetParam() + 1) << "the shards and the manifest: the parts are gone";

  for (std::uint32_t world = 1; world <= 8; ++world) {
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      std::map<std::string, std::vector<std::byte>> parts;
      std::vector<LoadRange> ranges;
      for (const auto& [name, info] : job.infos) {
        if (info.shape.empty() || info.shape[0] == 0) continue;
        const Rows rows = EvenRows(info.shape[0], rank, world);
        parts[name].resize(job.whole.at(name).size() / info.shape[0] * rows.count);
        const Result<LoadRange> range = RangeOfRows(info, rows, parts[name]);
        ASSERT_TRUE(range.ok()) << range.status().message();
        ranges.push_back(*range);
      }
      const Result<IoReport> report = checkpoint->Load(ranges);
      ASSERT_TRUE(report.ok()) << report.status().message();
      for (const LoadRange& range : ranges) {
        ASSERT_TRUE(Holds(range, job.whole.at(range.tensor))) << range.tensor << ", rank " << rank << " of " << world;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Worlds, ::testing::Range(1u, 9u));

TEST_F(RoundTrip, AnyRangesOfATensorInAnyOrder) {
  DataJob job(2);
  job.AddReplicated({"t", DType::kU8, {5 * kChunkBytes + 777}});
  SaveInProcesses(path(), job);
  const auto directory = Directory::Open(path(), "").value();
  const auto checkpoint = Opened(*directory);
  const std::vector<std::byte>& whole = job.whole.at("t");
  Rng rng(9);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::vector<std::byte>> places;
    std::vector<LoadRange> ranges;
    for (int i = 0; i < 6; ++i) {
      const auto at = static_cast<std::uint64_t>(rng.Between(0, static_cast<std::int64_t>(whole.size())));
      const auto bytes = static_cast<std::uint64_t>(rng.Between(0, static_cast<std::int64_t>(whole.size() - at)));
      places.emplace_back(rng.OneIn(2) ? bytes : std::min<std::uint64_t>(bytes, 100));
      ranges.push_back({"t", at, {}});
    }
    for (std::size_t i = 0; i < ranges.size(); ++i) ranges[i].into = places[i];
    const Result<IoReport> report = checkpoint->Load(ranges);
    ASSERT_TRUE(report.ok()) << report.status().message();
    for (const LoadRange& range : ranges) {
      ASSERT_TRUE(Holds(range, whole)) << range.into.size() << " bytes at " << range.at;
    }
  }
}

TEST(EvenRows, AreAllRowsInOrderAndDifferByAtMostOne) {
  for (std::uint64_t rows = 0; rows < 40; ++rows) {
    for (std::uint32_t world = 1; world < 12; ++world) {
      std::uint64_t next = 0;
      for (std::uint32_t rank = 0; rank < world; ++rank) {
        const Rows mine = EvenRows(rows, rank, world);
        EXPECT_EQ(mine.first, next);
        EXPECT_LE(mine.count - rows / world, 1u);
        next += mine.count;
      }
      EXPECT_EQ(next, rows);
    }
  }
}

TEST(RangeOfRows, RefusesWhatIsNotThere) {
  std::vector<std::byte> place(24);
  const TensorInfo info{"t", DType::kF32, {4, 3}};
  EXPECT_EQ(RangeOfRows(info, {1, 2}, place)->at, 12u);
  EXPECT_EQ(RangeOfRows(info, {3, 2}, place).status().field(), "t");
  EXPECT_EQ(RangeOfRows(info, {1, 1}, place).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(RangeOfRows({"s", DType::kF32, {}}, {0, 1}, place).status().field(), "s");
}

}  // namespace
}  // namespace glim::checkpoint
