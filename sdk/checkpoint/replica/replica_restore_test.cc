// A node dies with its savers; another process goes on from the neighbour's memory, without a disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "sdk/base/check.h"
#include "sdk/checkpoint/load/checkpoint.h"
#include "sdk/checkpoint/load/load_newest.h"
#include "sdk/checkpoint/load/load_range.h"
#include "sdk/checkpoint/replica/testing/replica.h"
#include "sdk/checkpoint/save/saver.h"

namespace glim::checkpoint {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the helpers of this folder
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kElements = 700'001;
constexpr std::uint32_t kWorld = 2;

std::vector<float> Values(std::uint64_t step, std::uint64_t rows) {
  std::vector<float> values(rows);
  for (std::uint64_t i = 0; i < rows; ++i) values[i] = static_cast<float>(step * 1000 + i % 977);
  return values;
}

SaveTensor TensorOf(const std::vector<float>& values) {
  const auto data = std::as_bytes(std::span(values));
  return {{"weights", DType::kF32, {values.size()}}, Placement::kReplicated, {}, data, false};
}

Result<SaveReport> Save(const std::string& folder, const std::string& peer, std::uint32_t rank, std::uint32_t world,
                        std::uint64_t step) {
  SaverOptions options;
  options.path = folder;
  options.job = std::to_string(kJob);
  options.rank = rank;
  options.world = world;
  options.split_bytes = kChunkBytes;
  options.replica = MakeReplicaWriter(peer, OptionsFor("tcp", 1, rank, world)).value();
  auto saver = Saver::Create(options, [] { return std::int64_t{1}; });
  if (!saver.ok()) return saver.status();
  const std::vector<float> values = Values(step, kElements);
  const SaveTensor tensor = TensorOf(values);
  auto handle = (*saver)->SaveAsync(step, {&tensor, 1}, {}, {});
  if (!handle.ok()) return handle.status();
  return (*handle)->Wait();
}

struct RestoreTest : ::testing::Test {
  std::string folder = ::testing::TempDir() + "replica-restore-" + std::to_string(::getpid());
  void SetUp() override { std::filesystem::remove_all(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }
};

TEST_F(RestoreTest, AfterTheDeathOfANodeTheNeighboursMemoryIsEnough) {
  const ProcessService service("tcp", "64MiB");
  std::vector<pid_t> node;
  std::vector<int> told;
  for (std::uint32_t rank = 0; rank < kWorld; ++rank) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const Result<SaveReport> report = Save(folder, service.address(), rank, kWorld, 11);
      const bool good = report.ok() && report->replica.has_value() && report->replica->ok();
      GLIM_CHECK(good, report.ok() ? "no replica" : report.status().message());
      GLIM_CHECK(::write(ends[1], "x", 1) == 1, "tell");
      for (;;) ::pause();
    }
    ::close(ends[1]);
    node.push_back(child);
    told.push_back(ends[0]);
  }
  for (const int end : told) {
    char byte = 0;
    ASSERT_EQ(::read(end, &byte, 1), 1) << "a saver has failed";
    ::close(end);
  }
  for (const pid_t process : node) ::kill(process, SIGKILL);
  for (const pid_t process : node) ::waitpid(process, nullptr, 0);
  std::filesystem::remove_all(folder);

  auto source = OpenReplicaSource({service.address()}, OptionsFor("tcp", 2, 0, 1));
  ASSERT_TRUE(source.ok()) << source.status().message();
  ASSERT_THAT((*source)->Whole().value(), ElementsAre(CheckpointId{1, 11}));
  EXPECT_THAT((*source)->holders(), IsEmpty()) << "nothing is open";
  auto checkpoint = OpenCheckpoint(**source, {1, 11});
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_THAT((*source)->holders(), ElementsAre(service.place()));
  std::vector<float> values(kElements);
  const LoadRange range{"weights", 0, std::as_writable_bytes(std::span(values))};
  const auto loaded = (*checkpoint)->Load({&range, 1});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(values, Values(11, kElements));
  EXPECT_TRUE((*checkpoint)->Verify().ok()) << "the shards' headers too";
}

TEST_F(RestoreTest, ASaveIsGoodWithoutItsReplicaAndSaysSo) {
  std::string address;
  {
    const ProcessService service("tcp", "64MiB");
    address = service.address();
  }
  const Result<SaveReport> report = Save(folder, address, 0, 1, 5);
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_TRUE(report->replica.has_value());
  EXPECT_EQ(report->replica->status().code(), StatusCode::kUnavailable);
  const auto directory = Directory::Open(folder, "");
  ASSERT_TRUE(directory.ok());
  EXPECT_THAT((*directory)->Visible().value(), ElementsAre(CheckpointId{1, 5}));
}

TEST_F(RestoreTest, WhatTheNeighbourHasLostComesFromTheDisk) {
  const ProcessService service("tcp", "64MiB");
  ASSERT_TRUE(Save(folder, service.address(), 0, 1, 5)->replica->ok());
  auto source = OpenReplicaSource({service.address()}, OptionsFor("tcp", 2, 0, 1));
  ASSERT_TRUE(source.ok());
  ASSERT_TRUE(DropReplicas(service.address(), OptionsFor("tcp", 2, 0, 1)).ok());
  const auto directory = Directory::Open(folder, "");
  ASSERT_TRUE(directory.ok());
  std::vector<float> values(kElements);
  std::vector<Status> failures;
  const auto loaded = LoadNewest(
      **directory, {}, source->get(), {},
      [&](const Checkpoint&) -> Result<std::vector<LoadRange>> {
        return std::vector<LoadRange>{{"weights", 0, std::as_writable_bytes(std::span(values))}};
      },
      [&](CheckpointId, const Status& status) { failures.push_back(status); });
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(*loaded, (CheckpointId{1, 5}));
  EXPECT_EQ(failures.size(), 1U) << "the neighbour's";
  EXPECT_EQ(values, Values(5, kElements));
}

}  // namespace
}  // namespace glim::checkpoint
