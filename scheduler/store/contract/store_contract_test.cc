// The contract of store.h, run against every store.
#include "scheduler/store/testing/store_contract.h"

#include <algorithm>
#include <iterator>

#include "scheduler/store/testing/row_model.h"
#include "scheduler/store/testing/rows.h"

namespace glim::store {

using core::AttemptId;
using core::JobId;
using core::NodeId;

void StoreContract::SetUp() {
  place_ = GetParam().make();
  Reopen();
  ASSERT_NE(store_, nullptr);
  auto epoch = store_->AcquireEpoch();
  ASSERT_TRUE(epoch.ok()) << epoch.status().message();
  epoch_ = *epoch;
}

void StoreContract::Reopen() {
  store_.reset();
  auto opened = place_->Open();
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  store_ = std::move(opened).value();
}

std::unique_ptr<core::ClusterState> StoreContract::Load() {
  auto state = store_->Load();
  EXPECT_TRUE(state.ok()) << state.status().message();
  return state.ok() ? std::move(state).value() : std::make_unique<core::ClusterState>();
}

void StoreContract::Commit(const std::vector<core::Mutation>& mutations) {
  const Status status = store_->Commit(epoch_, mutations);
  ASSERT_TRUE(status.ok()) << status.message();
}

namespace {

core::Job JobWith(std::uint64_t id, const std::string& message) {
  core::Job job;
  job.id = JobId(id);
  job.user = "ada";
  job.submitted_at = TimePoint{1'700'000'000'000};
  job.spec = std::make_shared<core::JobSpec>();
  job.message = message;
  return job;
}

}  // namespace

TEST_P(StoreContract, ANewStoreIsEmpty) {
  const auto state = Load();
  RowModel().ExpectEqual(*state);
  EXPECT_EQ(state->next_job_id, JobId(1));
  EXPECT_EQ(state->next_node_id, NodeId(1));
  EXPECT_TRUE(store_->History({.limit = 10}).value().empty());
  EXPECT_EQ(store_->LastHistory().value(), 0u);
  EXPECT_TRUE(store_->EndedJobs({.limit = 10}).value().empty());
}

TEST_P(StoreContract, RandomMutationsComeBackAlsoAfterReopening) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    place_ = nullptr;
    store_.reset();
    SetUp();
    Rng rng(seed);
    RowModel model;
    for (int commit = 0; commit < 25; ++commit) {
      std::vector<core::Mutation> mutations;
      for (auto n = rng.Between(0, 12); n > 0; --n) {
        const JobId job(static_cast<std::uint64_t>(rng.Between(1, 8)));
        if (rng.OneIn(12) && model.jobs.contains(job)) {
          std::ranges::move(DeletionOf(model, job), std::back_inserter(mutations));
          model.Delete(job);
        } else {
          mutations.push_back(RandomMutation(rng, model));
        }
      }
      ASSERT_NO_FATAL_FAILURE(Commit(mutations));
      if (rng.OneIn(6)) Reopen();
      if (rng.OneIn(3)) {
        ASSERT_NO_FATAL_FAILURE(model.ExpectEqual(*Load()));
      }
    }
    Reopen();
    ASSERT_NO_FATAL_FAILURE(model.ExpectEqual(*Load()));
    const auto history = store_->History({.limit = 10'000});
    ASSERT_TRUE(history.ok()) << history.status().message();
    ASSERT_EQ(history->size(), model.history.size());
    for (std::size_t i = 0; i < model.history.size(); ++i) ASSERT_EQ((*history)[i].entry, model.history[i]) << i;
  }
}

TEST_P(StoreContract, TheLaterMutationOfARowWins) {
  Commit({Put(JobWith(1, "first")), Put(JobWith(1, "second"))});
  EXPECT_EQ(Load()->FindJob(JobId(1))->message, "second");
  Commit({Put(JobWith(1, "third"))});
  Reopen();
  EXPECT_EQ(Load()->FindJob(JobId(1))->message, "third");
  Commit({core::Deleted<core::Job>{JobId(1)}, Put(JobWith(1, "again")), Put(JobWith(2, "")),
          core::Deleted<core::Job>{JobId(2)}});
  EXPECT_EQ(Load()->FindJob(JobId(1))->message, "again");
  EXPECT_EQ(Load()->FindJob(JobId(2)), nullptr);
}

TEST_P(StoreContract, UsersTeamsAndQuotasComeBackAndGo) {
  const core::QuotaRow quota{{core::QuotaOf::kDefaultUser, ""}, core::PriorityClass::kHigh, 4};
  Commit({core::AccountChange{core::Team{"vision", 50}}, core::AccountChange{core::User{"kim", {"vision"}}},
          core::AccountChange{quota}});
  Reopen();
  core::Accounts accounts = Load()->accounts();
  EXPECT_EQ(accounts.teams.at("vision").weight, 50u);
  EXPECT_EQ(accounts.users.at("kim").teams, std::vector<std::string>{"vision"});
  EXPECT_EQ(accounts.quotas.at(quota.group).at(quota.priority), 4u);
  Commit({core::AccountChange{quota, true}, core::AccountChange{core::User{"kim", {}}}});
  Reopen();
  accounts = Load()->accounts();
  EXPECT_TRUE(accounts.quotas.empty());
  EXPECT_TRUE(accounts.users.at("kim").teams.empty());
}

TEST_P(StoreContract, DeletedRowsAreGoneAndOthersStay) {
  Rng rng(1);
  std::vector<core::Mutation> mutations;
  for (std::uint64_t job = 1; job <= 3; ++job) {
    mutations.push_back(Put(RandomJob(rng, JobId(job))));
    for (std::uint32_t number = 1; number <= 2; ++number) {
      mutations.push_back(Put(RandomAttempt(rng, {JobId(job), number})));
      mutations.push_back(Put(RandomTask(rng, {{JobId(job), number}, 0})));
    }
  }
  mutations.push_back(Entry(2, 1, "kept"));
  Commit(mutations);
  Commit({core::Deleted<core::Task>{{{JobId(2), 1}, 0}}, core::Deleted<core::Task>{{{JobId(2), 2}, 0}},
          core::Deleted<core::Attempt>{{JobId(2), 1}}, core::Deleted<core::Attempt>{{JobId(2), 2}},
          core::Deleted<core::Job>{JobId(2)}, core::Deleted<core::Job>{JobId(77)}});
  Reopen();
  const auto state = Load();
  EXPECT_EQ(state->FindJob(JobId(2)), nullptr);
  EXPECT_EQ(state->tables().jobs.size(), 2u);
  EXPECT_EQ(state->tables().attempts.size(), 4u);
  EXPECT_EQ(state->tables().tasks.size(), 4u);
  EXPECT_EQ(state->FindAttempt({JobId(2), 1}), nullptr);
  EXPECT_EQ(store_->History({.job = JobId(2), .limit = 10}).value().size(), 1u) << "history outlives the job";
}

TEST_P(StoreContract, ARowThatBelongsToNothingIsRefusedByALoad) {
  core::Task orphan;
  orphan.id = {{JobId(9), 1}, 2};
  Commit({Put(orphan)});
  const Status status = store_->Load().status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_EQ(status.message(), "row task 9.1.2: no such attempt");
}

TEST_P(StoreContract, ARemovedNodeIsGoneAndItsNameIsAnothers) {
  Rng rng(1);
  core::Node old = RandomNode(rng, NodeId(1)), replacement = RandomNode(rng, NodeId(2));
  old.name = replacement.name = "n1";
  Commit({Put(old)});
  Commit({core::Deleted<core::Node>{NodeId(1)}, core::Deleted<core::Node>{NodeId(77)}, Put(replacement)});
  Reopen();
  const auto state = Load();
  EXPECT_EQ(state->FindNode(NodeId(1)), nullptr);
  ASSERT_NE(state->FindNode(NodeId(2)), nullptr);
  EXPECT_EQ(state->FindNode(NodeId(2))->name, "n1");
  EXPECT_EQ(state->next_node_id, NodeId(3));
}

TEST_P(StoreContract, IdsAreNeverGivenOutAgain) {
  Commit({Put(JobWith(41, "")), core::PutIds{JobId(42), NodeId(7)}});
  Commit({core::Deleted<core::Job>{JobId(41)}});
  Commit({core::PutIds{JobId(40), NodeId(9)}});
  Reopen();
  auto state = Load();
  EXPECT_EQ(state->next_job_id, JobId(42));
  EXPECT_EQ(state->next_node_id, NodeId(9));
  // Even if the ids were not put, a row's own id is taken.
  core::Node node;
  node.id = NodeId(30);
  node.name = "n30";
  Commit({Put(JobWith(100, "")), Put(node)});
  state = Load();
  EXPECT_EQ(state->next_job_id, JobId(101));
  EXPECT_EQ(state->next_node_id, NodeId(31));
}

TEST_P(StoreContract, AStaleEpochIsRefusedAndChangesNothing) {
  Commit({Put(JobWith(1, "before")), Entry(1, 5, "before"), core::PutIds{JobId(2), NodeId(1)}});
  const std::uint64_t old_epoch = epoch_;
  Reopen();
  epoch_ = store_->AcquireEpoch().value();
  EXPECT_GT(epoch_, old_epoch);
  for (const std::uint64_t wrong : {old_epoch, epoch_ + 1, std::uint64_t{0}}) {
    const Status status =
        store_->Commit(wrong, {Put(JobWith(1, "after")), Put(JobWith(2, "new")), core::Deleted<core::Job>{JobId(1)},
                               Entry(1, 6, "after"), core::PutIds{JobId(50), NodeId(50)}});
    EXPECT_EQ(status.code(), StatusCode::kAborted);
    EXPECT_EQ(status.reason(), "STALE_EPOCH");
    EXPECT_EQ(store_->PruneHistory(wrong, TimePoint{1000}).status().reason(), "STALE_EPOCH");
  }
  Reopen();
  const auto state = Load();
  ASSERT_EQ(state->tables().jobs.size(), 1u);
  EXPECT_EQ(state->FindJob(JobId(1))->message, "before");
  EXPECT_EQ(state->next_job_id, JobId(2));
  EXPECT_EQ(store_->History({.limit = 10}).value().size(), 1u);
  Commit({Put(JobWith(2, "new"))});
  EXPECT_EQ(Load()->tables().jobs.size(), 2u);
}

TEST_P(StoreContract, AnEpochIsAtLeastWhatWasAskedForAndStillGrows) {
  EXPECT_EQ(store_->AcquireEpoch(1'700'000'000).value(), 1'700'000'000u);
  EXPECT_EQ(store_->AcquireEpoch(1'700'000'000).value(), 1'700'000'001u);
  EXPECT_EQ(store_->AcquireEpoch(5).value(), 1'700'000'002u);
  EXPECT_EQ(store_->NewestEpoch().value(), 1'700'000'002u);
  epoch_ = 1'700'000'002;
  Commit({Put(JobWith(1, "under the newest"))});
}

TEST_P(StoreContract, AnEpochIsSetBackByTheNewestAlone) {
  const auto first = store_->AcquireEpoch(0), far = store_->AcquireEpoch(5'000'000'000);
  ASSERT_TRUE(first.ok() && far.ok());
  EXPECT_EQ(store_->ResetEpoch(*first, 10).reason(), "STALE_EPOCH");
  EXPECT_EQ(store_->NewestEpoch().value(), *far);
  ASSERT_TRUE(store_->ResetEpoch(*far, 2'000).ok());
  EXPECT_EQ(store_->NewestEpoch().value(), 2'000U);
  EXPECT_FALSE(store_->PutMark(*far, "after", "x").ok());
  EXPECT_TRUE(store_->PutMark(2'000, "after", "x").ok());
  EXPECT_EQ(store_->AcquireEpoch(0).value(), 2'001U);
}

TEST_P(StoreContract, EpochsGrowAlsoAfterReopening) {
  std::uint64_t last = epoch_;
  for (int i = 0; i < 3; ++i) {
    Reopen();
    const auto next = store_->AcquireEpoch();
    ASSERT_TRUE(next.ok()) << next.status().message();
    EXPECT_GT(*next, last);
    EXPECT_EQ(store_->NewestEpoch().value(), *next);
    last = *next;
  }
}

TEST_P(StoreContract, ACommitThatFailsHalfwayChangesNothing) {
  AuditRow row;
  row.seq = 1;
  row.outcome = "ok";
  ASSERT_TRUE(store_->Commit(epoch_, {}, {}, {row}).ok());
  const Status status = store_->Commit(epoch_, {Put(JobWith(1, "")), Entry(1, 1, "x")}, {}, {row});
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_EQ(status.reason(), "STORE_CONSTRAINT");
  EXPECT_TRUE(Load()->tables().jobs.empty());
  EXPECT_TRUE(store_->History({.limit = 10}).value().empty());
  Commit({Put(JobWith(1, ""))});
  EXPECT_EQ(Load()->tables().jobs.size(), 1u);
}

TEST_P(StoreContract, WhatIsLearntComesBackAndOutlivesJobs) {
  const core::Share ann{{"vision", "ann"}, 1'234'567'890'123, 480'000}, bob{{"", "bob \"x\""}, 1, 2};
  const core::LifeTable fine{{3, "ann", 4, 90}, {0, 0, 7}, TimePoint{77}}, coarse{{0, "", 0, 0}, {1}, TimePoint{5}};
  Commit({Put(JobWith(1, "")), Put(ann), Put(bob), Put(fine), Put(coarse)});
  core::Share more = ann;
  more.gpu_ms += 5;
  Commit({core::Deleted<core::Job>{JobId(1)}, Put(more), core::Deleted<core::Share>{bob.id},
          core::Deleted<core::LifeTable>{coarse.id}});
  Reopen();
  const auto state = Load();
  ASSERT_EQ(state->tables().shares.size(), 1u);
  EXPECT_EQ(*state->tables().shares.Find(ann.id), more);
  ASSERT_EQ(state->tables().life_tables.size(), 1u);
  EXPECT_EQ(*state->tables().life_tables.Find(fine.id), fine);
  EXPECT_EQ(state->index().team_service.Decayed("vision", TimePoint{Hours(480'000).ms}), more.gpu_ms);
}

TEST_P(StoreContract, TheClusterIdStaysTheFirst) {
  EXPECT_EQ(store_->ClusterId("first").value(), "first");
  EXPECT_EQ(store_->ClusterId("second").value(), "first");
  Reopen();
  EXPECT_EQ(store_->ClusterId("third").value(), "first");
}

TEST_P(StoreContract, ALargeBatchIsOneCommit) {
  std::vector<core::Mutation> mutations;
  for (std::uint64_t id = 1; id <= 4'500; ++id) mutations.push_back(Put(JobWith(id, "batch")));
  mutations.push_back(core::PutIds{JobId(4'501), NodeId(1)});
  Commit(mutations);
  Reopen();
  const auto state = Load();
  EXPECT_EQ(state->tables().jobs.size(), 4'500u);
  EXPECT_EQ(state->next_job_id, JobId(4'501));
}

}  // namespace glim::store
