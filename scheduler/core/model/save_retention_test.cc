// Ended jobs' saves go by age and bound; what belongs to a job that has not ended, or to a user, stays.
#include "scheduler/core/model/save_retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr TimePoint kNow{Hours(24 * 1000).ms};
constexpr Duration kDay = Hours(24);
constexpr std::int64_t kSize = 1 << 20;

struct Rows {
  Policy policy;
  Tables tables;

  Rows() {
    policy.checkpoint_root = "/shared";
    policy.checkpoint_retention = {false, kDay * 7, kDay * 30, kDay * 20, 0, Hours(1)};
  }
  void Add(std::uint64_t id, JobState state, Duration ago, JobSpec spec = testing::Spec()) {
    Job job = testing::JobRow(id, std::move(spec));
    job.state = state;
    job.attempts = 1;
    job.checkpoint_root = job.spec->checkpoint_dir.empty() ? policy.checkpoint_root : "";
    if (IsTerminal(state)) job.ended_at = kNow - ago;
    tables.jobs.Put(job.id, std::make_shared<const Job>(job));
  }
  // All of one size, not changed since the beginning of time.
  SavesVerdict Ask(const std::vector<std::uint64_t>& jobs, SavesIn where = SavesIn::kSharedRoot) const {
    std::vector<HeldSaves> held;
    for (const std::uint64_t id : jobs) held.push_back({JobId{id}, kSize, TimePoint{1}, false});
    return JudgeSaves(tables, policy, kNow, where, held);
  }
};

JobSpec Naming(std::string path) {
  return testing::SpecWith(1, [&](JobSpec& spec) { spec.mounts = {{path, path, true}}; });
}

TEST(SaveRetention, EachOutcomeHasAnAgeFromTheEnd) {
  Rows rows;
  rows.Add(1, JobState::kSucceeded, kDay * 8);
  rows.Add(2, JobState::kSucceeded, kDay * 6);
  rows.Add(3, JobState::kFailed, kDay * 29);
  rows.Add(4, JobState::kFailed, kDay * 30);
  rows.Add(5, JobState::kCancelled, kDay * 19);
  rows.Add(6, JobState::kCancelled, kDay * 21);
  EXPECT_THAT(rows.Ask({1, 2, 3, 4, 5, 6}).remove, ElementsAre(JobId{1}, JobId{4}, JobId{6}));
  EXPECT_THAT(rows.Ask({1, 2, 3, 4, 5, 6}, SavesIn::kOwnFolder).remove, ElementsAre(JobId{1}, JobId{4}, JobId{6}));
}

TEST(SaveRetention, WhatAJobHasThatHasNotEndedStaysWhateverTheBound) {
  Rows rows;
  rows.policy.checkpoint_retention.bytes_max = 1;
  std::uint64_t id = 0;
  for (const JobState state : {JobState::kQueued, JobState::kStarting, JobState::kRunning, JobState::kInterrupting,
                               JobState::kCancelling, JobState::kSuspending, JobState::kHeld}) {
    rows.Add(++id, state, {});
  }
  for (const SavesIn where : {SavesIn::kOwnFolder, SavesIn::kSharedRoot}) {
    const SavesVerdict verdict = rows.Ask({1, 2, 3, 4, 5, 6, 7}, where);
    EXPECT_THAT(verdict.remove, IsEmpty());
    EXPECT_THAT(verdict.note, IsEmpty());
  }
}

TEST(SaveRetention, ABoundTakesSuccessesFirstAndTheOldestOfThem) {
  Rows rows;
  rows.Add(1, JobState::kFailed, kDay * 5);
  rows.Add(2, JobState::kSucceeded, kDay * 2);
  rows.Add(3, JobState::kSucceeded, kDay * 3);
  rows.Add(4, JobState::kRunning, {});
  rows.policy.checkpoint_retention.bytes_max = 3 * kSize;
  EXPECT_THAT(rows.Ask({1, 2, 3, 4}).remove, IsEmpty()) << "what runs does not count";
  rows.policy.checkpoint_retention.bytes_max = 2 * kSize;
  EXPECT_THAT(rows.Ask({1, 2, 3, 4}).remove, ElementsAre(JobId{3}));
  rows.policy.checkpoint_retention.bytes_max = kSize;
  EXPECT_THAT(rows.Ask({1, 2, 3, 4}).remove, ElementsAre(JobId{2}, JobId{3}));
  rows.policy.checkpoint_retention.bytes_max = kSize - 1;
  EXPECT_THAT(rows.Ask({1, 2, 3, 4}).remove, ElementsAre(JobId{1}, JobId{2}, JobId{3}));
}

TEST(SaveRetention, WhatAUserNamedIsTheUsers) {
  Rows rows;
  const JobSpec spec = testing::SpecWith(1, [](JobSpec& s) { s.checkpoint_dir = "/shared/jobs/$GLIM_JOB_ID"; });
  rows.Add(1, JobState::kSucceeded, kDay * 900, spec);
  EXPECT_THAT(rows.Ask({1}).remove, IsEmpty());
  EXPECT_THAT(rows.Ask({1}).note, IsEmpty());
  EXPECT_EQ(SavesKeptUntil(rows.policy, *rows.tables.jobs.Find(JobId{1})), TimePoint{});
}

TEST(SaveRetention, AnotherRootIsLeftAlone) {
  Rows rows;
  rows.Add(1, JobState::kSucceeded, kDay * 900);
  rows.policy.checkpoint_root = "/elsewhere";
  EXPECT_THAT(rows.Ask({1}).remove, IsEmpty());
  EXPECT_EQ(SavesKeptUntil(rows.policy, *rows.tables.jobs.Find(JobId{1})), TimePoint{});
}

TEST(SaveRetention, WhatAJobNamesThatHasNotEndedStaysAsLongAsThatHasNot) {
  for (const char* path : {"/shared/jobs/7", "/shared/jobs/7/attempt-1/step-00000009"}) {
    Rows rows;
    rows.Add(7, JobState::kSucceeded, kDay * 900);
    rows.Add(8, JobState::kQueued, {}, Naming(path));
    EXPECT_THAT(rows.Ask({7}).remove, IsEmpty()) << path;
    rows.Add(8, JobState::kSucceeded, {}, Naming(path));
    EXPECT_THAT(rows.Ask({7}).remove, ElementsAre(JobId{7})) << path;
  }
  Rows rows;
  rows.Add(7, JobState::kSucceeded, kDay * 900);
  rows.Add(8, JobState::kQueued, {}, Naming("/shared/jobs/70"));
  EXPECT_THAT(rows.Ask({7}).remove, ElementsAre(JobId{7})) << "70 is another job";
  rows.Add(9, JobState::kHeld, {},
           testing::SpecWith(1, [](JobSpec& s) { s.run = "python3 tune.py --from=/shared/jobs/7"; }));
  EXPECT_THAT(rows.Ask({7}).remove, IsEmpty());
}

TEST(SaveRetention, WhoComesAfterAJobFindsItsSaves) {
  Rows rows;
  rows.Add(7, JobState::kSucceeded, kDay * 900);
  rows.Add(8, JobState::kQueued, {}, testing::SpecWith(1, [](JobSpec& s) { s.after = {{.job = JobId{7}}}; }));
  EXPECT_THAT(rows.Ask({7}).remove, IsEmpty());
  EXPECT_THAT(rows.Ask({7}, SavesIn::kOwnFolder).remove, IsEmpty());
}

TEST(SaveRetention, AChangeAfterTheEndCountsAsTheEnd) {
  Rows rows;
  rows.Add(1, JobState::kSucceeded, kDay * 900);
  const auto ask = [&](TimePoint changed) {
    return JudgeSaves(rows.tables, rows.policy, kNow, SavesIn::kSharedRoot, {{JobId{1}, kSize, changed, false}}).remove;
  };
  EXPECT_THAT(ask(kNow - kDay * 6), IsEmpty());
  EXPECT_THAT(ask(kNow - kDay * 8), ElementsAre(JobId{1}));
  EXPECT_THAT(ask(kNow + kDay), ElementsAre(JobId{1})) << "a date ahead of the clock keeps nothing";
}

// Their rows went, for the scheduler keeps finished_jobs_kept of them.
TEST(SaveRetention, OfAForgottenJobThatWasNotedTheLongestAgeCountsFromItsLastChange) {
  Rows rows;
  rows.Add(9, JobState::kRunning, {});
  const auto ask = [&](std::uint64_t id, SavesIn where, bool noted, Duration ago) {
    return JudgeSaves(rows.tables, rows.policy, kNow, where, {{JobId{id}, kSize, kNow - ago, noted}}).remove;
  };
  EXPECT_THAT(ask(5, SavesIn::kSharedRoot, true, kDay * 31), ElementsAre(JobId{5}));
  EXPECT_THAT(ask(5, SavesIn::kSharedRoot, true, kDay * 29), IsEmpty());
  EXPECT_THAT(ask(5, SavesIn::kSharedRoot, false, kDay * 31), IsEmpty()) << "it may be a user's";
  EXPECT_THAT(ask(5, SavesIn::kOwnFolder, false, kDay * 31), ElementsAre(JobId{5})) << "nobody else writes there";
  EXPECT_THAT(ask(10, SavesIn::kOwnFolder, true, kDay * 900), IsEmpty()) << "a number that was not given out yet";
}

TEST(SaveRetention, EndedJobsAreNotedWhileTheyAreKnown) {
  Rows rows;
  rows.Add(1, JobState::kFailed, kDay);
  rows.Add(2, JobState::kRunning, {});
  EXPECT_THAT(rows.Ask({2, 1}).note, ElementsAre(JobId{1}));
}

TEST(SaveRetention, ForeverRemovesNothing) {
  Rows rows;
  rows.Add(1, JobState::kSucceeded, kDay * 900);
  rows.policy.checkpoint_retention.forever = true;
  EXPECT_THAT(rows.Ask({1}).remove, IsEmpty());
  EXPECT_EQ(SavesKeptUntil(rows.policy, *rows.tables.jobs.Find(JobId{1})), TimePoint{});
}

TEST(SaveRetention, AnEndedJobSaysUntilWhenItsSavesStay) {
  Rows rows;
  rows.Add(1, JobState::kFailed, kDay);
  rows.Add(2, JobState::kHeld, {});
  EXPECT_EQ(SavesKeptUntil(rows.policy, *rows.tables.jobs.Find(JobId{1})), kNow + kDay * 29);
  EXPECT_EQ(SavesKeptUntil(rows.policy, *rows.tables.jobs.Find(JobId{2})), TimePoint{});
}

TEST(RootCollector, IsTheFirstNodeThatSeesTheRoot) {
  Rows rows;
  const auto add = [&](std::uint32_t id, NodeState state, const char* marker, const char* error) {
    Node node = testing::NodeRow(id);
    node.state = state;
    node.root_marker = marker;
    node.root_error = error;
    rows.tables.nodes.Put(node.id, std::make_shared<const Node>(node));
  };
  add(1, NodeState::kSilent, "aa", "");
  add(2, NodeState::kReady, "bb", "another folder here");
  add(3, NodeState::kReady, "aa", "");
  add(4, NodeState::kReady, "aa", "");
  EXPECT_EQ(RootCollector(rows.tables, rows.policy), NodeId{3});
  rows.policy.checkpoint_root.clear();
  EXPECT_FALSE(RootCollector(rows.tables, rows.policy));
}

// Users hear of it, whether the job is still known or not.
TEST(SavesRemovedEvent, IsToldOfEachJob) {
  testing::Cluster c;
  const JobId job = c.Submit(testing::Spec(1));
  c.Do(SavesRemoved{NodeId{1}, false, {{job, 3 << 20}}});
  EXPECT_EQ(c.Noted(HistoryKind::kSavesRemoved), 1);
}

}  // namespace
}  // namespace glim::core
