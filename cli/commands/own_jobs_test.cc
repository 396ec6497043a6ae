// glim cancel, suspend and resume --name: all jobs of the caller's own with that in their names, which are shown first.
#include <gmock/gmock.h>

#include "cli/testing/cli_fixture.h"

namespace glim::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class OwnJobsTest : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    const auto state = server_.Lock();
    state->identity.who.set_user("kim");
    AddJob(state.state, 7, "running");
    AddJob(state.state, 8, "queued");
    AddJob(state.state, 9, "held");
  }
  std::vector<std::uint64_t> Cancelled() {
    std::vector<std::uint64_t> ids;
    for (const auto state = server_.Lock(); const auto& request : state->cancels) ids.push_back(request.job_id());
    return ids;
  }
};

TEST_F(OwnJobsTest, AreAllCancelledByAPartOfTheirNames) {
  const GlimResult result = Glim({"cancel", "--name", "lr-", "-y"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(Cancelled(), ElementsAre(9, 8, 7)) << "the newest first";
  EXPECT_EQ(result.err, "job 9 is cancelling\njob 8 is cancelling\njob 7 is cancelling\n");
  const auto state = server_.Lock();
  ASSERT_FALSE(state->list_jobs_requests.empty());
  EXPECT_EQ(state->list_jobs_requests[0].name(), "lr-");
  EXPECT_EQ(state->list_jobs_requests[0].user(), "kim") << "nobody else's";
  EXPECT_FALSE(state->list_jobs_requests[0].all()) << "of those that have not ended";
}

TEST_F(OwnJobsTest, AreShownByADryRun) {
  const GlimResult result = Glim({"cancel", "--name", "lr-", "--dry-run"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("  7  "));
  EXPECT_THAT(result.out, HasSubstr("  9  "));
  EXPECT_EQ(result.err, "nothing was changed\n");
  EXPECT_TRUE(Cancelled().empty());
}

TEST_F(OwnJobsTest, AreLeftAloneWhereNobodyCanBeAsked) {
  const GlimResult result = Glim({"cancel", "--name", "lr-"}, "y\n");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("nothing was changed: there is no terminal to ask on"));
  EXPECT_TRUE(Cancelled().empty());
}

TEST_F(OwnJobsTest, AreSuspendedAndResumedWhereThatMakesSense) {
  EXPECT_EQ(Glim({"suspend", "--name", "lr-", "-y"}).exit_code, 0);
  const GlimResult resumed = Glim({"resume", "--name", "lr-", "-y"});
  EXPECT_EQ(resumed.exit_code, 0);
  const auto state = server_.Lock();
  std::vector<std::uint64_t> ids;
  for (const auto& request : state->suspends) ids.push_back(request.job_id());
  EXPECT_THAT(ids, ElementsAre(7, 8)) << "who is held is left alone";
  EXPECT_THAT(resumed.err, HasSubstr("job 9 is queued"));
}

TEST_F(OwnJobsTest, AreNamedInOneWayOnly) {
  const GlimResult both = Glim({"cancel", "7", "--name", "lr-", "-y"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("JOB and --name exclude each other"));
  const GlimResult none = Glim({"cancel"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("no job was named"));
  EXPECT_THAT(none.err, HasSubstr("--name TEXT"));
  EXPECT_TRUE(Cancelled().empty());
}

TEST_F(OwnJobsTest, AreSaidToBeNoneWhereThereIsNone) {
  server_.Lock()->jobs.clear();
  const GlimResult result = Glim({"cancel", "--name", "lr-", "-y"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("NO_SUCH_JOB"));
  EXPECT_THAT(result.err, HasSubstr("glim queue --user"));
}

}  // namespace
}  // namespace glim::cli
