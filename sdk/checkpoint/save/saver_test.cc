#include "sdk/checkpoint/save/saver.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <thread>
#include <tuple>

#include "sdk/checkpoint/format/manifest_json.h"
#include "sdk/checkpoint/load/checkpoint.h"
#include "sdk/checkpoint/save/testing/held_replica.h"
#include "sdk/checkpoint/save/testing/saver_fixture.h"

namespace glim::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::HeldReplica;
using testing::SaveAndWait;
using testing::StandingClock;

class SaverTest : public SaverFixture {};

TEST_F(SaverTest, RefusesOptionsThatMakeNoSense) {
  const auto field_of = [&](const std::function<void(SaverOptions&)>& change) {
    SaverOptions options = Options();
    change(options);
    const auto saver = Saver::Create(options, StandingClock);
    return saver.ok() ? "" : saver.status().field();
  };
  EXPECT_EQ(field_of([](SaverOptions& o) { o.path.clear(); }), "path");
  EXPECT_EQ(field_of([](SaverOptions& o) { o.job.clear(); }), "job");
  EXPECT_EQ(field_of([](SaverOptions& o) { o.world = 0; }), "rank");
  EXPECT_EQ(field_of([](SaverOptions& o) { o.rank = 1; }), "rank");
  EXPECT_EQ(field_of([](SaverOptions& o) { o.world = 2, o.when_busy = WhenBusy::kSkip; }), "when_busy");
  EXPECT_EQ(field_of([](SaverOptions& o) { o.images = 3; }), "images");
  EXPECT_EQ(field_of([](SaverOptions& o) { o.copy_threads = 0; }), "copy_threads");
  EXPECT_EQ(field_of([](SaverOptions& o) { o.split_bytes = kChunkBytes + 1; }), "split_bytes");
  EXPECT_EQ(field_of([](SaverOptions& o) { o.keep.newest = 0; }), "keep.newest");
  EXPECT_EQ(field_of([](SaverOptions&) {}), "");
}

TEST_F(SaverTest, TheTensorsMayChangeWhenTheCallHasReturned) {
  const auto saver = Make(Options());
  std::vector<std::byte> memory = testing::NoiseOf(9'000'001, 1);
  const std::vector<std::byte> before = memory;
  SaveTensor tensor;
  tensor.info = {"t", DType::kU8, {memory.size()}};
  tensor.data = memory;
  const auto handle = Begin(*saver, 1, tensor);
  std::fill(memory.begin(), memory.end(), std::byte{0});
  ASSERT_TRUE(handle->Wait().ok());
  EXPECT_TRUE(handle->done());
  EXPECT_TRUE(Newest() == before);
}

TEST_F(SaverTest, SaysWhatItDidAndWhere) {
  const auto saver = Make(Options());
  const SaveTensor tensor = Bytes(5'000'000, 1);
  const Result<SaveReport> report = SaveAndWait(*saver, 7, {&tensor, 1});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->step, 7u);
  EXPECT_EQ(report->path, path() + "/" + PathOf({1, 7}));
  EXPECT_EQ(report->bytes, 4096u + 5'000'000);
  EXPECT_EQ(report->io.bytes, report->bytes);
  EXPECT_LE(report->copy_micros, report->stall_micros);
  EXPECT_LE(report->stall_micros, report->durable_micros);
  EXPECT_FALSE(report->replica.has_value());
  EXPECT_THAT(FilesOf({1, 7}), ElementsAre("manifest.json", "shard-00000-of-00001.safetensors"));
}

// Whatever the umask is; the symbolic link aside, which has no mode.
TEST_F(SaverTest, WhatItWritesIsItsOwnersAloneUnlessTheFolderIsItsGroups) {
  const TestFolder place;
  for (const mode_t umask : {0000, 0022, 0077}) {
    for (const auto& [above, file, folder] : {std::tuple(00755, 0600, 0700), std::tuple(02770, 0640, 02750)}) {
      SaverOptions options = Options();
      const std::string parent = place.path() + "/" + std::to_string(umask) + "-" + std::to_string(above);
      options.path = parent + "/ckpt";
      ASSERT_EQ(::mkdir(parent.c_str(), 0700), 0);
      ASSERT_EQ(::chmod(parent.c_str(), static_cast<mode_t>(above)), 0);
      const mode_t before = ::umask(umask);
      const SaveTensor tensor = Bytes(10, 1);
      const bool saved = SaveAndWait(*Make(options), 3, {&tensor, 1}).ok();
      ::umask(before);
      ASSERT_TRUE(saved);
      for (const auto& entry : std::filesystem::recursive_directory_iterator(parent)) {
        if (entry.is_symlink()) continue;
        struct stat info {};
        ASSERT_EQ(::stat(entry.path().c_str(), &info), 0);
        EXPECT_EQ(info.st_mode & 07777, static_cast<mode_t>(entry.is_directory() ? folder : file)) << entry.path();
      }
    }
  }
}

TEST_F(SaverTest, GoesOnFromTheNewestCheckpointOfTheAttemptBefore) {
  {
    const auto saver = Make(Options());
    EXPECT_FALSE(saver->base().has_value());
    ASSERT_TRUE(Save(*saver, 3, Bytes(10, 1)).ok());
  }
  SaverOptions options = Options();
  options.attempt = 2;
  EXPECT_EQ(Make(options)->base(), (CheckpointId{1, 3}));
  options.attempt = 3;
  options.base_is_told = true;
  EXPECT_EQ(Make(options)->base(), std::nullopt);
}

TEST_F(SaverTest, BadTensorsAreRefusedAndDisturbNothing) {
  const auto saver = Make(Options());
  const SaveTensor good = Bytes(100, 1);
  const std::vector<SaveTensor> twice{good, good};
  const auto refused = saver->SaveAsync(1, twice, {}, {});
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.status().message(), HasSubstr("t"));
  EXPECT_EQ(saver->SaveAsync(1, {&good, 1}, {{"key", "\xff"}}, {}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(IsThere({1, 1}));
  ASSERT_TRUE(Save(*saver, 1, good).ok());
  EXPECT_TRUE(IsIn(Newest(), good));
}

TEST_F(SaverTest, TensorsThatChangeTheirTypeShapeOrNameBetweenSavesAreLaidOutAnew) {
  const auto saver = Make(Options());
  const std::vector<std::byte> data = testing::NoiseOf(48, 1);
  SaveTensor tensor;
  tensor.info = {"t", DType::kU8, {48}};
  tensor.data = data;
  std::uint64_t step = 0;
  for (const TensorInfo& info : {TensorInfo{"t", DType::kU8, {48}}, TensorInfo{"t", DType::kF32, {12}},
                                 TensorInfo{"t", DType::kF32, {3, 4}}, TensorInfo{"u", DType::kF32, {3, 4}}}) {
    tensor.info = info;
    ASSERT_TRUE(Save(*saver, ++step, tensor).ok());
    const auto directory = Directory::Open(path(), "").value();
    const auto checkpoint = OpenCheckpoint(*directory, {1, step}, {}).value();
    ASSERT_EQ(checkpoint->manifest().tensors.size(), 1u);
    EXPECT_EQ(checkpoint->manifest().tensors[0].info, info);
    EXPECT_TRUE(checkpoint->Verify().ok()) << checkpoint->Verify().message();
  }
  tensor.data = tensor.data.first(47);
  EXPECT_EQ(saver->SaveAsync(9, {&tensor, 1}, {}, {}).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(SaverTest, OnDoneIsToldOnceBeforeWaitReturnsByAnotherThread) {
  const auto saver = Make(Options());
  const SaveTensor tensor = Bytes(100, 1);
  for (const bool saved_before : {false, true}) {
    int calls = 0;
    std::thread::id thread;
    Status told;
    const auto handle = saver->SaveAsync(1, {&tensor, 1}, {}, [&](const Result<SaveReport>& report) {
      ++calls;
      thread = std::this_thread::get_id();
      if (!report.ok()) told = report.status();
    });
    const Result<SaveReport> report = (*handle)->Wait();
    EXPECT_EQ(calls, 1);
    EXPECT_NE(thread, std::this_thread::get_id());
    EXPECT_EQ(report.ok(), !saved_before);
    EXPECT_EQ(told.code(), saved_before ? StatusCode::kAlreadyExists : StatusCode::kOk) << "a checkpoint never changes";
  }
}

TEST_F(SaverTest, ASecondSaveIsSkippedWhileOneIsOnItsWayIfAsked) {
  const auto replica = std::make_shared<HeldReplica>();
  SaverOptions options = Options();
  options.replica = replica;
  options.when_busy = WhenBusy::kSkip;
  const auto saver = Make(options);
  replica->Hold();
  const SaveTensor tensor = Bytes(100, 1);
  const auto first = Begin(*saver, 1, tensor);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(Begin(*saver, 2, tensor), nullptr);
  replica->LetGo();
  ASSERT_TRUE(first->Wait().ok());
  const auto third = Begin(*saver, 3, tensor);
  ASSERT_NE(third, nullptr);
  EXPECT_TRUE(third->Wait().ok());
  EXPECT_FALSE(IsThere({1, 2}));
}

TEST_F(SaverTest, ASaveIsDurableBeforeItsReplicaIsThere) {
  const auto replica = std::make_shared<HeldReplica>();
  SaverOptions options = Options();
  options.replica = replica;
  const auto saver = Make(options);
  replica->Hold();
  const auto handle = Begin(*saver, 1, Bytes(100, 1));
  const Result<SaveReport> durable = handle->WaitDurable();
  ASSERT_TRUE(durable.ok()) << durable.status().message();
  EXPECT_TRUE(handle->done());
  EXPECT_TRUE(IsThere({1, 1}));
  EXPECT_GT(durable->durable_micros, 0);
  EXPECT_FALSE(durable->replica.has_value()) << "it is on its way";
  replica->LetGo();
  EXPECT_TRUE(handle->Wait()->replica->ok());
  EXPECT_TRUE(handle->WaitDurable()->replica.has_value());
}

TEST_F(SaverTest, AFailedSaveIsNotDurable) {
  const auto replica = std::make_shared<HeldReplica>();
  SaverOptions options = Options();
  options.replica = replica;
  const auto saver = Make(options);
  ASSERT_TRUE(Begin(*saver, 1, Bytes(100, 1))->Wait().ok());
  EXPECT_EQ(Begin(*saver, 1, Bytes(100, 1))->WaitDurable().status().code(), StatusCode::kAlreadyExists);
}

TEST_F(SaverTest, ASecondSaveWaitsForTheFirstOtherwise) {
  const auto replica = std::make_shared<HeldReplica>();
  SaverOptions options = Options();
  options.replica = replica;
  const auto saver = Make(options);
  replica->Hold();
  const SaveTensor tensor = Bytes(100, 1);
  const auto first = Begin(*saver, 1, tensor);
  auto second = std::async(std::launch::async, [&] { return Begin(*saver, 2, tensor); });
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  replica->LetGo();
  const auto handle = second.get();
  EXPECT_TRUE(first->Wait().ok());
  EXPECT_TRUE(handle->Wait().ok());
}

TEST_F(SaverTest, TwoImagesLetTwoSavesBeOnTheirWay) {
  const auto replica = std::make_shared<HeldReplica>();
  SaverOptions options = Options();
  options.replica = replica;
  options.images = 2;
  options.keep.newest = 2;
  options.when_busy = WhenBusy::kSkip;
  const auto saver = Make(options);
  replica->Hold();
  const SaveTensor a = Bytes(5'000'000, 1);
  const SaveTensor b = Bytes(5'000'000, 2);
  const auto first = Begin(*saver, 1, a);
  const auto second = Begin(*saver, 2, b);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(Begin(*saver, 3, a), nullptr);
  replica->LetGo();
  ASSERT_TRUE(first->Wait().ok());
  ASSERT_TRUE(second->Wait().ok());
  EXPECT_TRUE(IsIn(Newest(), b));
  const auto directory = Directory::Open(path(), "").value();
  EXPECT_TRUE(OpenCheckpoint(*directory, {1, 1}, {}).value()->Verify().ok());
}

TEST_F(SaverTest, TheReplicaSeesTheWholeImageItsPartAndMemoryThatGrows) {
  const auto replica = std::make_shared<HeldReplica>();
  SaverOptions options = Options();
  options.replica = replica;
  {
    const auto saver = Make(options);
    const SaveTensor small = Bytes(100, 1);
    const Result<SaveReport> report = SaveAndWait(*saver, 1, {&small, 1});
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ((*report->replica)->peer, "test");
    const Result<Part> part = ParsePart(replica->part_json());
    ASSERT_TRUE(part.ok()) << part.status().message();
    EXPECT_EQ(part->manifest.shards[0].bytes, report->bytes);
    const std::size_t before = replica->registered_bytes();
    ASSERT_TRUE(Save(*saver, 2, Bytes(100, 2)).ok());
    ASSERT_TRUE(Save(*saver, 3, Bytes(before + 1, 3)).ok());
    EXPECT_GT(replica->registered_bytes(), before);
    replica->FailWith({StatusCode::kUnavailable, "the neighbour is gone"});
    const Result<SaveReport> alone = SaveAndWait(*saver, 4, {&small, 1});
    ASSERT_TRUE(alone.ok()) << "the disk has it";
    EXPECT_EQ(alone->replica->status().code(), StatusCode::kUnavailable);
  }
  EXPECT_THAT(replica->events(), ElementsAre("forget", "register", "start 1", "wait", "start 2", "wait", "forget",
                                             "register", "start 3", "wait", "start 4", "wait", "forget"));
}

TEST_F(SaverTest, ReservedMemoryIsReadyBeforeTheFirstSave) {
  const auto replica = std::make_shared<HeldReplica>();
  SaverOptions options = Options();
  options.replica = replica;
  options.reserve_bytes = 6'000'000;
  const auto saver = Make(options);
  ASSERT_TRUE(Save(*saver, 1, Bytes(5'900'000, 1)).ok());
  EXPECT_THAT(replica->events(), ElementsAre("register", "start 1", "wait"));
}

TEST_F(SaverTest, KeepsTheNewestAndSaysHowRemovingTheOthersWent) {
  SaverOptions options = Options();
  options.keep.newest = 2;
  const auto saver = Make(options);
  for (std::uint64_t step = 1; step <= 4; ++step) {
    const SaveTensor tensor = Bytes(10, step);
    const Result<SaveReport> report = SaveAndWait(*saver, step, {&tensor, 1});
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_TRUE(report->pruned.ok()) << report->pruned.message();
  }
  saver->Drain();
  const auto directory = Directory::Open(path(), "").value();
  EXPECT_EQ(directory->All().value(), (std::vector<CheckpointId>{{1, 3}, {1, 4}}));
}

TEST_F(SaverTest, WritersTakeTurnsAndTellHowLongTheyWaited) {
  const TestFolder turns;
  SaverOptions options = Options();
  options.turns_folder = turns.path();
  options.writers_per_target = 1;
  const auto saver = Make(options);
  EXPECT_TRUE(Save(*saver, 1, Bytes(10, 1)).ok());
  options.attempt = 2;
  options.turns_folder = turns.path() + "/none";
  EXPECT_TRUE(Save(*Make(options), 1, Bytes(10, 1)).ok()) << "turns are a courtesy: without them it is saved, too";
}

}  // namespace
}  // namespace glim::checkpoint
