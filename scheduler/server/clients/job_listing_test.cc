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
constexpr core::PriorityClass kClasses[] = {core::PriorityClass::kLow, core::PriorityClass::kNormal,
                                            core::PriorityClass::kHigh};
constexpr const char* kUsers[] = {"ann", "bob", "kim"};

class JobListing : public ::testing::Test {
 protected:
  // Writes the job anew, in any state.
  void Put(std::uint64_t id) {
    core::Job job;
    job.id = core::JobId(id);
    job.user = kUsers[id % 3];
    job.team = id % 5 == 0 ? "nlp" : "vision";
    job.spec = specs_[id % 4];
    job.state = kStates[Below(6)];
    job.priority = kClasses[Below(3)];
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
    v1::ListJobsRequest request;
    request.set_user(user);
    request.set_all(all);
    request.set_page_size(page);
    return AllPages(request);
  }

  std::vector<std::uint64_t> AllPages(v1::ListJobsRequest request) {
    std::vector<std::uint64_t> ids;
    do {
      const auto response = ListJobs(Now(), request, caller_, TimePoint{5'000});
      EXPECT_TRUE(response.ok()) << response.status().message();
      if (!response.ok()) return ids;
      EXPECT_LE(response->jobs_size(), static_cast<int>(request.page_size()));
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
  // By pool and name.
  std::vector<std::shared_ptr<const core::JobSpec>> specs_ = [] {
    std::vector<std::shared_ptr<const core::JobSpec>> specs;
    for (const char* pool : {"a100", "h100"}) {
      for (const char* name : {"train-7b", "eval"}) {
        core::JobSpec spec = core::testing::Spec(1);
        spec.pool = pool;
        spec.name = name;
        specs.push_back(std::make_shared<const core::JobSpec>(std::move(spec)));
      }
    }
    return specs;
  }();
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

TEST_F(JobListing, FiltersTogetherLeaveWhatTheyAllTakeInTheSameOrder) {
  for (std::uint64_t id = 1; id <= 500; ++id) Put(id);
  for (int i = 0; i < 300; ++i) {
    v1::ListJobsRequest request;
    if (Below(2) == 0) request.set_user(kUsers[Below(3)]);
    if (Below(2) == 0) request.set_pool(Below(2) == 0 ? "a100" : "h100");
    if (Below(2) == 0) request.set_team(Below(2) == 0 ? "nlp" : "vision");
    if (Below(2) == 0) request.set_name(Below(2) == 0 ? "7b" : "eval");
    if (Below(2) == 0) request.set_priority(core::ToString(kClasses[Below(3)]));
    for (std::uint64_t n = Below(3); n > 0; --n) request.add_states(core::ToString(kStates[Below(6)]));
    request.set_all(Below(2) == 0);
    const auto wanted = [&](const core::Job& job) {
      const auto& states = request.states();
      const bool state = states.empty() ? request.all() || !core::IsTerminal(job.state)
                                        : std::count(states.begin(), states.end(), core::ToString(job.state)) > 0;
      return state && (request.user().empty() || job.user == request.user()) &&
             (request.pool().empty() || job.spec->pool == request.pool()) &&
             (request.team().empty() || job.team == request.team()) &&
             (request.priority().empty() || core::ToString(job.priority) == request.priority()) &&
             job.spec->name.find(request.name()) != std::string::npos;
    };
    std::vector<std::uint64_t> expected;
    for (const std::uint64_t id : Sorted("", true)) {
      if (wanted(*state_.FindJob(core::JobId(id)))) expected.push_back(id);
    }
    request.set_page_size(static_cast<std::uint32_t>(1 + Below(40)));
    EXPECT_EQ(AllPages(request), expected) << request.ShortDebugString();
  }
}

TEST_F(JobListing, APageLooksAtABoundedNumberOfJobsAndTheNextGoesOn) {
  const auto rare = [&] {
    core::JobSpec spec = core::testing::Spec(1);
    spec.name = "rare";
    return std::make_shared<const core::JobSpec>(std::move(spec));
  }();
  constexpr std::uint64_t kJobs = 2 * kLookedAtMax + 10;
  for (std::uint64_t id = 1; id <= kJobs; ++id) {
    core::Job job;
    job.id = core::JobId(id);
    job.user = "ann";
    job.spec = id == kJobs ? rare : specs_[0];
    job.submitted_at = TimePoint{static_cast<std::int64_t>(id)};
    state_.Put(job);
  }
  v1::ListJobsRequest request;
  request.set_name("rare");
  const Snapshot now = Now();
  int pages = 0;
  std::vector<std::uint64_t> ids;
  do {
    const auto response = ListJobs(now, request, caller_, TimePoint{5'000});
    ASSERT_TRUE(response.ok());
    for (const v1::Job& job : response->jobs()) ids.push_back(job.id());
    request.set_page_token(response->next_page_token());
    ++pages;
  } while (!request.page_token().empty());
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(ids, std::vector<std::uint64_t>{kJobs});
}

TEST_F(JobListing, WhatIsNoFilterIsRefusedWithWhatWouldDo) {
  for (std::uint64_t id = 1; id <= 40; ++id) Put(id);
  const auto refusal = [&](const v1::ListJobsRequest& request) {
    return ListJobs(Now(), request, caller_, TimePoint{5'000}).status();
  };
  v1::ListJobsRequest request;
  request.add_states("runing");
  EXPECT_EQ(refusal(request).field(), "states");
  EXPECT_NE(refusal(request).fix().find("did you mean 'running'? use any of: queued, starting"), std::string::npos)
      << refusal(request).fix();
  request = {};
  request.set_priority("auto");
  EXPECT_EQ(refusal(request).field(), "priority");
  EXPECT_NE(refusal(request).fix().find("use any of: low, "), std::string::npos) << refusal(request).fix();
  // A token of one list is none of another.
  request = {};
  request.set_page_size(3);
  request.set_pool("a100");
  const auto first = ListJobs(Now(), request, caller_, TimePoint{5'000});
  ASSERT_TRUE(first.ok());
  ASSERT_FALSE(first->next_page_token().empty());
  request.set_page_token(first->next_page_token());
  EXPECT_TRUE(refusal(request).ok());
  request.set_pool("h100");
  EXPECT_EQ(refusal(request).field(), "page_token");
  EXPECT_NE(refusal(request).message().find("other filters"), std::string::npos);
  request.set_page_token("1.0.0.0.0.1");
  EXPECT_NE(refusal(request).message().find("another version"), std::string::npos);
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
