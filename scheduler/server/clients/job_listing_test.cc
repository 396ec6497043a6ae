// Pages by place: the whole order in pieces of any size, while jobs come and go.
#include "scheduler/server/clients/job_listing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "scheduler/core/testing/specs.h"
#include "sdk/base/rng.h"

namespace glim::server {
namespace {

constexpr core::JobState kStates[] = {core::JobState::kQueued,    core::JobState::kRunning, core::JobState::kHeld,
                                      core::JobState::kSucceeded, core::JobState::kFailed,  core::JobState::kStarting};
constexpr const char* kUsers[] = {"ann", "bob", "kim"};

class JobListing : public ::testing::Test {
 protected:
  // Writes the job anew, in any state.
  void Put(std::uint64_t id) {
    core::Job job;
    job.id = core::JobId(id);
    job.user = kUsers[id % 3];
    job.spec = spec_;
    job.state = kStates[Below(6)];
    job.priority = static_cast<core::PriorityClass>(Below(3));
    job.swap_aborted = Below(4) == 0;
    job.submitted_at = TimePoint{1'000 + static_cast<std::int64_t>(Below(50))};
    if (core::IsTerminal(job.state)) job.ended_at = TimePoint{2'000 + static_cast<std::int64_t>(Below(50))};
    state_.Put(job);
  }

  Snapshot Now() const {
    Snapshot snapshot;
    snapshot.tables = state_.tables();
    snapshot.verdicts = std::make_shared<const core::Verdicts>();
    snapshot.policy = std::make_shared<const core::Policy>();
    snapshot.liveness = std::make_shared<const LivenessMap>();
    snapshot.counts = std::make_shared<const core::StateCounts>(state_.index().counts);
    return snapshot;
  }

  // What the pages must come to: every job looked at, and sorted.
  std::vector<std::uint64_t> Sorted(const std::string& user, bool all) const {
    std::vector<core::JobPlace> places;
    state_.tables().jobs.ForEach([&](core::JobId, const core::Job& job) {
      if ((all || !core::IsTerminal(job.state)) && (user.empty() || job.user == user)) {
        places.push_back(core::PlaceOf(job));
      }
    });
    std::sort(places.begin(), places.end());
    std::vector<std::uint64_t> ids;
    for (const core::JobPlace& place : places) ids.push_back(static_cast<std::uint64_t>(place.id));
    return ids;
  }

  std::vector<std::uint64_t> Paged(const std::string& user, bool all, std::uint32_t page) {
    std::vector<std::uint64_t> ids;
    v1::ListJobsRequest request;
    request.set_user(user);
    request.set_all(all);
    request.set_page_size(page);
    do {
      const auto response = ListJobs(Now(), request, caller_, TimePoint{5'000});
      EXPECT_TRUE(response.ok()) << response.status().message();
      if (!response.ok()) return ids;
      EXPECT_LE(response->jobs_size(), static_cast<int>(page));
      for (const v1::Job& job : response->jobs()) ids.push_back(job.id());
      request.set_page_token(response->next_page_token());
    } while (!request.page_token().empty());
    return ids;
  }

  std::uint64_t Below(std::int64_t n) { return static_cast<std::uint64_t>(rng_.Between(0, n - 1)); }

  Caller caller_ = [] {
    Caller operator_;
    operator_.role = core::Role::kOperator;
    return operator_;
  }();
  Rng rng_{7};
  std::shared_ptr<const core::JobSpec> spec_ = std::make_shared<const core::JobSpec>(core::testing::Spec(1));
  core::ClusterState state_;
};

TEST_F(JobListing, PagesTogetherAreTheWholeOrder) {
  for (std::uint64_t id = 1; id <= 700; ++id) Put(id);
  for (int change = 0; change < 2'000; ++change) Put(1 + Below(700));  // from any state to any other
  for (std::uint64_t id = 5; id <= 700; id += 7) state_.EraseJob(core::JobId(id));
  for (const char* user : {"", "ann", "kim", "nobody"}) {
    for (const bool all : {false, true}) {
      for (const std::uint32_t page : {1u, 7u, 1000u}) EXPECT_EQ(Paged(user, all, page), Sorted(user, all)) << user;
    }
  }
}

TEST_F(JobListing, APageStaysGoodWhenItsLastJobIsGone) {
  for (std::uint64_t id = 1; id <= 30; ++id) Put(id);
  const auto before = Sorted("", true);
  v1::ListJobsRequest request;
  request.set_all(true);
  request.set_page_size(10);
  const auto first = ListJobs(Now(), request, caller_, TimePoint{5'000});
  ASSERT_TRUE(first.ok());
  state_.EraseJob(core::JobId(before[9]));
  request.set_page_token(first->next_page_token());
  const auto second = ListJobs(Now(), request, caller_, TimePoint{5'000});
  ASSERT_TRUE(second.ok());
  ASSERT_EQ(second->jobs_size(), 10);
  EXPECT_EQ(second->jobs(0).id(), before[10]);
}

TEST_F(JobListing, OthersSeeNoPrivatePartsAndAJobsTokenSeesItsJobsAlone) {
  for (std::uint64_t id = 1; id <= 60; ++id) Put(id);
  core::Job child = *state_.FindJob(core::JobId(7));
  child.parent = core::JobId(4);  // both are bob's
  state_.Put(child);
  v1::ListJobsRequest request;
  request.set_all(true);
  caller_ = {};
  caller_.user = "bob";
  caller_.role = core::Role::kUser;
  const auto all = ListJobs(Now(), request, caller_, TimePoint{5'000});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->jobs_size(), 60);
  for (const v1::Job& job : all->jobs()) {
    EXPECT_EQ(job.spec().run().empty(), job.user() != "bob") << job.id();
    EXPECT_FALSE(job.spec().name().empty());
  }
  caller_.origin = core::TokenOrigin::kJob;
  caller_.attempt = {core::JobId(4), 1};
  std::vector<std::uint64_t> ids = Paged("", true, 1);
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(ids, (std::vector<std::uint64_t>{4, 7}));
  EXPECT_TRUE(Paged("ann", true, 10).empty());
}

TEST_F(JobListing, CountsFollowEveryWrite) {
  for (std::uint64_t id = 1; id <= 100; ++id) Put(id);
  for (int change = 0; change < 500; ++change) Put(1 + Below(100));
  state_.EraseJob(core::JobId(3));
  for (const core::JobState state : kStates) {
    std::uint64_t counted = 0;
    state_.tables().jobs.ForEach([&](core::JobId, const core::Job& job) { counted += job.state == state; });
    EXPECT_EQ(state_.index().counts.JobsIn(state), counted) << core::ToString(state);
  }
  EXPECT_EQ(state_.RebuildIndex().counts, state_.index().counts);
}

}  // namespace
}  // namespace glim::server
