// What status and why say of an attempt that stands still.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/views/views.h"
#include "sdk/base/time.h"

namespace glim::cli {
namespace {

using ::testing::HasSubstr;

constexpr TimePoint kStallSeen{1'763'640'547'125};

glim::v1::Attempt RunningAttempt(std::uint32_t number) {
  glim::v1::Attempt attempt;
  attempt.mutable_ref()->set_job_id(7);
  attempt.mutable_ref()->set_number(number);
  attempt.set_state("running");
  attempt.set_base_step(-1);
  attempt.set_last_step(-1);
  return attempt;
}

TEST(StallView, AnAttemptThatStandsStillSaysSinceWhenAndWhatItDoes) {
  glim::v1::Job job;
  job.set_id(7);
  job.mutable_spec()->set_name("sft");
  job.set_state("running");
  auto* attempt = job.add_attempts();
  *attempt = RunningAttempt(1);
  EXPECT_EQ(StatusText(job, {}, kStallSeen, false).find("stands still"), std::string::npos);
  attempt->set_stalled_since_ms((kStallSeen - Minutes(41)).ms);
  EXPECT_THAT(StatusText(job, {}, kStallSeen, false),
              HasSubstr("\n  it stands still: the last step, save or output was 41 min ago; its processes are "
                        "being looked at\n"));
  attempt->set_evidence("n1, at step 4:\nrank 0: python3 (pid 4) sleeps; wait\x1b_for, a.py:3\n\nn1:\nstack\n");
  const std::string lines = "it stands still: the last step, save or output was 41 min ago; what its processes did:\n";
  EXPECT_THAT(
      StatusText(job, {}, kStallSeen, false),
      HasSubstr("\n  " + lines + "    n1, at step 4:\n    rank 0: python3 (pid 4) sleeps; wait\\x1b_for, a.py:3\n"));
  EXPECT_EQ(StatusText(job, {}, kStallSeen, false).find("stack"), std::string::npos) << "stacks are why's";
  glim::v1::ExplainJobResponse why;
  *why.mutable_job() = job;
  EXPECT_EQ(WhyText(why, kStallSeen, false),
            "job 7 sft is running\n\nattempt 1: " + lines +
                "  n1, at step 4:\n  rank 0: python3 (pid 4) sleeps; wait\\x1b_for, a.py:3\n\n  n1:\n  stack\n");
  attempt->set_state("ended");
  attempt->set_outcome("hang");
  *job.add_attempts() = RunningAttempt(2);
  *why.mutable_job() = job;
  EXPECT_THAT(WhyText(why, kStallSeen, false),
              HasSubstr("\nattempt 1: it stood still; what its processes did:\n  n1, at step 4:\n"));
}

}  // namespace
}  // namespace glim::cli
