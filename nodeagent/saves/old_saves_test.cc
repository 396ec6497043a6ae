// What ended jobs saved is found and removed; nobody who may write there leads the removal out of the folder.
#include "nodeagent/saves/old_saves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sdk/io/testing/temp_folder.h"

namespace glim::nodeagent {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class OldSaves : public ::testing::Test {
 protected:
  OldSaves() { fs::create_directories(Path("")); }

  std::string Path(const std::string& below) const { return base_.path() + "/jobs/" + below; }
  void Write(const std::string& below, std::size_t bytes = 5000) const {
    fs::create_directories(fs::path(Path(below)).parent_path());
    std::ofstream(Path(below)) << std::string(bytes, 'x');
  }
  std::vector<std::uint64_t> Found() const {
    std::vector<std::uint64_t> jobs;
    const auto found = FindSaves(place_);
    EXPECT_TRUE(found.ok()) << found.status().message();
    for (const FoundSaves& saves : found.ok() ? *found : std::vector<FoundSaves>()) jobs.push_back(saves.job);
    return jobs;
  }

  TempFolder base_;
  const SavesPlace place_{base_.path(), "jobs"};
};

TEST_F(OldSaves, AreFoundWithTheirBytesAndNewestChange) {
  Write("7/attempt-1/step-00000001/shard", 100'000);
  Write("12/state.pt");
  const auto found = FindSaves(place_);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].job, 7u);
  EXPECT_GE((*found)[0].bytes, 100'000);
  EXPECT_FALSE((*found)[0].noted);
  EXPECT_EQ((*found)[1].job, 12u);
  struct stat info {};
  ASSERT_EQ(::stat(Path("7/attempt-1/step-00000001/shard").c_str(), &info), 0);
  EXPECT_GE((*found)[0].changed_at_ms, static_cast<std::int64_t>(info.st_mtim.tv_sec) * 1000);
}

TEST_F(OldSaves, OnlyFoldersWithAJobsNumberAreSaves) {
  Write("07/x");
  Write("7a/x");
  Write("0/x");
  Write(".copy-7-1/x");
  Write("mine/x");
  Write("8");
  fs::create_directory_symlink(base_.path(), Path("9"));
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_THAT(RemoveSaves(place_, {{8, 9}, {}}).jobs, IsEmpty());
  EXPECT_TRUE(fs::exists(Path("8")));
  EXPECT_TRUE(fs::is_symlink(Path("9")));
}

TEST_F(OldSaves, APlaceThatIsNotThereHoldsNothing) {
  const auto found = FindSaves({base_.path(), "checkpoints"});
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(*found, IsEmpty());
  fs::create_directory_symlink(Path(""), base_.path() + "/link");
  EXPECT_FALSE(FindSaves({base_.path(), "link"}).ok()) << "a link in the place of Glim's own folder is not followed";
}

TEST_F(OldSaves, AreRemovedAndNothingElse) {
  Write("7/attempt-1/step-00000001/shard");
  Write("8/state.pt");
  const RemovedSaves removed = RemoveSaves(place_, {{7}, {}});
  EXPECT_TRUE(removed.status.ok()) << removed.status.message();
  EXPECT_THAT(removed.jobs, ElementsAre(7u));
  EXPECT_THAT(Found(), ElementsAre(8u));
  EXPECT_FALSE(fs::exists(Path(".removing-7")));
}

TEST_F(OldSaves, LinksLeadNobodyOut) {
  fs::create_directories(base_.path() + "/precious");
  std::ofstream(base_.path() + "/precious/thesis") << "years";
  Write("7/x");
  fs::create_directory_symlink(base_.path() + "/precious", Path("7/attempt-1"));
  fs::create_symlink(base_.path() + "/precious/thesis", Path("7/latest"));
  fs::create_directories(Path("7/deep/er"));
  fs::create_directory_symlink("../../../..", Path("7/deep/er/up"));
  const auto found = FindSaves(place_);
  ASSERT_TRUE(found.ok());
  EXPECT_LT(found->at(0).bytes, 100'000);
  EXPECT_THAT(RemoveSaves(place_, {{7}, {}}).jobs, ElementsAre(7u));
  EXPECT_TRUE(fs::exists(base_.path() + "/precious/thesis"));
}

TEST_F(OldSaves, HoweverDeepTheyAre) {
  const std::string name(200, 'd');
  fs::create_directories(Path("7"));
  std::string up;
  const fs::path before = fs::current_path();
  fs::current_path(Path("7"));
  for (int i = 0; i < 300; ++i) {  // deeper than a path may be long
    ASSERT_EQ(::mkdir(name.c_str(), 0700), 0);
    ASSERT_EQ(::chdir(name.c_str()), 0);
  }
  fs::current_path(before);
  Write("7/.raised-0");  // a name that the removal itself uses
  fs::create_directories(Path("7/.raised-1/full"));
  EXPECT_THAT(Found(), ElementsAre(7u));
  const RemovedSaves removed = RemoveSaves(place_, {{7}, {}});
  EXPECT_TRUE(removed.status.ok()) << removed.status.message();
  EXPECT_FALSE(fs::exists(Path("7")));
  EXPECT_FALSE(fs::exists(Path(".removing-7")));
}

TEST_F(OldSaves, WhatACrashLeftGoesWithTheNextLook) {
  Write(".removing-7/attempt-1/shard");
  Write(".removing-mine/x");
  fs::create_directory_symlink(base_.path(), Path(".removing-8"));
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_FALSE(fs::exists(Path(".removing-7")));
  EXPECT_TRUE(fs::exists(Path(".removing-mine")));
  EXPECT_FALSE(fs::is_symlink(Path(".removing-8")));
  EXPECT_TRUE(fs::exists(base_.path() + "/jobs"));
}

TEST_F(OldSaves, ANoteStaysUntilTheSavesAreGone) {
  Write("7/x");
  Write("8/x");
  EXPECT_TRUE(RemoveSaves(place_, {{}, {7, 8}}).status.ok());
  EXPECT_TRUE(FindSaves(place_)->at(0).noted);
  EXPECT_THAT(RemoveSaves(place_, {{7}, {}}).jobs, ElementsAre(7u));
  EXPECT_FALSE(fs::exists(Path(".ended/7")));
  fs::remove_all(Path("8"));  // by hand
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_FALSE(fs::exists(Path(".ended/8")));
}

TEST_F(OldSaves, WhatIsAlreadyGoneIsSaidAndTheOthersGo) {
  Write("8/x");
  const RemovedSaves removed = RemoveSaves(place_, {{7, 8}, {}});
  EXPECT_THAT(removed.jobs, ElementsAre(8u));
  EXPECT_FALSE(removed.status.ok());
}

TEST(OldSavesText, ReadsBackAndATextThatWasCutOffIsAnError) {
  const std::vector<FoundSaves> found = {{7, 4096, 1'700'000'000'000, true, 3}, {12, 0, -5, false, 0}};
  const std::string text = ToText(Result(found));
  EXPECT_EQ(*ParseFound(text), found);
  for (std::size_t cut = 0; cut + 1 < text.size(); ++cut) EXPECT_FALSE(ParseFound(text.substr(0, cut)).ok()) << cut;
  EXPECT_EQ(
      ParseFound(ToText(Result<std::vector<FoundSaves>>(Status(StatusCode::kInternal, "no\nway")))).status().message(),
      "no way");
  const SavesOrder order{{7, 8}, {9}};
  EXPECT_EQ(*ParseOrder(ToText(order)), order);
  EXPECT_FALSE(ParseOrder("remove 7\n").ok());
  const RemovedSaves removed = ParseRemoved(ToText(RemovedSaves{{7}, Status(StatusCode::kInternal, "8 is busy")}));
  EXPECT_THAT(removed.jobs, ElementsAre(7u));
  EXPECT_EQ(removed.status.message(), "8 is busy");
}

}  // namespace
}  // namespace glim::nodeagent
