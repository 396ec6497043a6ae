// `after`: jobs that wait for the ends of others.
#include "scheduler/core/lifecycle/dependencies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;
using testing::Zones;

using enum DependencyKind;

JobSpec After(std::vector<Dependency> after, std::uint32_t nodes = 1) {
  JobSpec spec = Spec(nodes);
  spec.after = std::move(after);
  return spec;
}

// Each lets job 1, which runs, end.
void Succeed(Cluster& c) { c.Finish(JobId(1)); }
void Fail(Cluster& c) {
  c.Exit(JobId(1), 0, 1);
  c.Settle();
}
void Cancel(Cluster& c) {
  c.Cancel(JobId(1));
  c.Settle();
}

struct Fate {
  void (*end)(Cluster&);
  DependencyKind when;
  bool fulfilled;
  const char* how;  // it ended, in words; of those that break the dependency
};

// What the user of a job is told that fails for it.
std::string Broken(const Fate& fate) {
  return std::string("job 1 ") + fate.how + ", and it was to start after 1:" + ToString(fate.when);
}

const Fate kFates[] = {
    {Succeed, kOk, true, ""},
    {Succeed, kFailed, false, "succeeded"},
    {Succeed, kAny, true, ""},
    {Fail, kOk, false, "failed"},
    {Fail, kFailed, true, ""},
    {Fail, kAny, true, ""},
    {Cancel, kOk, false, "was cancelled"},
    {Cancel, kFailed, true, ""},
    {Cancel, kAny, true, ""},
};

TEST(Dependencies, AJobStartsWhenTheOtherHasEndedAsAsked) {
  for (const Fate& row : kFates) {
    SCOPED_TRACE(std::string(ToString(row.when)) + " " + row.how);
    Cluster c(Zones{.nodes = 2});
    c.Running(Spec(1));
    const JobId job = c.Submit(After({{JobId(1), row.when}}));
    EXPECT_EQ(c.job(job).state, JobState::kQueued) << "a node is free, and it must not have it yet";
    ASSERT_EQ(DependencyBlockers(c.state().tables(), c.job(job)).size(), 1u);
    c.Advance(Minutes(7));
    row.end(c);
    if (row.fulfilled) {
      c.Settle();
      EXPECT_EQ(c.job(job).state, JobState::kRunning);
      EXPECT_TRUE(c.job(job).waits_for.empty());
      EXPECT_EQ(c.attempt(job).queued_at, c.now()) << "it has waited for nodes from then on";
    } else {
      EXPECT_EQ(c.job(job).state, JobState::kFailed) << "it can never start";
      EXPECT_EQ(c.job(job).message, Broken(row));
      EXPECT_EQ(c.job(job).ended_at, c.now());
      EXPECT_EQ(c.state().index().kept.unfinished.jobs, 0u) << "it counts against nobody any more";
    }
  }
}

TEST(Dependencies, ThoseThatAreOverCountAtSubmission) {
  for (const Fate& row : kFates) {
    SCOPED_TRACE(std::string(ToString(row.when)) + " " + row.how);
    Cluster c(Zones{.nodes = 2});
    c.Running(Spec(1));
    row.end(c);
    const JobId job = c.Submit(After({{JobId(1), row.when}}));
    EXPECT_EQ(c.job(job).waits_for.empty(), row.fulfilled);
    EXPECT_EQ(c.job(job).state == JobState::kFailed, !row.fulfilled);
    if (!row.fulfilled) {
      EXPECT_EQ(c.job(job).message, Broken(row));
    }
  }
}

// `812:ok:keep`: the user wants to look at it before it goes.
TEST(Dependencies, AJobThatKeepsABrokenOneStaysQueuedAndSaysSo) {
  for (const Fate& row : kFates) {
    if (row.fulfilled) continue;
    SCOPED_TRACE(std::string(ToString(row.when)) + " " + row.how);
    Cluster c(Zones{.nodes = 2});
    c.Running(Spec(1));
    const JobId job = c.Submit(After({{JobId(1), row.when, true}}));
    row.end(c);
    const JobId late = c.Submit(After({{JobId(1), row.when, true}}));
    for (const JobId kept : {job, late}) {
      EXPECT_EQ(c.job(kept).state, JobState::kQueued);
      const auto blockers = DependencyBlockers(c.state().tables(), c.job(kept));
      ASSERT_EQ(blockers.size(), 1u);
      EXPECT_EQ(blockers[0].message, std::string("job 1 ") + row.how + ", 1:" + ToString(row.when) +
                                         ":keep was asked for: cancel this job or submit it again without it");
      EXPECT_EQ(blockers[0].kind, BlockerKind::kDependency);
      EXPECT_EQ(blockers[0].jobs, std::vector<JobId>{JobId(1)});
    }
    EXPECT_EQ(c.state().index().kept.UnfinishedOf("ann").jobs, 2u) << "its user chose that it waits";
  }
}

TEST(Dependencies, WhoWaitsForAJobThatFailsForItsDependencyFailsInTurn) {
  constexpr std::uint64_t kJobs = 5'000;  // longer than any stack of calls would bear
  Cluster c(Zones{.nodes = 2});
  c.policy().unfinished_spec_bytes_per_user_max = std::int64_t{1} << 30;  // all that have ended are to be looked at
  c.Running(Spec(1));
  for (std::uint64_t i = 1; i < kJobs; ++i) c.Submit(After({{JobId(i), kOk}}));
  const JobId next_try = c.Submit(After({{JobId(kJobs), kFailed}}));
  const JobId in_any_case = c.Submit(After({{JobId(kJobs), kAny}}));
  Fail(c);
  for (std::uint64_t i = 2; i <= kJobs; ++i) ASSERT_EQ(c.job(JobId(i)).state, JobState::kFailed) << i;
  EXPECT_EQ(c.job(JobId(3)).message, "job 2 never ran, and it was to start after 2:ok");
  EXPECT_EQ(c.job(next_try).message, "job 5000 never ran, and it was to start after 5000:failed");
  c.Settle();
  EXPECT_EQ(c.job(next_try).state, JobState::kFailed) << "nothing has failed that it could try again";
  EXPECT_EQ(c.job(in_any_case).state, JobState::kRunning);
}

// A link of a chain of tries that never ran has not failed.
TEST(Dependencies, AChainOfTriesEndsWithTheFirstThatSucceeds) {
  for (std::uint64_t good = 1; good <= 4; ++good) {
    SCOPED_TRACE(good);
    Cluster c(Zones{.nodes = 4});
    c.Submit(Spec(1));
    for (std::uint64_t i = 1; i < 4; ++i) c.Submit(After({{JobId(i), kFailed}}));
    for (std::uint64_t i = 1; i < good; ++i) {
      c.Settle();
      c.Exit(JobId(i), 0, 1);
    }
    c.Settle();
    c.Finish(JobId(good));
    c.Settle();
    for (std::uint64_t i = 1; i <= 4; ++i) {
      EXPECT_EQ(c.job(JobId(i)).state == JobState::kSucceeded, i == good) << i;
      EXPECT_EQ(c.job(JobId(i)).attempts, i <= good ? 1u : 0u) << i;
      EXPECT_EQ(c.job(JobId(i)).ended_unrun, i > good) << i;
    }
  }
}

TEST(Dependencies, ALinkThatWasCancelledBeforeItRanHasNotFailed) {
  Cluster c(Zones{.nodes = 2});
  c.Running(Spec(1));
  const JobId second = c.Submit(After({{JobId(1), kFailed}}));
  const JobId third = c.Submit(After({{second, kFailed}}));
  c.Cancel(second);
  c.Settle();
  EXPECT_EQ(c.job(third).state, JobState::kFailed);
  EXPECT_EQ(c.job(third).message, "job 2 was cancelled before it ran, and it was to start after 2:failed");
  c.RestartScheduler();
  EXPECT_EQ(c.job(c.Submit(After({{second, kFailed}}))).state, JobState::kFailed) << "nor is it forgotten";
}

TEST(Dependencies, AJobThatIsCancelledWhileItRunsHasFailedItsNextTry) {
  Cluster c(Zones{.nodes = 2});
  c.Running(Spec(1));
  c.Suspend(JobId(1));
  c.Settle();
  const JobId next = c.Submit(After({{JobId(1), kFailed}}));
  c.Cancel(JobId(1));
  c.Settle();
  EXPECT_EQ(c.job(next).state, JobState::kRunning) << "it has run, and was held when it was cancelled";
}

TEST(Dependencies, AChainThatIsCancelledFromItsEndStartsNoneOfIt) {
  for (const DependencyKind when : {kOk, kFailed, kAny}) {
    Cluster c(Zones{.nodes = 4});
    c.Running(Spec(1));
    for (std::uint64_t i = 1; i < 4; ++i) c.Submit(After({{JobId(i), when}}));
    for (std::uint64_t i = 4; i >= 1; --i) c.Cancel(JobId(i));
    c.Settle();
    for (std::uint64_t i = 1; i <= 4; ++i) {
      EXPECT_EQ(c.job(JobId(i)).state, JobState::kCancelled) << i;
      EXPECT_EQ(c.job(JobId(i)).attempts, i == 1 ? 1u : 0u) << i;
    }
  }
}

TEST(Dependencies, ASuspendedJobFailsToo) {
  Cluster c(Zones{.nodes = 2});
  c.Running(Spec(1));
  const JobId job = c.Submit(After({{JobId(1), kOk}}));
  c.Suspend(job);
  Fail(c);
  EXPECT_EQ(c.job(job).state, JobState::kFailed);
}

// A version before this rule left such jobs in the queue.
TEST(Dependencies, ANewLeaderEndsThoseThatAnEarlierVersionLeftWaiting) {
  Cluster c(Zones{.nodes = 2});
  c.Running(Spec(1));
  const JobId left = c.Submit(After({{JobId(1), kOk, true}}));
  const JobId kept = c.Submit(After({{JobId(1), kOk, true}}));
  Fail(c);
  Job row = c.job(left);
  JobSpec spec = *row.spec;
  spec.after[0].keep = row.waits_for[0].keep = false;
  row.spec = std::make_shared<const JobSpec>(spec);
  c.state().Put(row);
  c.Do(LeaderStarted{});
  EXPECT_EQ(c.job(left).state, JobState::kFailed);
  EXPECT_EQ(c.job(left).message, "job 1 failed, and it was to start after 1:ok");
  EXPECT_EQ(c.job(kept).state, JobState::kQueued);
}

TEST(Dependencies, AllMustBeFulfilled) {
  Cluster c(Zones{.nodes = 3});
  const JobId first = c.Running(Spec(1));
  const JobId second = c.Running(Spec(1));
  const JobId job = c.Submit(After({{first, kOk}, {second, kAny}}));
  c.Finish(second);
  EXPECT_EQ(c.job(job).waits_for, (std::vector<Dependency>{{first, kOk}}));
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
  EXPECT_EQ(DependencyBlockers(c.state().tables(), c.job(job)).at(0).message, "waits for job 1 (running) to succeed");
  c.Finish(first);
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
}

TEST(Dependencies, TheBrokenOneIsNamedFirst) {
  Cluster c(Zones{.nodes = 3});
  const JobId first = c.Running(Spec(1));
  const JobId second = c.Running(Spec(1));
  const JobId job = c.Submit(After({{first, kOk}, {second, kFailed, true}}));
  c.Finish(second);
  const auto blockers = DependencyBlockers(c.state().tables(), c.job(job));
  ASSERT_EQ(blockers.size(), 2u);
  EXPECT_EQ(blockers[0].jobs, std::vector<JobId>{second});
  EXPECT_EQ(blockers[1].message, "waits for job 1 (running) to succeed");
}

TEST(Dependencies, AVerdictOutlivesTheJobItIsAbout) {
  Policy policy;
  policy.finished_jobs_kept = 1;
  Cluster c(Zones{.nodes = 2}, policy);
  const JobId bad = c.Running(Spec(1));
  const JobId wants_ok = c.Submit(After({{bad, kOk, true}}));
  c.Exit(bad, 0, 1);
  c.Settle();
  const JobId good = c.Running(Spec(1));
  const JobId wants_failed = c.Submit(After({{good, kFailed, true}}));
  c.Finish(good);
  c.Finish(c.Running(Spec(1)));
  ASSERT_EQ(c.state().FindJob(bad), nullptr) << "it must have been forgotten";
  ASSERT_EQ(c.state().FindJob(good), nullptr);
  EXPECT_EQ(DependencyBlockers(c.state().tables(), c.job(wants_ok)).at(0).message,
            "job 1 did not succeed, 1:ok:keep was asked for: cancel this job or submit it again without it");
  EXPECT_EQ(
      DependencyBlockers(c.state().tables(), c.job(wants_failed)).at(0).message,
      "job 3 succeeded, or never ran, 3:failed:keep was asked for: cancel this job or submit it again without it");
  c.RestartScheduler();
  EXPECT_EQ(c.job(wants_ok).waits_for.size(), 1u);
}

TEST(Dependencies, AChainOfThemRunsInOrder) {
  Cluster c(Zones{.nodes = 4});
  c.Submit(Spec(1));
  for (std::uint64_t i = 1; i < 4; ++i) c.Submit(After({{JobId(i), kOk}}));
  for (std::uint64_t i = 1; i <= 4; ++i) {
    c.Settle();
    EXPECT_EQ(c.job(JobId(i)).state, JobState::kRunning) << i;
    if (i < 4) {
      EXPECT_EQ(c.job(JobId(i + 1)).state, JobState::kQueued) << i;
    }
    c.Finish(JobId(i));
  }
}

TEST(Dependencies, AHeldJobIsTold) {
  Cluster c(Zones{.nodes = 2});
  const JobId first = c.Running(Spec(1));
  const JobId job = c.Submit(After({{first, kOk}}));
  c.Suspend(job);
  c.Finish(first);
  EXPECT_EQ(c.job(job).state, JobState::kHeld);
  c.Resume(job);
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
}

TEST(Dependencies, TheyMayBeAnotherUsers) {
  Cluster c(Zones{.nodes = 2});
  c.Running(Spec(1));
  const JobId job = c.Submit(After({{JobId(1), kAny}}), "bob");
  c.Finish(JobId(1));
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
}

// So no job waits for itself, directly or in a circle.
TEST(Dependencies, UnknownOwnAndLaterNumbersAreRefused) {
  Cluster c(Zones{.nodes = 2});
  c.Running(Spec(1));
  for (const std::uint64_t number : {2u, 3u, 999u}) {
    const Reply reply = c.Do(SubmitJobs{"ann", "team", "", {After({{JobId(1), kOk}, {JobId(number), kOk}})}, false});
    EXPECT_EQ(reply.status.code(), StatusCode::kFailedPrecondition);
    EXPECT_EQ(reply.status.reason(), "NO_SUCH_JOB");
    EXPECT_EQ(reply.status.field(), "after[1]");
    EXPECT_THAT(reply.status.message(), ::testing::HasSubstr("there is no job " + std::to_string(number)));
    EXPECT_FALSE(reply.status.fix().empty());
  }
  const Reply batch = c.Do(SubmitJobs{"ann", "team", "", {Spec(1), After({{JobId(2), kOk}})}, false});
  EXPECT_EQ(batch.status.field(), "specs[1].after[0]");
  EXPECT_EQ(c.state().next_job_id, JobId(2));
}

TEST(Dependencies, TheIndexFollows) {
  Cluster c(Zones{.nodes = 2});
  const JobId first = c.Running(Spec(1));
  const JobId job = c.Submit(After({{first, kFailed}}));
  EXPECT_EQ(c.state().index().dependants.at(first), std::set<JobId>{job});
  EXPECT_TRUE(c.state().index().queue.empty());
  c.Finish(first);
  EXPECT_EQ(c.state().index(), c.state().RebuildIndex());
  c.Cancel(job);
  EXPECT_TRUE(c.state().index().dependants.empty());
}

}  // namespace
}  // namespace glim::core
