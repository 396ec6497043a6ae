#include <gmock/gmock.h>
#include <sys/stat.h>

#include <set>
#include <thread>

#include "nodeagent/saves/save_copier.h"
#include "nodeagent/saves/testing/saves.h"
#include "sdk/base/testing/waits.h"

namespace glim::nodeagent {
namespace {

using testing::ElementsAre;

TEST_F(SaveCopyTest, AFolderArrivesWhole) {
  const std::map<std::string, std::string> files = {
      {"manifest.json", "{}"}, {"shards/0", Bytes(3'500'000)}, {"shards/deeper/1", Bytes(1 << 20, 2)}, {"empty", ""}};
  for (const auto& [path, text] : files) there_.Write("attempt-1/step-42/" + path, text);
  std::filesystem::create_directories(there_.checkpoints() + "/attempt-1/step-42/nothing-in-it");
  ASSERT_EQ(::chmod((there_.checkpoints() + "/attempt-1/step-42/manifest.json").c_str(), 0640), 0);
  there_.Write("attempt-1/step-41/other", "not asked for");
  there_.Serve();
  const Status status = Copy(Order("attempt-1/step-42", {there_.SourceFor("attempt-1/step-42", "node-2")}));
  ASSERT_TRUE(status.ok()) << status.message();
  for (const auto& [path, text] : files) EXPECT_EQ(here_.Read("attempt-1/step-42/" + path), text) << path;
  EXPECT_TRUE(here_.Has("attempt-1/step-42/nothing-in-it"));
  EXPECT_FALSE(here_.Has("attempt-1/step-41"));
  struct stat info {};
  ASSERT_EQ(::stat((here_.checkpoints() + "/attempt-1/step-42/manifest.json").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
  EXPECT_EQ(progress_.bytes, 2 + 3'500'000 + (1 << 20));
  EXPECT_THAT(here_.Jobs(), ElementsAre("7")) << "nothing half is left";
}

TEST_F(SaveCopyTest, AFileArrivesAlone) {
  there_.Write("model.pt", Bytes(2'000'000));
  there_.Serve();
  ASSERT_TRUE(Copy(Order("model.pt", {there_.SourceFor("model.pt", "node-2")})).ok());
  EXPECT_EQ(here_.Read("model.pt"), Bytes(2'000'000));
}

TEST_F(SaveCopyTest, WhatWasCopiedIsNotCopiedAgain) {
  there_.Write("s/a", "1");
  there_.Serve();
  const CopyOrder order = Order("s", {there_.SourceFor("s", "node-2")});
  ASSERT_TRUE(Copy(order).ok());
  there_.Die();
  EXPECT_TRUE(Copy(order).ok()) << "nobody is asked";
}

TEST_F(SaveCopyTest, AnotherSaveAtTheSamePathIsReplaced) {
  there_.Write("latest/a", "1");
  there_.Serve();
  CopyOrder order = Order("latest", {there_.SourceFor("latest", "node-2")});
  here_.Write("latest/a", "0");
  here_.Write("latest/of-old", "0");
  ASSERT_TRUE(Copy(order).ok());
  EXPECT_EQ(here_.Read("latest/a"), "1") << "a path that is there is not yet this save";
  EXPECT_FALSE(here_.Has("latest/of-old"));
  there_.Write("latest/a", "2");
  order.identity = "step 43";
  ASSERT_TRUE(Copy(order).ok());
  EXPECT_EQ(here_.Read("latest/a"), "2") << "our own copy, of an older save";
  here_.Write("latest/a", "changed here");
  ASSERT_TRUE(Copy(order).ok());
  EXPECT_EQ(here_.Read("latest/a"), "2") << "somebody wrote to it";
}

TEST_F(SaveCopyTest, WithoutSourcesItHasToBeHere) {
  EXPECT_EQ(Copy(Order("s", {})).code(), StatusCode::kNotFound);
  here_.Write("s/a", "1");
  EXPECT_TRUE(Copy(Order("s", {})).ok());
}

TEST_F(SaveCopyTest, PartsAreMerged) {
  TestNode third("node-3");
  there_.Write("s/manifest", "of rank 0");
  there_.Write("s/rank-0", Bytes(1000, 1));
  there_.Write("s/log", "node-1's");
  third.Write("s/rank-1", Bytes(2000, 2));
  third.Write("s/log", "node-3's");
  here_.Write("s/rank-2", Bytes(3000, 3));
  there_.Serve();
  third.Serve();
  CopyOrder order = Order("s", {there_.SourceFor("s", "node-2"), third.SourceFor("s", "node-2")});
  order.parts = true;
  const Status status = Copy(order);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(here_.Read("s/manifest"), "of rank 0");
  EXPECT_EQ(here_.Read("s/rank-0"), Bytes(1000, 1));
  EXPECT_EQ(here_.Read("s/rank-1"), Bytes(2000, 2));
  EXPECT_EQ(here_.Read("s/rank-2"), Bytes(3000, 3)) << "this node's own part stays";
  EXPECT_EQ(here_.Read("s/log"), "node-1's") << "the first source that has it";
  there_.Die();
  EXPECT_TRUE(Copy(order).ok()) << "whole by now";
}

TEST_F(SaveCopyTest, APartThatIsMissingSpoilsItAll) {
  TestNode third("node-3");
  there_.Write("s/rank-0", "0");
  there_.Serve();
  third.Serve();
  CopyOrder order = Order("s", {there_.SourceFor("s", "node-2"), third.SourceFor("s", "node-2")});
  order.parts = true;
  const Status status = Copy(order);
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find("node node-3 has no save s of job 7"), std::string::npos) << status.message();
  EXPECT_FALSE(here_.Has("s"));
}

TEST_F(SaveCopyTest, TheSecondSourceTakesOver) {
  TestNode third("node-3");
  there_.Serve();  // it does not have it
  third.Write("s/a", "1");
  third.Serve();
  ASSERT_TRUE(Copy(Order("s", {there_.SourceFor("s", "node-2"), third.SourceFor("s", "node-2")})).ok());
  EXPECT_EQ(here_.Read("s/a"), "1");
}

TEST_F(SaveCopyTest, BelongsToTheTasksUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give files away";
  there_.Write("attempt-1/s/sub/a", "1");
  there_.Serve();
  CopyOrder order = Order("attempt-1/s", {there_.SourceFor("attempt-1/s", "node-2")});
  order.owner = TaskUser{12345, 54321};
  ASSERT_TRUE(Copy(order).ok());
  for (const char* path : {"", "/attempt-1", "/attempt-1/s", "/attempt-1/s/sub", "/attempt-1/s/sub/a"}) {
    struct stat info {};
    ASSERT_EQ(::stat((here_.checkpoints() + path).c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, 12345u) << path;
    EXPECT_EQ(info.st_gid, 54321u) << path;
  }
}

TEST_F(SaveCopyTest, IsNobodyElsesToReadWhateverTheSourceAllowed) {
  namespace fs = std::filesystem;
  there_.Write("attempt-1/s/sub/a", "1");
  const std::string path = "/attempt-1/s/sub";
  fs::permissions(there_.checkpoints() + path, fs::perms(02777));
  fs::permissions(there_.checkpoints() + path + "/a", fs::perms(0666));
  there_.Serve();
  ASSERT_TRUE(Copy(Order("attempt-1/s", {there_.SourceFor("attempt-1/s", "node-2")})).ok());
  const auto mode_of = [&](const std::string& name) {
    struct stat info {};
    EXPECT_EQ(::stat((here_.checkpoints() + name).c_str(), &info), 0) << name;
    return info.st_mode & 07777;
  };
  EXPECT_EQ(mode_of("/attempt-1"), 0700u);
  EXPECT_EQ(mode_of(path), 02750u) << "as its group may";
  EXPECT_EQ(mode_of(path + "/a"), 0640u);
}

TEST_F(SaveCopyTest, ManyNodesCopyAtOnceAndWhoComesTooMuchAsksAgain) {
  there_.Write("s/a", Bytes(4 << 20));
  there_.Serve([](SaveServerOptions& options) { options.fetches_at_once = 2; });
  std::vector<std::unique_ptr<TestNode>> nodes;
  std::vector<Status> statuses(6);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < statuses.size(); ++i) {
      nodes.push_back(std::make_unique<TestNode>("reader-" + std::to_string(i)));
      threads.emplace_back([&, i, node = nodes.back().get()] {
        CopyProgress progress;
        CopyPlace place = Place();
        place.state_dir = node->state();
        place.node = node->name();
        statuses[i] = CopySave(place, Order("s", {there_.SourceFor("s", node->name())}), progress);
      });
    }
  }
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    EXPECT_TRUE(statuses[i].ok()) << statuses[i].message();
    EXPECT_EQ(nodes[i]->Read("s/a"), Bytes(4 << 20));
  }
}

TEST_F(SaveCopyTest, TheCopierMakesOneCopyOfAJobAtATime) {
  there_.Write("s/a", Bytes(2 << 20));
  there_.Serve();
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Status> ended;
  SaveCopier copier(Place(), 2);
  for (int i = 0; i < 5; ++i) {
    copier.Start(Order("s", {there_.SourceFor("s", "node-2")}), [&](const Status& status) {
      std::lock_guard lock(mutex);
      ended.push_back(status);
      changed.notify_all();
    });
  }
  std::unique_lock lock(mutex);
  ASSERT_TRUE(changed.wait_for(lock, LongWait(), [&] { return ended.size() == 5; }));
  for (const Status& status : ended) EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(here_.Read("s/a"), Bytes(2 << 20));
  EXPECT_THAT(here_.Jobs(), ElementsAre("7"));
}

TEST_F(SaveCopyTest, HalfCopiesOfACrashAreRemoved) {
  here_.Write("s/a", "1");
  std::filesystem::create_directories(here_.state() + "/checkpoints/.copy-7-1/save");
  std::filesystem::create_directories(here_.state() + "/checkpoints/.copy-8-1/save");
  ASSERT_TRUE(Copy(Order("s", {})).ok());
  EXPECT_THAT(here_.Jobs(), testing::UnorderedElementsAre("7", ".copy-8-1")) << "at the next copy of that job";
  SweepCopies(here_.state());
  EXPECT_THAT(here_.Jobs(), ElementsAre("7")) << "and at the agent's start";
  EXPECT_EQ(here_.Read("s/a"), "1");
}

}  // namespace
}  // namespace glim::nodeagent
