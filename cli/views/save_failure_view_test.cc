// What status, why and the queue say of an attempt whose newest save failed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/views/save_failure_text.h"
#include "cli/views/views.h"
#include "sdk/base/time.h"

namespace glim::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr TimePoint kUnsavedSeen{1'763'640'547'125};

glim::v1::Job UnsavedJob() {
  glim::v1::Job job;
  job.set_id(7);
  job.mutable_spec()->set_name("full");
  job.set_state("running");
  job.set_durable_step(29);
  glim::v1::Attempt& attempt = *job.add_attempts();
  attempt.mutable_ref()->set_job_id(7);
  attempt.mutable_ref()->set_number(1);
  attempt.set_state("running");
  attempt.set_base_step(-1);
  attempt.set_durable_step(29);
  attempt.mutable_save_failure()->set_step(49);
  attempt.mutable_save_failure()->set_count(2);
  attempt.mutable_save_failure()->set_why("No space left on device");
  return job;
}

TEST(SaveFailureView, IsInStatusWhyAndTheQueue) {
  glim::v1::Job job = UnsavedJob();
  const std::string line =
      "its newest save failed: step 49, 2 tries since step 29 was saved: No space left on device\n";
  EXPECT_THAT(StatusText(job, {}, kUnsavedSeen, false), HasSubstr("\n  " + line));
  EXPECT_THAT(StatusText(job, {}, kUnsavedSeen, false), HasSubstr("running (its newest save failed)"));
  EXPECT_THAT(QueueTable({job}, kUnsavedSeen, false), HasSubstr("its newest save failed"));
  glim::v1::ExplainJobResponse why;
  *why.mutable_job() = job;
  EXPECT_EQ(WhyText(why, kUnsavedSeen, false), "job 7 full is running: its newest save failed\n\nattempt 1: " + line);
  job.set_state("succeeded");
  EXPECT_THAT(StatusText(job, {}, kUnsavedSeen, false), Not(HasSubstr("(its newest save")));
}

TEST(SaveFailureView, SaysWhatIsKnown) {
  glim::v1::Job job = UnsavedJob();
  glim::v1::Attempt& attempt = *job.mutable_attempts(0);
  attempt.set_durable_step(-1);
  attempt.mutable_save_failure()->set_count(1);
  EXPECT_EQ(SaveFailureText(attempt, 0),
            "its newest save failed: step 49, 1 try, none was made: No space left on device\n");
  attempt.set_base_step(9);
  attempt.mutable_save_failure()->set_step(-1);
  attempt.mutable_save_failure()->set_why("\x1b[2J");
  EXPECT_EQ(SaveFailureText(attempt, 0), "its newest save failed: 1 try since step 9 was saved: \\x1b[2J\n");
  attempt.mutable_save_failure()->clear_why();
  EXPECT_EQ(SaveFailureText(attempt, 2), "  its newest save failed: 1 try since step 9 was saved\n");
}

TEST(SaveFailureView, IsNowhereOnceASaveWasMade) {
  glim::v1::Job job = UnsavedJob();
  job.mutable_attempts(0)->clear_save_failure();
  EXPECT_THAT(StatusText(job, {}, kUnsavedSeen, false), Not(HasSubstr("save failed")));
  EXPECT_THAT(QueueTable({job}, kUnsavedSeen, false), Not(HasSubstr("save failed")));
}

}  // namespace
}  // namespace glim::cli
