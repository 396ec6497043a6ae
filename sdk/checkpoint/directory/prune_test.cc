#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "sdk/checkpoint/directory/directory.h"
#include "sdk/checkpoint/directory/testing/directory_fixture.h"
#include "sdk/io/unique_fd.h"

namespace glim::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kShard[] = "/shard-00000-of-00001.safetensors";

class PruneTest : public DirectoryFixture {
 protected:
  PruneTest() { Begin(*directory_, 1); }

  std::vector<CheckpointId> Pruned(std::uint32_t attempt, const KeepRule& rule, std::int64_t now_ms = 0) {
    return directory_->Prune(attempt, rule, now_ms).value();
  }

  std::unique_ptr<Directory> directory_ = OpenAs("job 1");
};

TEST_F(PruneTest, KeepsTheNewest) {
  for (std::uint64_t step = 10; step <= 50; step += 10) Save(*directory_, {1, step});
  EXPECT_THAT(Pruned(1, {.newest = 3}), ElementsAre(CheckpointId{1, 10}, CheckpointId{1, 20}));
  EXPECT_THAT(VisibleIn(*directory_), ElementsAre(CheckpointId{1, 30}, CheckpointId{1, 40}, CheckpointId{1, 50}));
  EXPECT_FALSE(fs::exists(At({1, 10})));
  EXPECT_THAT(Pruned(1, {.newest = 3}), IsEmpty());
  EXPECT_THAT(Pruned(1, {.newest = 0}), ElementsAre(CheckpointId{1, 30}, CheckpointId{1, 40})) << "0 is 1";
}

TEST_F(PruneTest, RemovesTheOldButNotTheNewest) {
  Save(*directory_, {1, 10}, 1'000);
  Save(*directory_, {1, 20}, 2'000);
  Save(*directory_, {1, 30}, 3'000);
  const KeepRule rule{.newest = 3, .max_age_ms = 1'000};
  EXPECT_THAT(Pruned(1, rule, 2'000), IsEmpty());
  EXPECT_THAT(Pruned(1, rule, 2'001), ElementsAre(CheckpointId{1, 10}));
  EXPECT_THAT(Pruned(1, rule, 1'000'000), ElementsAre(CheckpointId{1, 20}));
  EXPECT_THAT(VisibleIn(*directory_), ElementsAre(CheckpointId{1, 30}));
}

TEST_F(PruneTest, RemovesNothingWhenNoneThatStaysIsGood) {
  Save(*directory_, {1, 10});
  Save(*directory_, {1, 20});
  Save(*directory_, {1, 30});
  fs::resize_file(At({1, 30}) + kShard, 5);
  fs::remove(At({1, 20}) + kShard);
  const auto pruned = directory_->Prune(1, {.newest = 2}, 0);
  EXPECT_EQ(pruned.status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(pruned.status().reason(), "NONE_GOOD");
  EXPECT_THAT(pruned.status().message(), HasSubstr(PathOf({1, 30})));
  EXPECT_EQ(FaultOf(*directory_, {1, 10}), "");

  Save(*directory_, {1, 40});
  EXPECT_THAT(Pruned(1, {.newest = 2}), ElementsAre(CheckpointId{1, 10}, CheckpointId{1, 20}));
}

TEST_F(PruneTest, AManifestThatIsNoneMakesNoCheckpointGood) {
  Save(*directory_, {1, 10});
  Save(*directory_, {1, 20});
  for (const char* text : {"", "{}", R"({"format":"glim"})"}) {
    Write(At({1, 20}) + "/manifest.json", text);
    EXPECT_EQ(directory_->Prune(1, {.newest = 1}, 0).status().reason(), "NONE_GOOD") << text;
  }
  EXPECT_EQ(FaultOf(*directory_, {1, 10}), "");
}

TEST_F(PruneTest, KeepsTheBaseUntilTheAttemptHasAGoodOneOfItsOwn) {
  Save(*directory_, {1, 10});
  Begin(*directory_, 2);
  EXPECT_THAT(Pruned(2, {.newest = 1}), IsEmpty());
  Save(*directory_, {2, 20});
  fs::resize_file(At({2, 20}) + kShard, 0);
  EXPECT_EQ(directory_->Prune(2, {.newest = 1}, 0).status().reason(), "NONE_GOOD");
  EXPECT_EQ(FaultOf(*directory_, {1, 10}), "");
  Save(*directory_, {2, 30});
  EXPECT_THAT(Pruned(2, {.newest = 1}), ElementsAre(CheckpointId{1, 10}, CheckpointId{2, 20}));
  EXPECT_FALSE(fs::exists(path() + "/attempt-1"));
}

TEST_F(PruneTest, RemovesWhatElseOlderAttemptsLeft) {
  Save(*directory_, {1, 10});
  Begin(*directory_, 2);
  Save(*directory_, {2, 20});
  Begin(*directory_, 3);
  auto zombie = OpenAs("job 1");
  fs::create_directory(At({2, 25}));
  Write(At({2, 25}) + kShard, "half a shard of a zombie");
  fs::copy(At({2, 20}), At({2, 30}), fs::copy_options::recursive);
  Write(path() + "/attempt-1/.base.json.0123456789abcdef.tmp", "left by one that was killed");
  Write(path() + "/.latest.0123456789abcdef.tmp", "");
  EXPECT_THAT(Pruned(3, {.newest = 1}), ElementsAre(CheckpointId{1, 10}, CheckpointId{2, 30}));
  EXPECT_THAT(VisibleIn(*directory_), ElementsAre(CheckpointId{2, 20}));
  std::vector<std::string> names;
  for (const auto& [name, text] : AllUnder(path())) {
    if (name.find('/') == std::string::npos) names.push_back(name);
  }
  EXPECT_THAT(names, ElementsAre("attempt-2", "attempt-3", "job.json", "latest"));
  EXPECT_FALSE(fs::exists(At({2, 25})));
}

TEST_F(PruneTest, RemovesItsOwnUnfinishedFoldersOnceANewerOneIsThere) {
  const auto make = [&](std::uint64_t step) { const UniqueFd folder(directory_->OpenForWriting({1, step}).value()); };
  make(5);
  make(15);
  EXPECT_THAT(Pruned(1, {}), IsEmpty());
  EXPECT_TRUE(fs::exists(At({1, 5})));
  Save(*directory_, {1, 10});
  EXPECT_THAT(Pruned(1, {}), IsEmpty());
  EXPECT_FALSE(fs::exists(At({1, 5})));
  EXPECT_TRUE(fs::exists(At({1, 15}))) << "it may be on its way";
}

TEST_F(PruneTest, RemovesNothingOnceAHigherAttemptsFolderIsThere) {
  Save(*directory_, {1, 10});
  Save(*directory_, {1, 20});
  fs::create_directory(path() + "/attempt-2");  // it is about to choose its base
  EXPECT_EQ(directory_->Prune(1, {.newest = 1}, 0).status().reason(), "SUPERSEDED");
  EXPECT_THAT(VisibleIn(*directory_), ElementsAre(CheckpointId{1, 10}, CheckpointId{1, 20}));
}

TEST_F(PruneTest, FoldersInACheckpointAreSomebodyElses) {
  Save(*directory_, {1, 10});
  Save(*directory_, {1, 20});
  fs::create_directory(At({1, 10}) + "/plots");
  Write(At({1, 10}) + "/plots/loss.png", "x");
  EXPECT_THAT(Pruned(1, {.newest = 1}), ElementsAre(CheckpointId{1, 10}));
  EXPECT_TRUE(fs::exists(At({1, 10}) + "/plots/loss.png"));
  EXPECT_FALSE(fs::exists(At({1, 10}) + kShard));
}

TEST_F(PruneTest, LinksInACheckpointGoAndTheirTargetsStay) {
  Save(*directory_, {1, 10});
  Save(*directory_, {1, 20});
  Write(outside() + "/precious", "untouched");
  fs::create_symlink(outside() + "/precious", At({1, 10}) + "/link");
  EXPECT_THAT(Pruned(1, {.newest = 1}), ElementsAre(CheckpointId{1, 10}));
  EXPECT_FALSE(fs::exists(At({1, 10})));
  EXPECT_EQ(Read(outside() + "/precious"), "untouched");
}

// Root may do everything, so somebody else looks: in a process of its own. Its result is the status it exits with.
int AsNobody(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(::geteuid() == 0 && ::seteuid(65534) != 0 ? 100 : body());
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}

TEST_F(PruneTest, AFolderThatMayNotBeReadIsSaidAndTheRestGoesOn) {
  Save(*directory_, {1, 10});
  Begin(*directory_, 2);
  Save(*directory_, {2, 20});
  // Somebody else may use the rest.
  fs::permissions(path(), fs::perms::all);
  for (const auto& entry : fs::recursive_directory_iterator(path())) {
    if (!entry.is_symlink()) fs::permissions(entry, fs::perms::all);
  }
  fs::permissions(path() + "/attempt-1", fs::perms::none);
  const auto code_of = [](const auto& result) { return static_cast<int>(result.status().code()); };
  // A reader needs only the newest, but for what came before it.
  EXPECT_EQ(AsNobody([&] { return code_of(directory_->Visible()); }), static_cast<int>(StatusCode::kPermissionDenied));
  EXPECT_EQ(AsNobody([&] { return code_of(directory_->BeginAttempt(2)); }), 0);
  EXPECT_EQ(AsNobody([&] { return code_of(directory_->All()); }), static_cast<int>(StatusCode::kPermissionDenied));
  // Whether a higher attempt has begun there cannot be known, so nobody goes on.
  fs::permissions(path() + "/attempt-1", fs::perms::owner_all);
  fs::permissions(path() + "/attempt-2", fs::perms::none);
  EXPECT_EQ(AsNobody([&] { return code_of(directory_->BeginAttempt(1)); }),
            static_cast<int>(StatusCode::kPermissionDenied));
  fs::permissions(path() + "/attempt-2", fs::perms::owner_all);
}

}  // namespace
}  // namespace glim::checkpoint
