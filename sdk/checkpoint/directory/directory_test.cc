#include "sdk/checkpoint/directory/directory.h"
#include "sdk/io/unique_fd.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sdk/checkpoint/directory/testing/directory_fixture.h"

namespace glim::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class DirectoryTest : public DirectoryFixture {};

TEST_F(DirectoryTest, PathsSortAsStepsDo) {
  EXPECT_EQ(PathOf({3, 123}), "attempt-3/step-00000123");
  EXPECT_EQ(PathOf({0, 0}), "attempt-0/step-00000000");
  EXPECT_EQ(PathOf({4294967295, 12345678901}), "attempt-4294967295/step-12345678901");
}

TEST_F(DirectoryTest, TheFirstAttemptGoesOnFromNothing) {
  auto directory = OpenAs("job 1");
  EXPECT_EQ(Begun(*directory, 1), std::nullopt);
  EXPECT_THAT(VisibleIn(*directory), IsEmpty());
}

TEST_F(DirectoryTest, AnAttemptGoesOnFromTheNewestCheckpointAndAllItsRanksAreToldTheSame) {
  auto directory = OpenAs("job 1");
  Begin(*directory, 1);
  Save(*directory, {1, 10});
  Save(*directory, {1, 20});
  auto other_rank = OpenAs("job 1");
  EXPECT_EQ(Begun(*directory, 2), (CheckpointId{1, 20}));
  EXPECT_EQ(Begun(*other_rank, 2), (CheckpointId{1, 20}));
  Save(*directory, {2, 30});
  EXPECT_EQ(Begun(*other_rank, 2), (CheckpointId{1, 20})) << "a restart of the attempt";
  EXPECT_THAT(VisibleIn(*directory), ElementsAre(CheckpointId{1, 10}, CheckpointId{1, 20}, CheckpointId{2, 30}));
}

TEST_F(DirectoryTest, AnAttemptThatSavedNothingHandsItsBaseOn) {
  auto directory = OpenAs("job 1");
  Begin(*directory, 1);
  Save(*directory, {1, 10});
  Begin(*directory, 4);
  EXPECT_EQ(Begun(*directory, 7), (CheckpointId{1, 10}));
}

TEST_F(DirectoryTest, WhatCountedBeforeTheBaseStillDoesInCaseTheBaseIsBad) {
  auto directory = OpenAs("job 1");
  Begin(*directory, 1);
  Save(*directory, {1, 10});
  Save(*directory, {1, 20});
  Begin(*directory, 2);
  Begin(*directory, 3);
  EXPECT_THAT(VisibleIn(*directory), ElementsAre(CheckpointId{1, 10}, CheckpointId{1, 20}));
  fs::remove_all(At({1, 10}));
  EXPECT_THAT(VisibleIn(*directory), ElementsAre(CheckpointId{1, 20}));
}

TEST_F(DirectoryTest, AnUnfinishedFolderIsNoCheckpoint) {
  auto directory = OpenAs("job 1");
  Begin(*directory, 1);
  Save(*directory, {1, 10});
  const auto folder = directory->OpenForWriting({1, 20});
  ASSERT_TRUE(folder.ok());
  const UniqueFd owned(*folder);
  EXPECT_TRUE(directory->Publish(*folder, "part-00000.json", "{}").ok());
  EXPECT_THAT(VisibleIn(*directory), ElementsAre(CheckpointId{1, 10}));
  EXPECT_EQ(Begun(*directory, 2), (CheckpointId{1, 10}));
}

TEST_F(DirectoryTest, AZombieIsRefusedEverywhereAndWhatItWroteBeforeDoesNotCount) {
  auto zombie = OpenAs("job 1");
  Begin(*zombie, 1);
  Save(*zombie, {1, 10});
  const auto folder = zombie->OpenForWriting({1, 20});
  ASSERT_TRUE(folder.ok());
  const UniqueFd owned(*folder);

  auto directory = OpenAs("job 1");
  Begin(*directory, 2);
  EXPECT_EQ(zombie->BeginAttempt(1).status().reason(), "SUPERSEDED");
  EXPECT_EQ(zombie->OpenForWriting({1, 30}).status().reason(), "SUPERSEDED");
  EXPECT_EQ(zombie->PublishManifest({1, 20}, *folder, "{}").reason(), "SUPERSEDED");
  EXPECT_EQ(zombie->Prune(1, {}, 0).status().reason(), "SUPERSEDED");

  EXPECT_TRUE(zombie->Publish(*folder, kManifestName, "{}").ok()) << "as a zombie does that was past the check";
  EXPECT_THAT(VisibleIn(*directory), ElementsAre(CheckpointId{1, 10}));
  EXPECT_THAT(directory->All().value(), ElementsAre(CheckpointId{1, 10}, CheckpointId{1, 20}));
  EXPECT_EQ(Begun(*directory, 3), (CheckpointId{1, 10}));
}

TEST_F(DirectoryTest, VisibleOfAnAttemptThatHasNotBegunIsNotFound) {
  auto directory = OpenAs("job 1");
  Begin(*directory, 1);
  EXPECT_EQ(directory->Visible(2).status().code(), StatusCode::kNotFound);
}

TEST_F(DirectoryTest, WritingNeedsAnAttemptThatHasBegun) {
  auto directory = OpenAs("job 1");
  EXPECT_EQ(directory->OpenForWriting({1, 10}).status().reason(), "NOT_BEGUN");
}

TEST_F(DirectoryTest, ACheckpointNeverChanges) {
  auto directory = OpenAs("job 1");
  Begin(*directory, 1);
  Save(*directory, {1, 10});
  EXPECT_EQ(directory->OpenForWriting({1, 10}).status().code(), StatusCode::kAlreadyExists);
}

TEST_F(DirectoryTest, LatestPointsAtTheNewest) {
  auto directory = OpenAs("job 1");
  Begin(*directory, 1);
  Save(*directory, {1, 10});
  Save(*directory, {1, 20});
  EXPECT_EQ(fs::read_symlink(path() + "/latest"), PathOf({1, 20}));
  EXPECT_EQ(fs::canonical(path() + "/latest"), fs::canonical(At({1, 20})));
}

TEST_F(DirectoryTest, TwoJobsDoNotShareADirectory) {
  OpenAs("job 1");
  OpenAs("job 1");
  const auto other = Directory::Open(path(), "job 2");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.status().reason(), "OTHER_JOB");
  EXPECT_THAT(other.status().message(), HasSubstr("\"job 1\""));
  EXPECT_THAT(other.status().message(), HasSubstr("\"job 2\""));
  EXPECT_TRUE(Directory::Open(path(), "").ok()) << "a reader";
}

TEST_F(DirectoryTest, AReaderMakesNothing) {
  EXPECT_EQ(Directory::Open(path(), "").status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(fs::exists(path()));
  fs::create_directory(path());
  const auto reader = Directory::Open(path(), "");
  ASSERT_TRUE(reader.ok());
  EXPECT_THAT((*reader)->Visible().value(), IsEmpty());
  EXPECT_TRUE(fs::is_empty(path()));
}

TEST_F(DirectoryTest, TheParentMustExistAndTheJobHaveAName) {
  const auto orphan = Directory::Open(path() + "/no/ckpt", "job 1");
  EXPECT_EQ(orphan.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(orphan.status().message(), HasSubstr(path() + "/no/ckpt: No such file or directory"));
  EXPECT_EQ(Directory::Open(path(), "a\nb").status().field(), "job");
  EXPECT_EQ(Directory::Open(path(), "\xff").status().field(), "job");
  EXPECT_EQ(Directory::Open(path(), std::string(2000, 'x')).status().field(), "job");
  EXPECT_EQ(Directory::Open("", "job 1").status().field(), "path");
}

TEST_F(DirectoryTest, RecordsThatAreNotOursAreDataLoss) {
  auto directory = OpenAs("job 1");
  Begin(*directory, 1);
  Begin(*directory, 2);
  const std::string name = path() + "/attempt-2/base.json";
  const char* const kBad[] = {
      "",
      "{",
      "null",
      R"({"version":2,"attempt":2,"before":[]})",
      R"({"version":1,"attempt":3,"before":[]})",
      R"({"version":1,"attempt":2,"before":[],"base":{"attempt":2,"step":1}})",
      R"({"version":1,"attempt":2,"before":[{"attempt":1,"step":1}]})",
      R"({"version":1,"attempt":2,"before":[{"attempt":1,"step":9}],"base":{"attempt":1,"step":1}})",
      R"({"version":1,"attempt":2,"before":[],"base":{"attempt":1,"step":-1}})",
      R"({"version":1,"attempt":2,"before":[],"base":{"attempt":1,"step":NaN}})",
      R"({"version":1,"attempt":2,"before":[],"base":{"attempt":1,"step":1,"path":"../../x"}})"};
  for (const char* text : kBad) {
    Write(name, text);
    const auto visible = directory->Visible();
    EXPECT_EQ(visible.status().code(), StatusCode::kDataLoss) << text;
    EXPECT_THAT(visible.status().message(), HasSubstr("attempt-2/base.json")) << text;
    EXPECT_EQ(directory->BeginAttempt(3).status().code(), StatusCode::kDataLoss) << text;
  }
  Write(path() + "/job.json", "{}");
  EXPECT_EQ(Directory::Open(path(), "job 1").status().code(), StatusCode::kDataLoss);
}

TEST_F(DirectoryTest, LinksThatArePlantedLeadNowhere) {
  auto directory = OpenAs("job 1");
  Begin(*directory, 1);
  Save(*directory, {1, 10});
  // Outside lies what looks like an attempt and a checkpoint.
  auto elsewhere = Directory::Open(outside() + "/elsewhere", "job 1").value();
  ASSERT_TRUE(elsewhere->BeginAttempt(7).ok());
  ASSERT_TRUE(SaveSmall(*elsewhere, {7, 70}).ok());
  const std::string attempt = outside() + "/elsewhere/attempt-7";
  fs::create_directory_symlink(attempt, path() + "/attempt-7");
  fs::create_directory_symlink(attempt + "/step-00000070", path() + "/attempt-1/step-00000070");
  fs::create_directory(path() + "/attempt-1/step-00000080");
  fs::create_symlink(attempt + "/step-00000070/manifest.json", path() + "/attempt-1/step-00000080/manifest.json");
  fs::create_directory(path() + "/attempt-8");
  fs::create_symlink(attempt + "/base.json", path() + "/attempt-8/base.json");
  const auto before = AllUnder(outside() + "/elsewhere");

  EXPECT_THAT(VisibleIn(*directory), ElementsAre(CheckpointId{1, 10}));
  EXPECT_THAT(directory->All().value(), ElementsAre(CheckpointId{1, 10}));
  EXPECT_EQ(directory->BeginAttempt(7).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(directory->BeginAttempt(8).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(directory->OpenForReading({7, 70}).status().code(), StatusCode::kFailedPrecondition);
  const auto written = directory->OpenForWriting({1, 70});
  EXPECT_EQ(written.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(written.status().message(), HasSubstr("attempt-1/step-00000070 is a symbolic link"));
  fs::remove_all(path() + "/attempt-8");

  EXPECT_EQ(Begun(*directory, 9), (CheckpointId{1, 10}));
  Save(*directory, {9, 90});
  EXPECT_TRUE(directory->Prune(9, {.newest = 1}, 0).ok());
  EXPECT_EQ(AllUnder(outside() + "/elsewhere"), before);
  EXPECT_EQ(FaultOf(*elsewhere, {7, 70}), "");
}

TEST_F(DirectoryTest, APublishedNameTakesALinksPlaceAndDoesNotFollowIt) {
  auto directory = OpenAs("job 1");
  Begin(*directory, 1);
  const auto folder = directory->OpenForWriting({1, 10});
  ASSERT_TRUE(folder.ok());
  const UniqueFd owned(*folder);
  Write(outside() + "/precious", "untouched");
  fs::create_symlink(outside() + "/precious", At({1, 10}) + "/part-00000.json");
  EXPECT_EQ(directory->ReadText(*folder, "part-00000.json", 100).status().code(), StatusCode::kDataLoss);
  EXPECT_TRUE(directory->Publish(*folder, "part-00000.json", "ours").ok());
  EXPECT_EQ(directory->ReadText(*folder, "part-00000.json", 100).value(), "ours");
  EXPECT_EQ(Read(outside() + "/precious"), "untouched");
}

TEST_F(DirectoryTest, NamesThatLeadElsewhereAreRefused) {
  auto directory = OpenAs("job 1");
  Begin(*directory, 1);
  const auto folder = directory->OpenForWriting({1, 10});
  ASSERT_TRUE(folder.ok());
  const UniqueFd owned(*folder);
  const std::string kBad[] = {"", ".", "..", "../x", "/etc/passwd", "a/b", std::string("a\0b", 3)};
  for (const std::string& name : kBad) {
    EXPECT_EQ(directory->Publish(*folder, name, "x").code(), StatusCode::kInvalidArgument) << name;
    EXPECT_EQ(directory->ReadText(*folder, name, 100).status().code(), StatusCode::kInvalidArgument) << name;
  }
  EXPECT_TRUE(fs::is_empty(At({1, 10})));
}

TEST_F(DirectoryTest, ReadTextReadsPlainFilesThatAreShortEnough) {
  auto directory = OpenAs("job 1");
  Begin(*directory, 1);
  const auto folder = directory->OpenForWriting({1, 10});
  ASSERT_TRUE(folder.ok());
  const UniqueFd owned(*folder);
  EXPECT_EQ(directory->ReadText(*folder, "x", 10).status().code(), StatusCode::kNotFound);
  Write(At({1, 10}) + "/x", "1234567890");
  EXPECT_EQ(directory->ReadText(*folder, "x", 10).value(), "1234567890");
  EXPECT_EQ(directory->ReadText(*folder, "x", 9).status().code(), StatusCode::kDataLoss);
  ASSERT_EQ(::mkfifo((At({1, 10}) + "/pipe").c_str(), 0666), 0);
  EXPECT_EQ(directory->ReadText(*folder, "pipe", 10).status().code(), StatusCode::kDataLoss);
  fs::create_directory(At({1, 10}) + "/folder");
  EXPECT_EQ(directory->ReadText(*folder, "folder", 10).status().code(), StatusCode::kDataLoss);
}

TEST_F(DirectoryTest, NamesThatAreNotOursAreLeftAlone) {
  auto directory = OpenAs("job 1");
  Begin(*directory, 1);
  Save(*directory, {1, 10});
  Save(*directory, {1, 20});
  const std::string kForeign[] = {"attempt-007",      "attempt-",           "attempt-x",
                                  "attempt--1",       "attempt-4294967296", "notes",
                                  "attempt-1/step-x", "attempt-1/step-7",   "attempt-1/step-000000000",
                                  "attempt-1/notes"};
  for (const std::string& name : kForeign) {
    fs::create_directory(path() + "/" + name);
    Write(path() + "/" + name + "/manifest.json", "{}");
    Write(path() + "/" + name + "/base.json", "{}");
  }
  EXPECT_THAT(VisibleIn(*directory), ElementsAre(CheckpointId{1, 10}, CheckpointId{1, 20}));
  EXPECT_EQ(Begun(*directory, 2), (CheckpointId{1, 20}));
  Save(*directory, {2, 30});
  EXPECT_THAT(directory->Prune(2, {.newest = 1}, 0).value(), ElementsAre(CheckpointId{1, 10}, CheckpointId{1, 20}));
  for (const std::string& name : kForeign) EXPECT_TRUE(fs::exists(path() + "/" + name + "/manifest.json")) << name;
}

TEST_F(DirectoryTest, ADirectoryThatVanishedIsNotFound) {
  auto directory = OpenAs("job 1");
  Begin(*directory, 1);
  Save(*directory, {1, 10});
  const auto folder = directory->OpenForWriting({1, 20});
  ASSERT_TRUE(folder.ok());
  const UniqueFd owned(*folder);
  fs::remove_all(path());
  EXPECT_EQ(directory->Visible().status().code(), StatusCode::kNotFound);
  EXPECT_EQ(directory->All().status().code(), StatusCode::kNotFound);
  EXPECT_EQ(directory->BeginAttempt(2).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(directory->OpenForWriting({1, 30}).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(directory->OpenForReading({1, 10}).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(directory->Publish(*folder, "part-00000.json", "{}").code(), StatusCode::kNotFound);
  EXPECT_EQ(directory->PublishManifest({1, 20}, *folder, "{}").code(), StatusCode::kNotFound);
  EXPECT_EQ(directory->Prune(1, {}, 0).status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(DirectoryTest, AFileInTheDirectorysPlaceIsRefused) {
  Write(path(), "");
  EXPECT_EQ(Directory::Open(path(), "job 1").status().code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace glim::checkpoint
