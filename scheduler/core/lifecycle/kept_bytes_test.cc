// What is kept on a user's word is bounded in bytes: specs of unfinished jobs, rows of ended ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "scheduler/core/lifecycle/job_machine.h"
#include "scheduler/core/model/spec_bytes.h"
#include "scheduler/core/testing/cluster_builder.h"
#include "sdk/base/rng.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

constexpr std::int64_t kMib = std::int64_t{1} << 20;

JobSpec Wide(std::size_t bytes) {
  return SpecWith(1, [&](JobSpec& spec) { spec.env = {{"A", std::string(bytes, 'x')}}; });
}

Reply Submit(Cluster& c, std::vector<JobSpec> specs, const std::string& user = "ann") {
  return c.Do(SubmitJobs{user, "team", "", std::move(specs), false});
}

// The sums that the rows of the state come to.
struct Sums {
  std::int64_t unfinished = 0, ended = 0;
};
std::map<std::string, Sums> SumsOf(const ClusterState& state) {
  std::map<std::string, Sums> sums;
  state.tables().jobs.ForEach([&](JobId, const Job& job) {
    Sums& of_user = sums[job.user];
    (IsTerminal(job.state) ? of_user.ended : of_user.unfinished) += SpecBytes(*job.spec) + TaleBytes(job);
  });
  return sums;
}

void ExpectCounted(const ClusterState& state) {
  const KeptJobs& kept = state.index().kept;
  Sums all;
  for (const auto& [user, sums] : SumsOf(state)) {
    EXPECT_EQ(kept.UnfinishedOf(user).bytes, sums.unfinished) << user;
    const auto ended = kept.ended_by_user.find(user);
    EXPECT_EQ(ended == kept.ended_by_user.end() ? 0 : ended->second.bytes, sums.ended) << user;
    all.unfinished += sums.unfinished;
    all.ended += sums.ended;
  }
  EXPECT_EQ(kept.unfinished.bytes, all.unfinished);
  EXPECT_EQ(kept.ended.bytes, all.ended);
}

TEST(KeptBytes, AUserIsRefusedBeyondTheirsAndToldBothNumbersAndWhatToDo) {
  Cluster c;
  c.policy().unfinished_spec_bytes_per_user_max = kMib;
  ASSERT_TRUE(Submit(c, {Wide(500'000), Wide(500'000)}).status.ok());
  const Status refused = Submit(c, {Spec(1), Wide(100'000)}).status;
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.reason(), "TOO_MANY_BYTES");
  EXPECT_EQ(refused.field(), "specs[1].env");
  EXPECT_THAT(refused.message(), HasSubstr("the 2 unfinished jobs of user ann take 981.7 KiB"));
  EXPECT_THAT(refused.message(), HasSubstr("and 2 more 102"));
  EXPECT_THAT(refused.message(), HasSubstr("1.0 MiB are allowed (unfinished_spec_bytes_per_user_max)"));
  EXPECT_THAT(refused.fix(), HasSubstr("cancel some; most is taken by env: put what is long into a file"));
  EXPECT_TRUE(Submit(c, {Wide(100'000)}, "bob").status.ok()) << "another's jobs count for the other";
  ASSERT_TRUE(c.Cancel(JobId(2)).status.ok());
  c.Settle();
  EXPECT_TRUE(Submit(c, {Wide(100'000)}).status.ok()) << "ended jobs do not count";
}

TEST(KeptBytes, ManySmallJobsAreNotSmall) {
  Cluster c;
  c.policy().unfinished_spec_bytes_per_user_max = kMib;
  std::uint32_t taken = 0;
  Status refused;
  while (refused.ok() && taken < 1'000) {
    refused = Submit(c, {Spec(1)}).status;
    taken += refused.ok() ? 1 : 0;
  }
  EXPECT_EQ(refused.reason(), "TOO_MANY_BYTES");
  EXPECT_EQ(refused.field(), "") << "no field of theirs is large";
  EXPECT_EQ(refused.fix(), "wait for some to end, or cancel some");
  EXPECT_LE(taken, kMib / kJobBytes);
}

TEST(KeptBytes, AllTogetherAreBoundedToo) {
  Cluster c;
  c.policy().unfinished_spec_bytes_max = kMib;
  ASSERT_TRUE(Submit(c, {Wide(500'000)}).status.ok());
  ASSERT_TRUE(Submit(c, {Wide(500'000)}, "bob").status.ok());
  const Status refused = Submit(c, {Wide(100'000)}, "eve").status;
  EXPECT_EQ(refused.reason(), "TOO_MANY_BYTES");
  EXPECT_THAT(refused.message(), HasSubstr("1.0 MiB are allowed (unfinished_spec_bytes_max)"));
}

TEST(KeptBytes, ExactlyAsMuchAsIsAllowedIsTaken) {
  Cluster c;
  c.policy().unfinished_spec_bytes_per_user_max = 2 * SpecBytes(Wide(1'000));
  EXPECT_TRUE(Submit(c, {Wide(1'000), Wide(1'000)}).status.ok());
  Cluster less;
  less.policy().unfinished_spec_bytes_per_user_max = 2 * SpecBytes(Wide(1'000)) - 1;
  EXPECT_FALSE(Submit(less, {Wide(1'000), Wide(1'000)}).status.ok());
}

TEST(KeptBytes, WhoSubmitsAndCancelsInALoopFillsNothing) {
  Cluster c;
  c.policy().unfinished_spec_bytes_per_user_max = kMib;
  const JobId others = c.Running(Wide(1'000), "bob");
  c.Finish(others);
  for (int i = 0; i < 60; ++i) {
    const Reply reply = Submit(c, {Wide(50'000)});
    ASSERT_TRUE(reply.status.ok());
    ASSERT_TRUE(c.Cancel(reply.jobs[0]).status.ok());
    c.Settle();
    ASSERT_NE(c.state().FindJob(reply.jobs[0]), nullptr) << "who just ended is there to be asked about";
    ASSERT_LE(c.state().index().kept.ended_by_user.at("ann").bytes, kMib / kEndedShare);
  }
  EXPECT_NE(c.state().FindJob(others), nullptr) << "others' ended jobs stay";
  ExpectCounted(c.state());
}

TEST(KeptBytes, AnEndedJobThatIsLargerThanAllMayBeStaysUntilTheNext) {
  Cluster c;
  c.policy().unfinished_spec_bytes_per_user_max = kMib;
  const JobId first = c.Submit(Wide(900'000));
  c.Cancel(first);
  c.Settle();
  EXPECT_NE(c.state().FindJob(first), nullptr);
  c.Cancel(c.Submit(Spec(1)));
  c.Settle();
  EXPECT_EQ(c.state().FindJob(first), nullptr);
}

TEST(KeptBytes, DependantsThatFailWithAJobAreBoundedLikeAnyOther) {
  Cluster c;
  c.policy().unfinished_spec_bytes_per_user_max = kMib;
  const JobId first = c.Submit(Spec(1), "bob");
  JobSpec after = Wide(90'000);
  after.after = {{first, DependencyKind::kOk, false}};
  ASSERT_TRUE(Submit(c, std::vector<JobSpec>(10, after)).status.ok());
  c.Cancel(first, "bob");
  c.Settle();
  EXPECT_LE(c.state().index().kept.ended_by_user.at("ann").bytes, kMib / kEndedShare);
  EXPECT_NE(c.state().FindJob(first), nullptr);
}

TEST(KeptBytes, OfAllEndedJobsTheOldestGo) {
  Cluster c;
  c.policy().unfinished_spec_bytes_max = kMib;
  std::vector<JobId> jobs;
  for (const char* user : {"ann", "bob", "eve"}) {
    jobs.push_back(c.Submit(Wide(100'000), user));
    c.Cancel(jobs.back(), user);
    c.Settle();
  }
  EXPECT_EQ(c.state().FindJob(jobs[0]), nullptr);
  EXPECT_NE(c.state().FindJob(jobs[1]), nullptr);
  EXPECT_LE(c.state().index().kept.ended.bytes, kMib / kEndedShare);
}

// Whatever happens to jobs, what is counted is what there is; also after a start from the store.
TEST(KeptBytes, TheSumsAreThoseOfTheRows) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed);
    Cluster c(Zones{.nodes = 3});
    c.policy().unfinished_spec_bytes_per_user_max = kMib;
    for (int step = 0; step < 120; ++step) {
      const std::string user = rng.OneIn(2) ? "ann" : "bob";
      const JobId any(static_cast<std::uint64_t>(
          rng.Between(1, std::max<std::int64_t>(1, static_cast<std::int64_t>(c.state().next_job_id.value) - 1))));
      const Job* const job = c.state().FindJob(any);
      switch (rng.Between(0, 5)) {
        case 0: Submit(c, std::vector<JobSpec>(static_cast<std::size_t>(rng.Between(1, 3)), Wide(20'000)), user); break;
        case 1: Submit(c, {Wide(static_cast<std::size_t>(rng.Between(0, 40'000)))}, user); break;
        case 2:
          if (job) c.Cancel(any, job->user);
          break;
        case 3:
          if (job && job->state == JobState::kRunning) c.Save(any, step);
          break;
        case 4:
          if (job && job->state == JobState::kRunning) c.Finish(any);
          break;
        default:
          if (rng.OneIn(4)) {
            c.RestartScheduler();
            for (std::uint32_t n = 1; n <= 3; ++n) c.Return(NodeId(n));
          } else {
            c.Settle();
          }
      }
      ExpectCounted(c.state());
      ASSERT_FALSE(HasFailure()) << "seed " << seed << " step " << step;
    }
  }
}

TEST(KeptBytes, OfAnAttemptThatIsOverNoPathsOfSavesAreKept) {
  Cluster c;
  const JobId job = c.Running(Spec(1));
  c.Save(job, 10);
  ASSERT_FALSE(c.task(job, 0).ranks[0].saves.empty());
  c.Finish(job);
  EXPECT_EQ(c.job(job).durable.step, 10);
  EXPECT_TRUE(c.task(job, 0).ranks[0].saves.empty());
}

}  // namespace
}  // namespace glim::core
