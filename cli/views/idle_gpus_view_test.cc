// What status, why and the queue say of an attempt whose GPUs nobody uses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/views/views.h"
#include "sdk/base/time.h"

namespace glim::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr TimePoint kIdleSeen{1'763'640'547'125};

glim::v1::Job IdleJob() {
  glim::v1::Job job;
  job.set_id(7);
  job.mutable_spec()->set_name("notebook");
  job.set_state("running");
  glim::v1::Attempt& attempt = *job.add_attempts();
  attempt.mutable_ref()->set_job_id(7);
  attempt.mutable_ref()->set_number(1);
  attempt.set_state("running");
  attempt.set_gpus_idle_since_ms((kIdleSeen - Minutes(95)).ms);
  return job;
}

TEST(IdleGpusView, IsInStatusWhyAndTheQueueWhileItRuns) {
  glim::v1::Job job = IdleJob();
  const std::string line = "none of its GPUs was busy for 1 h 35 min: use them, or give them back (glim suspend 7)\n";
  EXPECT_THAT(StatusText(job, {}, kIdleSeen, false), HasSubstr("\n  " + line));
  EXPECT_THAT(StatusText(job, {}, kIdleSeen, false), HasSubstr("running (none of its GPUs is busy)"));
  EXPECT_THAT(QueueTable({job}, kIdleSeen, false), HasSubstr("none of its GPUs is busy"));
  glim::v1::ExplainJobResponse why;
  *why.mutable_job() = job;
  EXPECT_EQ(WhyText(why, kIdleSeen, false),
            "job 7 notebook is running: none of its GPUs is busy\n\nattempt 1: " + line);

  job.set_state("held");
  job.mutable_attempts(0)->set_state("ended");
  EXPECT_THAT(StatusText(job, {}, kIdleSeen, false), Not(HasSubstr("busy")));
  EXPECT_THAT(QueueTable({job}, kIdleSeen, false), Not(HasSubstr("busy")));
}

TEST(IdleGpusView, IsNowhereWhileTheyAreUsed) {
  glim::v1::Job job = IdleJob();
  job.mutable_attempts(0)->set_gpus_idle_since_ms(0);
  EXPECT_THAT(StatusText(job, {}, kIdleSeen, false), Not(HasSubstr("busy")));
  EXPECT_THAT(QueueTable({job}, kIdleSeen, false), Not(HasSubstr("busy")));
}

}  // namespace
}  // namespace glim::cli
