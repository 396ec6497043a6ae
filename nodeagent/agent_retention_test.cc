// What ended jobs saved goes when the scheduler says so, and nothing else goes.
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>

#include "nodeagent/testing/agent_fixture.h"

namespace glim::nodeagent {
namespace {

namespace fs = std::filesystem;

class AgentRetentionTest : public AgentTest {
 protected:
  void SetUp() override {
    shared_ = folder_ + "/shared";
    fs::create_directories(shared_ + "/jobs");
    fs::create_directory(state_);
    fs::permissions(state_, fs::perms::owner_all);
    scheduler_.AnswerSaves([this](const v1::SavesHeld& held, v1::SavesVerdict* verdict) {
      std::lock_guard lock(mutex_);
      for (const v1::JobSaves& one : held.held()) {
        (one.in_use() ? in_use_ : held.shared() ? seen_shared_ : seen_).insert(one.job_id());
        saves_[one.job_id()] = one.saves();
      }
      for (const v1::JobSaves& one : held.removed()) told_.insert(one.job_id());
      verdict->set_epoch(epoch_);
      verdict->set_again_ms(100);
      verdict->set_collect_root(collects_ ? shared_ : "");
      for (const std::uint64_t job : ended_) verdict->add_remove(job);
      ++asked_;
      return grpc::Status::OK;
    });
  }
  // The agent asks to the last; what answers goes before the scheduler does.
  ~AgentRetentionTest() override { scheduler_.AnswerSaves(nullptr); }
  void Save(const std::string& folder, std::uint64_t job) const {
    fs::create_directories(folder + "/" + std::to_string(job) + "/attempt-1");
    std::ofstream(folder + "/" + std::to_string(job) + "/attempt-1/shard") << "bytes";
  }
  std::string Own() const { return state_ + "/checkpoints"; }
  bool WaitFor(const std::function<bool()>& check) {
    return Eventually([&] {
      std::lock_guard lock(mutex_);
      return check();
    });
  }
  bool WaitTwoRounds() {
    std::unique_lock lock(mutex_);
    const int since = asked_;
    lock.unlock();
    return WaitFor([&] { return asked_ >= since + 3; });
  }

  std::mutex mutex_;
  std::string shared_;
  std::set<std::uint64_t> ended_, seen_, seen_shared_, told_, in_use_;
  std::map<std::uint64_t, std::uint32_t> saves_;
  bool collects_ = false;
  std::uint64_t epoch_ = 1;
  int asked_ = 0;
};

TEST_P(AgentRetentionTest, WhatMayGoGoesAndIsTold) {
  Save(Own(), 40);
  Save(Own(), 41);
  ended_ = {40};
  StartAgent();
  EXPECT_TRUE(WaitFor([&] { return told_.contains(40); }));
  EXPECT_FALSE(fs::exists(Own() + "/40"));
  EXPECT_TRUE(WaitTwoRounds());
  EXPECT_TRUE(fs::exists(Own() + "/41/attempt-1/shard"));
}

TEST_P(AgentRetentionTest, TheCheckpointRootIsLookedThroughByWhomTheSchedulerSays) {
  Save(shared_ + "/jobs", 40);
  ended_ = {40};
  StartAgent();
  ASSERT_TRUE(WaitTwoRounds());
  EXPECT_TRUE(fs::exists(shared_ + "/jobs/40"));
  {
    std::lock_guard lock(mutex_);
    EXPECT_TRUE(seen_shared_.empty());
    collects_ = true;
  }
  EXPECT_TRUE(WaitFor([&] { return told_.contains(40); }));
  EXPECT_FALSE(fs::exists(shared_ + "/jobs/40"));
}

// Whatever a scheduler says: the ranks may write there at this moment.
TEST_P(AgentRetentionTest, SavesOfAJobWithATaskHereStay) {
  StartAgent();
  Launch(kKey,
         "cd $GLIM_CHECKPOINT_DIR; echo state > state; mkdir -p a/s; echo > a/s/manifest.json; echo saved; sleep 1000");
  Send();
  ASSERT_EQ(WaitLine(kKey, 0, "saved"), "");
  Save(Own(), 40);
  {
    std::lock_guard lock(mutex_);
    ended_ = {kKey.job, 40};
  }
  EXPECT_TRUE(WaitFor([&] { return told_.contains(40); }));
  EXPECT_TRUE(fs::exists(Own() + "/7/state"));
  {
    std::lock_guard lock(mutex_);
    EXPECT_FALSE(seen_.contains(kKey.job)) << "it is not asked about";
    EXPECT_TRUE(in_use_.contains(kKey.job)) << "it is told";
    EXPECT_EQ(saves_[kKey.job], 1u);
    EXPECT_EQ(saves_[40], 0u);
  }
  Stop(kKey, 0);
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  Unlist(kKey);
  Send();
  EXPECT_TRUE(Eventually([&] { return !fs::exists(Own() + "/7"); }));
}

TEST_P(AgentRetentionTest, WhatASchedulerOfAnEarlierEpochSaysIsNotDone) {
  Save(Own(), 40);
  ended_ = {40};
  epoch_ = 0;
  set_.set_epoch(1);
  Launch(kKey, "true");
  Send();
  StartAgent();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_TRUE(WaitFor([&] { return asked_ > 0; }));
  EXPECT_EQ(EndAgent(), 0);
  EXPECT_TRUE(fs::exists(Own() + "/40"));
}

TEST_P(AgentRetentionTest, WhatAKilledAgentHadBegunIsFinishedByTheNext) {
  Save(Own(), 40);
  fs::rename(Own() + "/40", Own() + "/.removing-40");
  StartAgent();
  EXPECT_TRUE(Eventually([&] { return !fs::exists(Own() + "/.removing-40"); }));
}

GLIM_FOR_EACH_RUNTIME(AgentRetentionTest);

}  // namespace
}  // namespace glim::nodeagent
