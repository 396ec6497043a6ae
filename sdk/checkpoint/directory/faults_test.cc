// What stops a process may do so before any of its system calls; each test tries them all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "sdk/base/rng.h"
#include "sdk/checkpoint/directory/directory.h"
#include "sdk/checkpoint/directory/testing/directory_fixture.h"
#include "sdk/checkpoint/testing/shared_text.h"
#include "sdk/checkpoint/testing/stepped_process.h"
#include "sdk/io/unique_fd.h"

namespace glim::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr KeepRule kKeepOne{.newest = 1};
constexpr std::size_t kCallsMax = 1000;  // a process that makes more does not end

class FaultsTest : public DirectoryFixture {
 protected:
  // DIR as attempt 1 left it at step 10.
  void StartAfresh() {
    fs::remove_all(path());
    auto directory = OpenAs("job 1");
    Begin(*directory, 1);
    Save(*directory, {1, 10});
  }

  Status SaveAndPrune(Directory& directory, CheckpointId id) const {
    if (Status status = SaveSmall(directory, id); !status.ok()) return status;
    const auto pruned = directory.Prune(id.attempt, kKeepOne, 0);
    return pruned.ok() ? Status::Ok() : pruned.status();
  }

  // A process of attempt 1 from its first step to its last.
  std::function<int()> SaverOfAttempt1(std::uint64_t step) {
    return [this, step] {
      const auto directory = Directory::Open(path(), "job 1");
      if (!directory.ok()) return words_.Leave(directory.status());
      const auto base = (*directory)->BeginAttempt(1);
      return words_.Leave(base.ok() ? SaveAndPrune(**directory, {1, step}) : base.status());
    };
  }
  std::function<int()> BeginnerOf(std::uint32_t attempt) {
    return [this, attempt] {
      const auto directory = Directory::Open(path(), "job 1");
      if (!directory.ok()) return words_.Leave(directory.status());
      return words_.Leave((*directory)->BeginAttempt(attempt).status());
    };
  }

  // Attempt 2 begins, saves step 100 and prunes: all that is left is what belongs there.
  void ExpectNextAttemptWorks() {
    auto directory = OpenAs("job 1");
    const auto base = Begun(*directory, 2);
    ASSERT_TRUE(base);
    EXPECT_EQ(FaultOf(*directory, *base), "");
    const Status saved = SaveAndPrune(*directory, {2, 100});
    ASSERT_TRUE(saved.ok()) << saved.message();
    EXPECT_THAT(VisibleIn(*directory), ElementsAre(CheckpointId{2, 100}));
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(path())) {
      names.push_back(entry.path().lexically_relative(path()));
    }
    std::sort(names.begin(), names.end());
    EXPECT_THAT(names, ElementsAre("attempt-2", "attempt-2/base.json", "attempt-2/step-00000100",
                                   "attempt-2/step-00000100/manifest.json", "attempt-2/step-00000100/part-00000.json",
                                   "attempt-2/step-00000100/shard-00000-of-00001.safetensors", "job.json", "latest"));
  }

  SharedText words_;
};

TEST_F(FaultsTest, KilledBeforeAnyCallOfASaveReadersHaveAWholeCheckpoint) {
  std::vector<CheckpointId> newest;
  for (std::size_t k = 0;; ++k) {
    ASSERT_LT(k, kCallsMax);
    SCOPED_TRACE("killed before call " + std::to_string(k));
    StartAfresh();
    SteppedProcess saver(SaverOfAttempt1(20));
    for (std::size_t i = 0; i < k && saver.call(); ++i) saver.Step();
    const bool ended = !saver.call();
    saver.Kill();
    const auto visible = VisibleIn(*OpenAs("job 1"));
    ASSERT_FALSE(visible.empty());
    newest.push_back(visible.back());
    ExpectNextAttemptWorks();
    if (ended) break;
  }
  EXPECT_EQ(newest.front(), (CheckpointId{1, 10}));
  EXPECT_EQ(newest.back(), (CheckpointId{1, 20}));
  EXPECT_TRUE(std::is_sorted(newest.begin(), newest.end())) << "published once, and never gone again";
}

TEST_F(FaultsTest, KilledBeforeAnyCallOfItsBeginningAnAttemptBeginsAgain) {
  for (std::size_t k = 0;; ++k) {
    ASSERT_LT(k, kCallsMax);
    SCOPED_TRACE("killed before call " + std::to_string(k));
    fs::remove_all(path());
    SteppedProcess first(BeginnerOf(1));  // makes DIR and job.json, too
    for (std::size_t i = 0; i < k && first.call(); ++i) first.Step();
    const bool ended = !first.call();
    first.Kill();
    auto directory = OpenAs("job 1");
    EXPECT_EQ(Directory::Open(path(), "job 2").status().reason(), "OTHER_JOB");
    EXPECT_EQ(Begun(*directory, 1), std::nullopt);
    Save(*directory, {1, 10});
    ExpectNextAttemptWorks();
    if (ended) break;
  }
}

// The zombie is stopped before call k; the next attempt begins and saves; then the zombie goes on.
TEST_F(FaultsTest, AZombieStoppedBeforeAnyCallMovesNobody) {
  std::vector<int> ends;
  for (std::size_t k = 0;; ++k) {
    ASSERT_LT(k, kCallsMax);
    SCOPED_TRACE("stopped before call " + std::to_string(k));
    StartAfresh();
    SteppedProcess zombie(SaverOfAttempt1(20));
    for (std::size_t i = 0; i < k && zombie.call(); ++i) zombie.Step();
    if (!zombie.call()) break;

    auto directory = OpenAs("job 1");
    const auto base = Begun(*directory, 2);
    ASSERT_TRUE(base);
    EXPECT_EQ(FaultOf(*directory, *base), "");
    Save(*directory, {2, 30});
    const auto visible = VisibleIn(*directory);
    const auto in_attempt_2 = AllUnder(path() + "/attempt-2");

    ends.push_back(zombie.RunToEnd());
    EXPECT_EQ(Begun(*directory, 2), base);
    EXPECT_EQ(FaultOf(*directory, *base), "");
    EXPECT_EQ(AllUnder(path() + "/attempt-2"), in_attempt_2);
    const auto after = VisibleIn(*directory);
    // What it was about to prune may go, but that is older than the base.
    EXPECT_EQ(std::vector<CheckpointId>(std::find(after.begin(), after.end(), *base), after.end()),
              std::vector<CheckpointId>(std::find(visible.begin(), visible.end(), *base), visible.end()));
    EXPECT_EQ(Begun(*OpenAs("job 1"), 3), (CheckpointId{2, 30}));
  }
  constexpr int kRefused = static_cast<int>(StatusCode::kFailedPrecondition);
  EXPECT_EQ(ends.front(), kRefused);
  EXPECT_THAT(ends, ::testing::Each(AnyOf(0, kRefused)));
  EXPECT_EQ(ends.back(), 0) << "nothing was left for it to do";
}

// The other way round: the beginner is stopped, the older attempt, still at work, saves and prunes.
TEST_F(FaultsTest, ABeginnerStoppedBeforeAnyCallFindsAWholeBase) {
  for (std::size_t k = 0;; ++k) {
    ASSERT_LT(k, kCallsMax);
    SCOPED_TRACE("stopped before call " + std::to_string(k));
    StartAfresh();
    auto older = OpenAs("job 1");
    SteppedProcess beginner(BeginnerOf(2));
    for (std::size_t i = 0; i < k && beginner.call(); ++i) beginner.Step();
    const bool ended = !beginner.call();
    for (const std::uint64_t step : {20, 30}) {
      const Status saved = SaveAndPrune(*older, {1, step});
      EXPECT_THAT(saved.reason(), AnyOf("", "SUPERSEDED")) << saved.message();
    }
    EXPECT_EQ(beginner.RunToEnd(), 0) << words_.text();
    auto directory = OpenAs("job 1");
    const auto visible = VisibleIn(*directory);
    ASSERT_FALSE(visible.empty());
    EXPECT_EQ(visible.back(), *Begun(*directory, 2));
    if (ended) break;
  }
}

TEST_F(FaultsTest, ABeginnerThatIsOvertakenBeforeItsLastFlushIsRefused) {
  StartAfresh();
  const auto calls = FileCallsOf(BeginnerOf(2));
  const auto last_flush =
      std::find_if(calls.rbegin(), calls.rend(), [](const FileCall& call) { return call.name == "fsync"; });
  const auto stops = static_cast<std::size_t>(calls.rend() - last_flush);
  ASSERT_GT(stops, 10U);
  for (std::size_t k = 0; k < stops; ++k) {
    SCOPED_TRACE("stopped before call " + std::to_string(k));
    StartAfresh();
    SteppedProcess beginner(BeginnerOf(2));
    for (std::size_t i = 0; i < k; ++i) beginner.Step();
    auto directory = OpenAs("job 1");
    EXPECT_EQ(Begun(*directory, 3), (CheckpointId{1, 10}));
    EXPECT_EQ(beginner.RunToEnd(), static_cast<int>(StatusCode::kFailedPrecondition));
    EXPECT_THAT(words_.text(), HasSubstr("SUPERSEDED"));
    EXPECT_EQ(Begun(*directory, 3), (CheckpointId{1, 10}));
  }
}

// To the `count`-th call that sees which names there are, or changes them: between two of those nothing happens that
// the other process could notice. Whether there is such a call.
bool StepToNames(SteppedProcess& process, std::size_t count) {
  constexpr std::array kNames = {"getdents64", "newfstatat", "mkdirat", "linkat", "unlinkat"};
  while (process.call()) {
    if (std::find(kNames.begin(), kNames.end(), process.call()->name) != kNames.end() && count-- == 0) return true;
    process.Step();
  }
  return false;
}

// Both: the pruner is stopped at its k-th look, the beginner at its j-th; the older attempt publishes one more if it
// may; the pruner ends, then the beginner.
TEST_F(FaultsTest, APrunerAndABeginnerInterleavedAtAnyTwoLooksLeaveAWholeBase) {
  const std::function<int()> pruner_body = [this] {
    const auto directory = Directory::Open(path(), "job 1");
    return words_.Leave(directory.ok() ? (*directory)->Prune(1, kKeepOne, 0).status() : directory.status());
  };
  std::size_t pruned = 0;
  std::size_t refused = 0;
  bool pruner_ended = false;
  for (std::size_t k = 0; !pruner_ended; ++k) {
    bool beginner_ended = false;
    for (std::size_t j = 0; !beginner_ended; ++j) {
      ASSERT_LT(k + j, kCallsMax);
      SCOPED_TRACE("at looks " + std::to_string(k) + " and " + std::to_string(j));
      StartAfresh();
      Save(*OpenAs("job 1"), {1, 20});
      SteppedProcess pruner(pruner_body);
      pruner_ended = !StepToNames(pruner, k);
      SteppedProcess beginner(BeginnerOf(2));
      beginner_ended = !StepToNames(beginner, j);
      auto directory = OpenAs("job 1");
      static_cast<void>(SaveSmall(*directory, {1, 30}));
      ++(pruner.RunToEnd() == 0 ? pruned : refused);
      ASSERT_EQ(beginner.RunToEnd(), 0) << words_.text();
      const auto base = Begun(*directory, 2);
      ASSERT_TRUE(base);
      ASSERT_EQ(FaultOf(*directory, *base), "");
    }
  }
  EXPECT_GT(pruned, 0U);
  EXPECT_GT(refused, 0U);
}

// Each call fails once. `errors` are what the system may say to it.
TEST_F(FaultsTest, WhateverCallFailsTheErrorIsSaidAndTheCheckpointBeforeIsThere) {
  for (const int error : {EIO, ENOSPC}) {
    std::size_t failed = 0;
    for (std::size_t k = 0;; ++k) {
      ASSERT_LT(k, kCallsMax);
      StartAfresh();
      const auto around = AllUnder(outside());
      SteppedProcess saver(SaverOfAttempt1(20));
      for (std::size_t i = 0; i < k && saver.call(); ++i) saver.Step();
      if (!saver.call()) break;
      const FileCall call = *saver.call();
      SCOPED_TRACE(call.name + " " + call.path + " fails with " + std::strerror(error));
      saver.StepFailing(error);
      const bool ok = saver.RunToEnd() == 0;
      failed += ok ? 0 : 1;
      if (!ok) {
        EXPECT_THAT(words_.text(), HasSubstr(std::strerror(error)));
        EXPECT_THAT(words_.text(), AnyOf(HasSubstr(path()), HasSubstr("shard-00000-of-00001.safetensors")));
      }
      // The hint may fail, and what is left of a temporary file is removed later.
      const bool may_pass = call.path.find("latest") != std::string::npos || call.path.ends_with(".tmp");
      EXPECT_TRUE(!ok || may_pass);
      const auto visible = VisibleIn(*OpenAs("job 1"));
      ASSERT_FALSE(visible.empty());
      if (ok) {
        EXPECT_EQ(visible.back(), (CheckpointId{1, 20}));
      }
      for (const auto& [name, text] : AllUnder(outside())) {
        EXPECT_TRUE(name.starts_with("ckpt") || around.contains(name)) << name;
      }
      ExpectNextAttemptWorks();
    }
    EXPECT_GT(failed, 20U);
  }
}

TEST_F(FaultsTest, ShortWritesAreFinished) {
  StartAfresh();
  SteppedProcess saver(SaverOfAttempt1(20));
  while (saver.call()) saver.StepShort();
  EXPECT_EQ(saver.RunToEnd(), 0) << words_.text();
  EXPECT_THAT(VisibleIn(*OpenAs("job 1")), ElementsAre(CheckpointId{1, 20}));
}

// Some file systems have no hard links: there the exclusive rename does it.
TEST_F(FaultsTest, WithoutHardLinksAnAttemptBeginsAllTheSame) {
  StartAfresh();
  for (const int error : {EPERM, EOPNOTSUPP}) {
    for (int starter = 0; starter < 2; ++starter) {  // the second one finds the first one's
      SteppedProcess beginner(BeginnerOf(2));
      while (beginner.call()) beginner.call()->name == "linkat" ? beginner.StepFailing(error) : beginner.Step();
      EXPECT_EQ(beginner.RunToEnd(), 0) << words_.text();
    }
    EXPECT_THAT(VisibleIn(*OpenAs("job 1")), ElementsAre(CheckpointId{1, 10}));
    std::vector<std::string> names;
    for (const auto& [name, text] : AllUnder(path() + "/attempt-2")) names.push_back(name);
    EXPECT_THAT(names, ElementsAre("base.json"));
    fs::remove_all(path() + "/attempt-2");
  }
}

// A machine that loses its power keeps what was flushed: so whatever a name stands for is flushed before the name.
TEST_F(FaultsTest, ANameIsGivenOnlyToWhatWasFlushedAndIsFlushedItself) {
  fs::remove_all(path());
  int exit_status = -1;
  const auto calls = FileCallsOf(SaverOfAttempt1(10), &exit_status);
  ASSERT_EQ(exit_status, 0) << words_.text();
  std::string written;  // and not flushed
  std::map<std::string, bool> unflushed_folders;
  std::size_t names = 0;
  for (const FileCall& call : calls) {
    const bool gives_a_name = call.name == "renameat" || call.name == "linkat";
    if (call.path.find("latest") != std::string::npos) continue;
    if (call.is_write) written = call.path;
    if (call.name == "fsync" && call.path == written) written.clear();
    if (call.name == "fsync") unflushed_folders.erase(call.path);
    if (gives_a_name) {
      EXPECT_EQ(written, "") << "before " << call.path;
      ++names;
    }
    if (call.name == "renameat" && call.path.ends_with("manifest.json")) {
      EXPECT_THAT(unflushed_folders, IsEmpty()) << "all folders above are there, and the shard's name is";
    }
    if (gives_a_name || call.name == "mkdirat") unflushed_folders[fs::path(call.path).parent_path()] = true;
  }
  EXPECT_THAT(unflushed_folders, IsEmpty());
  EXPECT_EQ(names, 4U) << "job.json, base.json, the part, the manifest";
}

TEST_F(FaultsTest, OfManyWhoBeginAtOnceAllAreToldOneBase) {
  for (std::uint64_t round = 0; round < 20; ++round) {
    StartAfresh();
    std::vector<std::unique_ptr<SteppedProcess>> ranks;
    for (int rank = 0; rank < 8; ++rank) {
      ranks.push_back(std::make_unique<SteppedProcess>([this] {
        const auto directory = Directory::Open(path(), "job 1");
        const auto base = (*directory)->BeginAttempt(2);
        return base.ok() && *base ? static_cast<int>((*base)->step) : 1;
      }));
    }
    // In any order; the older attempt publishes while some have chosen, and others not yet.
    auto older = OpenAs("job 1");
    Rng random(round);
    const auto runs = [](const auto& rank) { return rank->call().has_value(); };
    for (std::uint64_t step = 20; std::any_of(ranks.begin(), ranks.end(), runs);) {
      auto& rank = ranks[static_cast<std::size_t>(random.Between(0, 7))];
      if (rank->call()) rank->Step();
      if (random.OneIn(16)) static_cast<void>(SaveSmall(*older, {1, step++}));  // refused when 2 has begun
    }
    const auto base = Begun(*OpenAs("job 1"), 2);
    ASSERT_TRUE(base);
    for (auto& rank : ranks) EXPECT_EQ(rank->RunToEnd(), static_cast<int>(base->step));
  }
}

// Not a matter of time: what grows with the number of old folders is the number of calls.
TEST_F(FaultsTest, TenThousandOldFoldersCostNoCallsEach) {
  StartAfresh();
  auto directory = OpenAs("job 1");
  Begin(*directory, 20'000);
  Save(*directory, {20'000, 1});
  const std::size_t few = FileCallsOf(BeginnerOf(20'001)).size();
  fs::remove_all(path() + "/attempt-20001");
  for (int attempt = 2; attempt < 10'002; ++attempt) {
    const std::string folder = path() + "/attempt-" + std::to_string(attempt);
    fs::create_directory(folder);
    fs::create_hard_link(path() + "/attempt-1/base.json", folder + "/base.json");
  }
  const std::size_t many = FileCallsOf(BeginnerOf(20'001)).size();
  EXPECT_GT(few, 10U);
  EXPECT_LT(many, few + 100) << "some more to list them";
  EXPECT_EQ(directory->Prune(20'000, kKeepOne, 0).status().reason(), "SUPERSEDED");
}

}  // namespace
}  // namespace glim::checkpoint
