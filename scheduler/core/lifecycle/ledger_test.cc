// The ledger: every GPU-millisecond of a node is in exactly one use, and a job's share with it.
#include "scheduler/core/lifecycle/ledger.h"

#include <gtest/gtest.h>

#include <numeric>

#include "scheduler/core/testing/cluster_builder.h"
#include "scheduler/core/testing/specs.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Labels;
using testing::Patient;
using testing::ScriptedAgent;
using testing::Spec;
using testing::Zones;

constexpr std::int64_t kGpus = 8;

std::int64_t Of(const UseTotals& totals, Use use) { return totals[static_cast<std::size_t>(use)]; }

// A node's totals with the time since its last booking.
UseTotals Booked(Cluster& c, NodeId id) {
  UseTotals totals = c.node(id).ledger;
  totals[static_cast<std::size_t>(c.node(id).use)] += (c.now() - c.node(id).use_since).ms * c.node(id).labels.gpu_count;
  return totals;
}

TEST(Ledger, FollowsAJobThroughItsLife) {
  Cluster c(Zones{.nodes = 1}, Patient());
  c.Advance(Seconds(3));
  const JobId job = c.Submit(Spec(1));
  c.Advance(Seconds(5));
  c.Settle();
  c.Advance(Seconds(20));
  c.Save(job, 10);
  c.Advance(Seconds(7));
  c.Finish(job);
  c.Advance(Seconds(2));
  const UseTotals totals = Booked(c, NodeId(1));
  EXPECT_EQ(Of(totals, Use::kFree), kGpus * 5'000);
  EXPECT_EQ(Of(totals, Use::kStarting), kGpus * 5'000);
  EXPECT_EQ(Of(totals, Use::kProductive), kGpus * 27'000);
  EXPECT_EQ(std::accumulate(totals.begin(), totals.end(), std::int64_t{0}), kGpus * 37'000);
  EXPECT_EQ(Of(c.job(job).ledger, Use::kStarting), kGpus * 5'000);
  EXPECT_EQ(Of(c.job(job).ledger, Use::kProductive), kGpus * 27'000);
  EXPECT_EQ(RegisteredGpuMs(c.node(NodeId(1)), c.now()), kGpus * 37'000);
}

TEST(Ledger, AKillMovesWhatWasNotSavedToLost) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const JobId job = c.Submit(Spec(1));
  c.Settle();
  c.Advance(Seconds(100));
  c.Save(job, 10);
  c.Advance(Seconds(30));
  EXPECT_EQ(Of(c.node(NodeId(1)).ledger, Use::kLost), 0);
  c.Exit(job, 0, 1);
  EXPECT_EQ(Of(c.job(job).ledger, Use::kProductive), kGpus * 100'000);
  EXPECT_EQ(Of(c.job(job).ledger, Use::kLost), kGpus * 30'000);
  EXPECT_EQ(Of(c.node(NodeId(1)).ledger, Use::kLost), kGpus * 30'000);
}

struct Loss {
  const char* what;
  void (*happen)(Cluster&, JobId);
  std::int64_t lost_s;        // of the work since the last save, on each of two nodes; it was 40 s when this began
  std::int64_t work_s = 100;  // in all
};

const Loss kLosses[] = {
    {"success", [](Cluster& c, JobId job) { c.Finish(job); }, 0},
    {"a cancel is the user's own choice",
     [](Cluster& c, JobId job) {
       c.Cancel(job);
       c.Settle();
     },
     0},
    {"saved and left",
     [](Cluster& c, JobId job) {
       c.Suspend(job);
       c.Settle();
     },
     0},
    {"left without saving",
     [](Cluster& c, JobId job) {
       c.script(job).saves = false;
       c.Suspend(job);
       c.Settle();
     },
     40},
    {"killed at the deadline, after another minute",
     [](Cluster& c, JobId job) {
       c.script(job).acks = c.script(job).leaves = false;
       c.Suspend(job);
       c.Advance(Seconds(60));
       c.Settle();
     },
     100, 160},
    {"a program failure",
     [](Cluster& c, JobId job) {
       c.Exit(job, 0, 1);
       c.Settle();
     },
     40},
    {"a node failure",
     [](Cluster& c, JobId job) {
       c.Edit(job, 1, [](ObservedTask& task) { task.lost = true; });
       c.Settle();
     },
     40},
    {"a yield that did not save",
     [](Cluster& c, JobId job) {
       c.EditAll(job, [](ObservedTask& task) { task.ranks[0].leaving = task.ranks[0].yielded = true; });
       c.Exit(job, 0, 0);
       c.Exit(job, 1, 0);
     },
     40},
};

TEST(Ledger, WhatEachEndLoses) {
  for (const Loss& row : kLosses) {
    SCOPED_TRACE(row.what);
    Cluster c(Zones{}, Patient());
    const JobId job = c.Submit(Spec(2));
    c.Settle();
    c.Advance(Seconds(60));
    c.Save(job, 10);
    c.Advance(Seconds(40));
    c.Step(job, 14);
    row.happen(c, job);
    EXPECT_EQ(Of(c.job(job).ledger, Use::kLost), 2 * kGpus * row.lost_s * 1000);
    EXPECT_EQ(Of(c.job(job).ledger, Use::kProductive), 2 * kGpus * (row.work_s - row.lost_s) * 1000);
  }
}

TEST(Ledger, AnInterruptIsProductiveUntilTheSaveAndStoppingAfterwards) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const JobId job = c.Submit(Spec(1));
  c.Settle();
  c.Advance(Seconds(60));
  c.script(job).leaves = false;
  c.Suspend(job);
  c.Advance(Seconds(4));
  c.Settle();  // agrees and saves
  c.Advance(Seconds(6));
  c.script(job).leaves = true;
  c.Report(NodeId(1));
  c.Exit(job, 0, 0);
  const UseTotals& totals = c.job(job).ledger;
  EXPECT_EQ(Of(totals, Use::kProductive), kGpus * 64'000);
  EXPECT_EQ(Of(totals, Use::kStopping), kGpus * 6'000);
  EXPECT_EQ(Of(totals, Use::kLost), 0);
}

TEST(Ledger, AResumedJobIsRestoringUntilItsFirstStep) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const JobId job = c.Submit(Spec(1));
  c.Settle();
  c.Step(job, 5);
  c.Suspend(job);
  c.Settle();
  c.Resume(job);
  c.Settle();
  EXPECT_EQ(c.node(NodeId(1)).use, Use::kRestoring);
  c.Advance(Seconds(9));
  c.Step(job, 7);
  EXPECT_EQ(c.node(NodeId(1)).use, Use::kProductive);
  EXPECT_EQ(Of(c.job(job).ledger, Use::kRestoring), kGpus * 9'000);
}

TEST(Ledger, NodesThatWaitForTheRestOfTheirGangAreClaimed) {
  Cluster c(Zones{}, Patient());
  const JobId first = c.Submit(Spec(1));
  c.Settle();
  c.Advance(Seconds(10));
  c.script(first).acks = false;
  const JobId urgent = c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  EXPECT_EQ(c.node(NodeId(2)).use, Use::kClaimed);
  c.Advance(Seconds(8));
  EXPECT_EQ(Of(Booked(c, NodeId(2)), Use::kClaimed), kGpus * 8'000);
  c.Cancel(urgent, "bob");
  EXPECT_EQ(c.node(NodeId(2)).use, Use::kFree);
}

TEST(Ledger, NodesThatCannotBeUsedAreUnavailable) {
  Cluster c(Zones{.nodes = 1}, Patient());
  c.Silence(NodeId(1), true);
  EXPECT_EQ(c.node(NodeId(1)).use, Use::kUnavailable);
  c.Advance(Seconds(11));
  c.Return(NodeId(1));
  EXPECT_EQ(Of(c.node(NodeId(1)).ledger, Use::kUnavailable), kGpus * 11'000);
}

TEST(Ledger, ANodeThatComesBackWithAnotherNumberOfGpusStillSums) {
  Cluster c(Zones{.nodes = 1}, Patient());
  c.Advance(Seconds(10));
  c.Connect("n1", Labels("z1", "z1-l1", 16));
  c.Advance(Seconds(10));
  c.Connect("n1", Labels("z1", "z1-l1", 24));
  c.Advance(Seconds(1));
  EXPECT_EQ(RegisteredGpuMs(c.node(NodeId(1)), c.now()), 8 * 10'000 + 16 * 10'000 + 24 * 1'000);
  const UseTotals totals = Booked(c, NodeId(1));
  EXPECT_EQ(std::accumulate(totals.begin(), totals.end(), std::int64_t{0}), 264'000);
}

TEST(Ledger, TimeUnderOneHolderIsNotAtRiskForTheNext) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const JobId first = c.Submit(Spec(1));
  c.Settle();
  c.Advance(Seconds(50));
  c.Finish(first);
  const JobId second = c.Submit(Spec(1));
  c.Settle();
  c.Advance(Seconds(5));
  c.Exit(second, 0, 1);
  EXPECT_EQ(Of(c.job(first).ledger, Use::kLost), 0);
  EXPECT_EQ(Of(c.job(second).ledger, Use::kLost), kGpus * 5'000);
}

}  // namespace
}  // namespace glim::core
