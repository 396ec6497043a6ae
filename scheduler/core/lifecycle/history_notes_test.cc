// What the core notes for people: the typed entries of a job's and a node's life, in order, and the words made of them.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/model/history_words.h"
#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Not;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

std::vector<HistoryKind> KindsOf(const Cluster& c, JobId job) {
  std::vector<HistoryKind> kinds;
  for (const HistoryEntry& entry : c.store().history()) {
    if (entry.job == job) kinds.push_back(entry.kind);
  }
  return kinds;
}

// Of the newest entry of that kind; all its defaults if there is none.
HistoryEntry NewestOf(const Cluster& c, HistoryKind kind) {
  HistoryEntry found;
  for (const HistoryEntry& entry : c.store().history()) {
    if (entry.kind == kind) found = entry;
  }
  return found;
}

TEST(HistoryNotes, AnInterruptIsToldFromTheRequestToTheRelease) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Step(job, 100);
  const JobId urgent = c.Submit(SpecWith(2, [](JobSpec& s) { s.priority = PriorityClass::kHigh; }), "bob");
  EXPECT_EQ(NewestOf(c, HistoryKind::kAttemptClaimed).facts.jobs, std::vector<JobId>{job});
  EXPECT_EQ(HistoryWords(NewestOf(c, HistoryKind::kAttemptClaimed)), "n1, n2: 0 of 2 nodes free; waits for job 1");
  EXPECT_EQ(NewestOf(c, HistoryKind::kInterruptRequested).facts.grace, Seconds(60));
  EXPECT_EQ(NewestOf(c, HistoryKind::kInterruptRequested).facts.signal, "");
  c.Advance(Seconds(2));
  c.Edit(job, 0, [](ObservedTask& task) { task.ranks[0].extend = Seconds(120); });
  EXPECT_EQ(HistoryWords(NewestOf(c, HistoryKind::kGraceExtended)), "to 2 min 0 s");
  c.Settle();
  EXPECT_THAT(KindsOf(c, job),
              ElementsAre(HistoryKind::kJobSubmitted, HistoryKind::kAttemptClaimed, HistoryKind::kAttemptStarting,
                          HistoryKind::kAttemptRunning, HistoryKind::kInterruptRequested, HistoryKind::kGraceExtended,
                          HistoryKind::kStepAgreed, HistoryKind::kInterruptSaved, HistoryKind::kInterruptLeft,
                          HistoryKind::kAttemptEnded, HistoryKind::kJobQueued));
  EXPECT_EQ(NewestOf(c, HistoryKind::kStepAgreed).facts.step, c.attempt(job, 1).agreements.back().stop_step);
  EXPECT_EQ(NewestOf(c, HistoryKind::kInterruptSaved).facts.took, Seconds(2));
  EXPECT_EQ(NewestOf(c, HistoryKind::kInterruptLeft).facts.grace, Seconds(120));
  EXPECT_EQ(NewestOf(c, HistoryKind::kAttemptEnded).facts.outcome, Outcome::kInterrupted);
  EXPECT_EQ(c.job(urgent).state, JobState::kRunning);
}

TEST(HistoryNotes, WhoIsKilledAtTheDeadlineHasNotLeft) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Submit(SpecWith(2, [](JobSpec& s) { s.priority = PriorityClass::kHigh; }), "bob");
  c.Advance(Seconds(61));
  c.Settle();
  ASSERT_EQ(c.attempt(job, 1).save, SaveResult::kKilled);
  EXPECT_THAT(KindsOf(c, job), Contains(HistoryKind::kAttemptStopping));
  EXPECT_THAT(KindsOf(c, job), Not(Contains(HistoryKind::kInterruptLeft)));
  EXPECT_EQ(NewestOf(c, HistoryKind::kAttemptStopping).facts.stop, StopCause::kDeadline);
}

TEST(HistoryNotes, AResumedJobIsToldOnce) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Suspend(job);
  c.Settle();
  c.Resume(job);
  EXPECT_EQ(c.Noted(HistoryKind::kJobResumed), 1);
  EXPECT_EQ(c.Noted(HistoryKind::kJobQueued), 0) << "that it waits again goes without saying";
  EXPECT_EQ(HistoryWords(NewestOf(c, HistoryKind::kJobResumed)), "by ann");
}

TEST(HistoryNotes, AJobMayBeResumedBeforeItHasLeft) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Suspend(job);
  c.Resume(job);
  EXPECT_TRUE(NewestOf(c, HistoryKind::kJobResumed).facts.before_it_left);
  c.Settle();
  EXPECT_EQ(c.Noted(HistoryKind::kJobQueued), 1) << "it left, and queues";
}

TEST(HistoryNotes, ANodeIsToldWithItsLabelsAndItsSilence) {
  Cluster c(Zones{.zones = 1, .leaves = 1, .nodes = 1});
  const HistoryEntry registered = NewestOf(c, HistoryKind::kNodeRegistered);
  EXPECT_EQ(registered.facts.gpus, 8u);
  EXPECT_THAT(HistoryWords(registered), EndsWith("8 GPUs"));
  c.Silence(NodeId(1), true);
  EXPECT_EQ(c.Noted(HistoryKind::kNodeSilent), 1);
  EXPECT_EQ(HistoryWords(NewestOf(c, HistoryKind::kNodeSilent)), "its agent's stream ended");
  c.Return(NodeId(1));
  c.RestartScheduler();
  EXPECT_EQ(c.Noted(HistoryKind::kNodeSilent), 2) << "the new scheduler has not heard it";
}

TEST(HistoryNotes, NamesAndJobsAreBounded) {
  Cluster c(Zones{.zones = 1, .leaves = 1, .nodes = 12});
  c.Submit(Spec(12));
  const HistoryFacts facts = NewestOf(c, HistoryKind::kAttemptClaimed).facts;
  EXPECT_EQ(facts.nodes, 12u);
  EXPECT_EQ(facts.nodes_free, 12u);
  EXPECT_EQ(facts.node_names.size(), kHistoryNamesMax);
  EXPECT_EQ(facts.node_names_left_out, 4u);
}

}  // namespace
}  // namespace glim::core
