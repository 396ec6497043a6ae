// Where a job goes after an attempt that ended by no fault of its program.
#include "scheduler/core/lifecycle/hardware_restart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/lifecycle/claims.h"
#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::Patient;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

void LoseTask(Cluster& c, JobId job) {
  c.Edit(job, 0, [](ObservedTask& task) { task.lost = true; });
  c.Settle();
}

// From the end of the attempt to the next start.
Duration PauseAfterLoss(Cluster& c, JobId job) {
  LoseTask(c, job);
  const TimePoint not_before = c.job(job).not_before;
  if (!not_before) {
    EXPECT_EQ(c.job(job).state, JobState::kRunning);
    return {};
  }
  const Duration pause = not_before - c.now();
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
  c.Advance(pause - Milliseconds(1));
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
  c.Advance(Milliseconds(1));
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  return pause;
}

TEST(AHardwareRestart, HasNoPauseTheFirstTimeAndThenOneThatDoublesUpToTenMinutes) {
  Policy policy = Patient();
  policy.health.lemons.cordon_times = 0;  // not what this is about
  Cluster c(Zones{.nodes = 2}, policy);
  const JobId job = c.Running(Spec(1));
  EXPECT_EQ(PauseAfterLoss(c, job), Duration{});
  for (const std::int64_t seconds : {30, 60, 120, 240, 480, 600, 600}) {
    EXPECT_EQ(PauseAfterLoss(c, job), Seconds(seconds));
  }
  EXPECT_EQ(c.job(job).restarts, 8u);
  c.Advance(Hours(1) + Milliseconds(1));
  EXPECT_EQ(PauseAfterLoss(c, job), Duration{}) << "the first in an hour";
  EXPECT_EQ(c.job(job).hardware_failures, 1u);
}

TEST(AHardwareRestart, PausesAsTheSpecSays) {
  for (const auto& [backoff, second, third] :
       {std::tuple(Duration{}, Duration{}, Duration{}), std::tuple(Seconds(1), Seconds(1), Seconds(2)),
        std::tuple(Minutes(20), Minutes(20), Minutes(20))}) {
    Cluster c(Zones{.nodes = 2}, Patient());
    const JobId job = c.Running(SpecWith(1, [pause = backoff](JobSpec& s) { s.restart_backoff = pause; }));
    EXPECT_EQ(PauseAfterLoss(c, job), Duration{});
    EXPECT_EQ(PauseAfterLoss(c, job), second);
    EXPECT_EQ(PauseAfterLoss(c, job), third);
  }
}

TEST(AHardwareRestart, RestartMaxBoundsThem) {
  Cluster c(Zones{.nodes = 2}, Patient());
  const JobId job = c.Running(SpecWith(1, [](JobSpec& s) {
    s.restart_max = 2;
    s.restart_backoff = {};
  }));
  for (std::uint32_t n = 1; n <= 3; ++n) {
    LoseTask(c, job);
    EXPECT_EQ(c.job(job).restarts, n);
    EXPECT_EQ(c.job(job).state, n <= 2 ? JobState::kRunning : JobState::kFailed);
  }
  EXPECT_THAT(c.job(job).message, HasSubstr("restart.max is reached: 2"));
}

struct Cause {
  StopCause stop;
  Outcome outcome;
  const char* word;
};

const Cause kCauses[] = {{StopCause::kNodeFailure, Outcome::kNodeFailure, "node_failure"},
                         {StopCause::kGpuFailure, Outcome::kGpuFailure, "xid"},
                         {StopCause::kNetwork, Outcome::kNetwork, "network"},
                         {StopCause::kHang, Outcome::kHang, "hang"}};

// A job with these words in its restart.on meets that cause.
JobId MeetCause(Cluster& c, const Cause& cause, const std::vector<std::string>& words) {
  const JobId job = c.Running(SpecWith(1, [&](JobSpec& s) { s.restart_on = words; }));
  Changes changes(c.state(), c.policy(), c.now());
  StopAttempt(changes, c.attempt(job).id, cause.stop, "by the test");
  c.Commit(changes.Take());
  c.Settle();
  return job;
}

TEST(AHardwareRestart, IsForTheCausesThatTheSpecLists) {
  for (const Cause& cause : kCauses) {
    SCOPED_TRACE(cause.word);
    Cluster listed(Zones{.nodes = 2}, Patient());
    const JobId restarted = MeetCause(listed, cause, {cause.word});
    EXPECT_EQ(listed.attempt(restarted, 1).outcome, cause.outcome);
    EXPECT_EQ(listed.job(restarted).state, JobState::kRunning);
    std::vector<std::string> others;
    for (const Cause& other : kCauses) {
      if (other.word != std::string(cause.word)) others.emplace_back(other.word);
    }
    Cluster unlisted(Zones{.nodes = 2}, Patient());
    const JobId failed = MeetCause(unlisted, cause, others);
    EXPECT_EQ(unlisted.job(failed).state, JobState::kFailed);
    EXPECT_THAT(unlisted.job(failed).message, HasSubstr(std::string("; restart.on does not list ") + cause.word));
  }
}

TEST(AHardwareRestart, ByDefaultIsForAllButHangs) {
  const JobSpec spec;
  for (const Cause& cause : kCauses) {
    const bool listed = std::count(spec.restart_on.begin(), spec.restart_on.end(), cause.word) > 0;
    EXPECT_EQ(listed, cause.outcome != Outcome::kHang) << cause.word;
    EXPECT_EQ(RestartCauseOf(cause.outcome), cause.word);
  }
  for (const Outcome own : {Outcome::kFailed, Outcome::kOutOfMemory, Outcome::kTimeout, Outcome::kStartFailed}) {
    EXPECT_EQ(RestartCauseOf(own), "") << ToString(own);
  }
}

}  // namespace
}  // namespace glim::core
