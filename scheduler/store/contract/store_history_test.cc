// The contract of store.h for what outlives the rows: history and ended jobs. Run against every store.
#include "scheduler/store/testing/store_contract.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/store/contract/hardware_history.h"
#include "scheduler/store/contract/store_limits.h"
#include "scheduler/store/testing/rows.h"

namespace glim::store {

using core::JobId;
using core::NodeId;

namespace {

EndedJob Ended(std::uint64_t id, std::int64_t ended_at_ms, const std::string& user = "ada",
               core::JobState state = core::JobState::kSucceeded) {
  EndedJob job;
  job.id = JobId(id);
  job.user = user;
  job.state = state;
  job.ended_at = TimePoint{ended_at_ms};
  return job;
}

}  // namespace

TEST_P(StoreContract, HistoryIsReadByJobAndPage) {
  std::vector<core::Mutation> mutations;
  for (int i = 0; i < 30; ++i) mutations.push_back(Entry(1 + i % 3, 1000 + i, "entry " + std::to_string(i)));
  mutations.push_back(Entry(1, 2000, std::string("nul \0 and \xff", 11)));
  Commit(mutations);
  std::vector<std::string> texts;
  std::uint64_t after = 0;
  for (int page = 0; page < 4; ++page) {
    const auto entries = store_->History({.job = JobId(2), .after = after, .limit = 4});
    ASSERT_TRUE(entries.ok()) << entries.status().message();
    for (const auto& [seq, entry] : *entries) {
      EXPECT_GT(seq, after);
      EXPECT_EQ(entry.job, JobId(2));
      after = seq;
      texts.push_back(entry.text);
    }
  }
  ASSERT_EQ(texts.size(), 10u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(texts[i], "entry " + std::to_string(1 + 3 * i));
  const auto all = store_->History({.limit = 100}).value();
  ASSERT_EQ(all.size(), 31u);
  EXPECT_EQ(all.back().entry.text, "nul \xEF\xBF\xBD and \xEF\xBF\xBD");
  EXPECT_EQ(store_->LastHistory().value(), all.back().seq);
  EXPECT_TRUE(store_->History({.job = JobId(9), .limit = 100}).value().empty());
  EXPECT_TRUE(store_->History({.after = all.back().seq, .limit = 100}).value().empty());
  EXPECT_TRUE(store_->History({.after = ~std::uint64_t{0}, .limit = 100}).value().empty());
  EXPECT_TRUE(store_->History({.limit = 0}).value().empty());
}

TEST_P(StoreContract, AnEntrysFactsComeBack) {
  Rng rng(1);
  std::vector<core::HistoryEntry> entries;
  std::vector<core::Mutation> mutations;
  for (int i = 0; i < 50; ++i) {
    entries.push_back(RandomHistory(rng, JobId(1)));
    mutations.push_back(entries.back());
  }
  Commit(mutations);
  const auto read = store_->History({.limit = 100}).value();
  ASSERT_EQ(read.size(), entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) EXPECT_EQ(read[i].entry, entries[i]) << i;
}

TEST_P(StoreContract, HistoryIsPrunedByAgeInBoundedSteps) {
  std::vector<core::Mutation> mutations;
  for (std::size_t i = 0; i < kPruneMax + 10; ++i) mutations.push_back(Entry(1, 100, "old"));
  mutations.push_back(Entry(1, 200, "young"));
  Commit(mutations);
  const std::uint64_t last = store_->History({.after = kPruneMax + 10, .limit = 10}).value().back().seq;
  EXPECT_EQ(store_->PruneHistory(epoch_, TimePoint{200}).value(), kPruneMax);
  EXPECT_EQ(store_->PruneHistory(epoch_, TimePoint{200}).value(), 10u);
  EXPECT_EQ(store_->PruneHistory(epoch_, TimePoint{200}).value(), 0u);
  auto left = store_->History({.limit = 10}).value();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].entry.text, "young");
  // A pruned sequence number never comes back: a reader that pages would miss it.
  EXPECT_EQ(store_->PruneHistory(epoch_, TimePoint{201}).value(), 1u);
  Reopen();
  Commit({Entry(1, 300, "next")});
  left = store_->History({.after = last, .limit = 10}).value();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_GT(left[0].seq, last);
}

TEST_P(StoreContract, HistoryIsReadByNodeAndByTime) {
  std::vector<core::Mutation> mutations;
  for (int i = 0; i < 12; ++i) {
    core::HistoryEntry entry = Entry(i % 2, 1000 + 10 * i, "entry " + std::to_string(i));
    entry.node = NodeId(static_cast<std::uint32_t>(i % 3));
    mutations.push_back(entry);
  }
  Commit(mutations);
  const auto texts = [&](const Store::HistoryQuery& query) {
    std::string joined;
    const auto found = store_->History(query);
    EXPECT_TRUE(found.ok()) << found.status().message();
    for (const auto& stored : *found) joined += stored.entry.text.substr(6) + " ";
    return joined;
  };
  EXPECT_EQ(texts({.node = NodeId(2), .limit = 100}), "2 5 8 11 ");
  EXPECT_EQ(texts({.node = NodeId(2), .since = TimePoint{1045}, .limit = 100}), "5 8 11 ");
  EXPECT_EQ(texts({.since = TimePoint{1100}, .limit = 100}), "10 11 ");
  EXPECT_EQ(texts({.since = TimePoint{1101}, .limit = 100}), "11 ");
  EXPECT_EQ(texts({.since = TimePoint{1111}, .limit = 100}), "");
  EXPECT_EQ(texts({.job = JobId(1), .since = TimePoint{1050}, .limit = 2}), "5 7 ");
  EXPECT_EQ(texts({.job = JobId(1), .node = NodeId(2), .limit = 100}), "5 11 ");
}

TEST_P(StoreContract, EndedJobsOutliveTheirRowsAndAreReadNewestFirst) {
  EndedJob first = Ended(1, 100);
  first.name = "nul \xff";
  first.team = "nlp";
  first.pool = "a100";
  first.priority = core::PriorityClass::kHigh;
  first.message = "why";
  first.nodes = 4;
  first.gpus_per_node = 8;
  first.simulated_gpus = true;
  first.submitted_at = TimePoint{1};
  first.started_at = TimePoint{2};
  first.attempts = 3;
  first.interrupts = 2;
  first.restarts = 1;
  first.steps_lost = 17;
  first.durable_step = 900;
  first.waited = Milliseconds(55);
  first.ledger = {0, 1, 2, 3, 4, 5, 6, 7};
  core::Job row;
  row.id = JobId(1);
  row.spec = std::make_shared<core::JobSpec>();
  const core::Mutation put = std::make_shared<const core::Job>(row);
  ASSERT_TRUE(store_->Commit(epoch_, {put, core::PutIds{JobId(2), NodeId(1)}}, {first}).ok());
  ASSERT_TRUE(store_->Commit(epoch_, {core::Deleted<core::Job>{JobId(1)}}, {}).ok());
  std::vector<EndedJob> more;
  for (std::uint64_t id = 2; id <= 9; ++id) {
    const auto state = id % 2 == 0 ? core::JobState::kFailed : core::JobState::kCancelled;
    more.push_back(Ended(id, 100 + static_cast<std::int64_t>(id) / 3, id % 4 == 0 ? "bob" : "ada", state));
  }
  ASSERT_TRUE(store_->Commit(epoch_, {}, more).ok());
  more[0].message = "put again";
  ASSERT_TRUE(store_->Commit(epoch_, {}, {more[0]}).ok());
  Reopen();
  const auto ids = [&](EndedJobsQuery query) {
    std::string joined;
    const auto found = store_->EndedJobs(query);
    EXPECT_TRUE(found.ok()) << found.status().message();
    for (const auto& job : *found) joined += std::to_string(job.id.value) + " ";
    return joined;
  };
  EXPECT_EQ(ids({.limit = 100}), "9 8 7 6 5 4 3 2 1 ");
  EXPECT_EQ(ids({.limit = 0}), "");
  EXPECT_EQ(ids({.before_at = TimePoint{102}, .before_id = JobId(7), .limit = 3}), "6 5 4 ");
  EXPECT_EQ(ids({.user = "bob", .limit = 100}), "8 4 ");
  EXPECT_EQ(ids({.user = "nobody", .limit = 100}), "");
  EXPECT_EQ(ids({.state = "failed", .limit = 3}), "8 6 4 ");
  EXPECT_EQ(ids({.user = "ada", .state = "failed", .since = TimePoint{101}, .limit = 100}), "6 ");
  const auto all = store_->EndedJobs({.limit = 100}).value();
  first.name = "nul \xEF\xBF\xBD";
  EXPECT_EQ(all.back(), first) << "every field comes back";
  EXPECT_EQ(all[7].message, "put again");
  EXPECT_EQ(store_->Commit(epoch_ + 1, {}, {Ended(50, 1)}).reason(), "STALE_EPOCH");
  EXPECT_EQ(ids({.limit = 1}), "9 ");
}

TEST_P(StoreContract, EndedJobsAreFilteredByWhatTheyAre) {
  Rng rng(7);
  const std::vector<std::string> users = {"ada", "bob"}, teams = {"", "nlp", "vision"}, pools = {"a100", "h100"};
  const std::vector<std::string> names = {"train", "train-big", "eval %_"};
  const core::PriorityClass classes[] = {core::PriorityClass::kLow, core::PriorityClass::kHigh};
  const core::JobState states[] = {core::JobState::kSucceeded, core::JobState::kFailed};
  const auto one_of = [&](const auto& all) {
    return all[static_cast<std::size_t>(rng.Between(0, std::ssize(all) - 1))];
  };
  std::vector<EndedJob> jobs;
  for (std::uint64_t id = 1; id <= 300; ++id) {
    EndedJob job = Ended(id, 1000 + rng.Between(0, 100), one_of(users), one_of(states));
    job.team = one_of(teams);
    job.pool = one_of(pools);
    job.name = one_of(names);
    job.priority = one_of(classes);
    jobs.push_back(job);
  }
  ASSERT_TRUE(store_->Commit(epoch_, {}, jobs).ok());
  Reopen();
  std::sort(jobs.begin(), jobs.end(), [](const EndedJob& a, const EndedJob& b) {
    return std::pair(a.ended_at, a.id) > std::pair(b.ended_at, b.id);
  });
  const auto reader = store_->OpenReader();
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  for (int i = 0; i < 200; ++i) {
    EndedJobsQuery query{.since = TimePoint{1000 + rng.Between(0, 20)}, .limit = 1'000};
    if (rng.OneIn(2)) query.user = one_of(users);
    if (rng.OneIn(2)) query.team = one_of(teams);
    if (rng.OneIn(2)) query.pool = one_of(pools);
    if (rng.OneIn(3)) query.priority = rng.OneIn(2) ? "low" : "high";
    if (rng.OneIn(3)) query.state = rng.OneIn(2) ? "failed" : "succeeded";
    if (rng.OneIn(2)) query.name = rng.OneIn(2) ? "rain-" : "%_";
    std::vector<EndedJob> expected;
    for (const EndedJob& job : jobs) {
      const auto is = [](const std::string& wanted, std::string_view has) { return wanted.empty() || wanted == has; };
      const bool wanted = is(query.user, job.user) && is(query.team, job.team) && is(query.pool, job.pool) &&
                          is(query.priority, core::WordOf(job.priority)) && is(query.state, core::WordOf(job.state)) &&
                          job.name.find(query.name) != std::string::npos && job.ended_at >= query.since;
      if (wanted) expected.push_back(job);
    }
    EXPECT_EQ(store_->EndedJobs(query).value(), expected);
    if (*reader != nullptr) {
      EXPECT_EQ((*reader)->EndedJobs(query).value(), expected);
    }
  }
}

TEST_P(StoreContract, ReportsReadTheFiguresOfEveryEndedJob) {
  EndedJob job = Ended(3, 300, "ada", core::JobState::kFailed);
  job.name = std::string("nul \0 and \x1f", 11);
  job.team = "nlp";
  job.pool = "a100";
  job.priority = core::PriorityClass::kHigh;
  job.simulated_gpus = true;
  job.submitted_at = TimePoint{1};
  job.started_at = TimePoint{2};
  job.interrupts = 2;
  job.restarts = 1;
  job.steps_lost = 17;
  job.ledger = {0, 1, 2, 3, 4, 5, 6, 7};
  job.outcome = core::Outcome::kFailed;
  job.exit_code = -9;
  ASSERT_TRUE(store_->Commit(epoch_, {}, {job, Ended(9, 100), Ended(2, 200), Ended(1, 200), Ended(8, 400)}).ok());
  Commit({Entry(1, 100, "of a job")});
  core::HistoryEntry states = Entry(0, 150, "");
  states.kind = core::HistoryKind::kStatesChanged;
  states.facts.states = "all\n";
  Commit({states});
  auto opened = store_->OpenReader();
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  std::vector<HistoryReader*> readers = {store_.get()};
  if (*opened != nullptr) readers.push_back(opened->get());
  for (HistoryReader* reader : readers) {
    std::string ids;
    const Status read = reader->EachEnded({TimePoint{200}, TimePoint{400}}, [&](const EndedFigures& figures) {
      ids += std::to_string(figures.id.value) + " ";
      if (figures.id != job.id) return;
      EXPECT_EQ(figures.ended_at, job.ended_at);
      EXPECT_EQ(figures.submitted_at, job.submitted_at);
      EXPECT_EQ(figures.started_at, job.started_at);
      EXPECT_EQ(figures.interrupts, job.interrupts);
      EXPECT_EQ(figures.restarts, job.restarts);
      EXPECT_EQ(figures.steps_lost, job.steps_lost);
      EXPECT_EQ(figures.exit_code, job.exit_code);
      EXPECT_TRUE(figures.simulated_gpus);
      EXPECT_EQ(figures.ledger, job.ledger);
      EXPECT_EQ(figures.team, "nlp");
      EXPECT_EQ(figures.pool, "a100");
      EXPECT_EQ(figures.priority, "high");
      EXPECT_EQ(figures.state, "failed");
      EXPECT_EQ(figures.outcome, "failed");
      EXPECT_EQ(figures.user, "ada");
      EXPECT_TRUE(figures.name.ends_with(" and \x1f")) << figures.name;
    });
    EXPECT_TRUE(read.ok()) << read.message();
    EXPECT_EQ(ids, "1 2 3 ") << "the oldest first";
    const auto told = reader->History({.limit = 10, .states = true});
    ASSERT_TRUE(told.ok()) << told.status().message();
    ASSERT_EQ(told->size(), 1u);
    EXPECT_EQ(told->front().entry.facts.states, "all\n");
    EXPECT_TRUE(reader->History({.since = TimePoint{151}, .limit = 10, .states = true}).value().empty());
    EXPECT_EQ(reader->History({.limit = 10}).value().size(), 1u) << "people read the others alone";
  }
  // What is committed later is seen by the next question.
  ASSERT_TRUE(store_->Commit(epoch_, {}, {Ended(7, 350)}).ok());
  for (HistoryReader* reader : readers) {
    int seen = 0;
    EXPECT_TRUE(reader->EachEnded({}, [&](const EndedFigures&) { ++seen; }).ok());
    EXPECT_EQ(seen, 6);
  }
}

TEST_P(StoreContract, WhatReportsOnHardwareAreMadeOfIsReadAlone) {
  std::vector<core::Mutation> mutations;
  std::vector<core::HistoryEntry> wanted;
  std::int64_t at = 1000;
  for (const auto& [kind, word] : core::kEnumWords<core::HistoryKind>) {
    for (const auto& [outcome, outcome_word] : core::kEnumWords<core::Outcome>) {
      core::HistoryEntry entry = Entry(1, at++, "because of the network, a hang, or out_of_memory");
      entry.kind = kind;
      entry.facts.outcome = outcome;
      if (IsOfHardware(entry)) wanted.push_back(entry);
      mutations.push_back(std::move(entry));
    }
  }
  Commit(mutations);
  auto opened = store_->OpenReader();
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  std::vector<HistoryReader*> readers = {store_.get()};
  if (*opened != nullptr) readers.push_back(opened->get());
  for (HistoryReader* reader : readers) {
    std::vector<core::HistoryEntry> found;
    std::uint64_t after = 0;
    for (int pages = 0; pages < 100; ++pages) {
      const auto page = reader->History({.after = after, .since = TimePoint{1001}, .limit = 7, .hardware = true});
      ASSERT_TRUE(page.ok()) << page.status().message();
      for (const auto& [seq, entry] : *page) found.push_back(entry);
      if (page->size() < 7) break;
      after = page->back().seq;
    }
    EXPECT_EQ(found, wanted);
  }
}

TEST_P(StoreContract, EndedJobsArePrunedByAge) {
  ASSERT_TRUE(store_->Commit(epoch_, {}, {Ended(1, 100), Ended(2, 200), Ended(3, 150)}).ok());
  Commit({Entry(1, 100, "old")});
  EXPECT_EQ(store_->PruneHistory(epoch_, TimePoint{151}).value(), 3u);
  const auto left = store_->EndedJobs({.limit = 10}).value();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].id, JobId(2));
}

TEST_P(StoreContract, HistoryIsTrimmedToANumber) {
  std::vector<core::Mutation> mutations;
  for (int i = 0; i < 20; ++i) mutations.push_back(Entry(1, 100 + i, "entry " + std::to_string(i)));
  ASSERT_TRUE(store_->Commit(epoch_, mutations, {Ended(1, 300), Ended(2, 100), Ended(3, 200)}).ok());
  EXPECT_EQ(store_->TrimHistory(epoch_, {20, 3}).value(), 0u);
  EXPECT_EQ(store_->TrimHistory(epoch_, {5, 1}).value(), 17u);
  const auto entries = store_->History({.limit = 100}).value();
  ASSERT_EQ(entries.size(), 5u);
  EXPECT_EQ(entries.front().entry.text, "entry 15");
  const auto jobs = store_->EndedJobs({.limit = 100}).value();
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].id, JobId(1));
  EXPECT_EQ(store_->TrimHistory(epoch_ + 1, {0, 0}).status().reason(), "STALE_EPOCH");
}

// Long reasons count by their length, and the oldest go, whatever the number leaves.
TEST_P(StoreContract, HistoryIsTrimmedToItsBytes) {
  constexpr std::int64_t kText = 1'000, kEntries = 3'000;
  std::vector<core::Mutation> mutations;
  for (int i = 0; i < kEntries; ++i) mutations.push_back(Entry(1, 100 + i, std::string(kText, 'x')));
  ASSERT_TRUE(store_->Commit(epoch_, mutations).ok());
  const HistoryBounds bounds{1'000'000, 10, 1 << 20};
  EXPECT_GT(store_->TrimHistory(epoch_, bounds).value(), 0u);
  EXPECT_LE(store_->TrimHistory(epoch_, bounds).value(), 2u) << "once is enough, but for what the mean has changed";
  const auto left = store_->History({.limit = kHistoryMax}).value();
  const auto bytes = static_cast<std::int64_t>(left.size()) * (kText + kHistoryRowBytes);
  EXPECT_LE(bytes, bounds.bytes_max);
  EXPECT_GT(bytes, bounds.bytes_max * 2 / 3) << "and no more than that";
  EXPECT_EQ(left.back().entry.at, TimePoint{100 + kEntries - 1}) << "the newest stay";
  EXPECT_EQ(store_->TrimHistory(epoch_, {1'000'000, 10}).value(), 0u);
}

}  // namespace glim::store
