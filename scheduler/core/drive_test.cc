// Drive: the one loop that server, simulator and tests run. One commit a batch; the same events give the same bytes.
#include <gtest/gtest.h>

#include <sstream>

#include "scheduler/core/model/history_words.h"
#include "scheduler/core/planning/job_order.h"
#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Labels;
using testing::Spec;
using testing::StoreMirror;
using testing::Zones;

constexpr TimePoint kNow{1'000'000};

Event At(TimePoint now, decltype(Event::what) what) { return {1, now, std::move(what)}; }

NodeConnected Connected(const std::string& name, std::uint64_t session) {
  NodeConnected event;
  event.session = session;
  event.name = event.machine_id = name;
  event.labels = Labels("z1", "l1");
  return event;
}

SubmitJobs Submit(JobSpec spec) { return {"ann", "team", "", {std::move(spec)}, false}; }

struct Committed {
  int commits = 0;
  std::size_t mutations = 0;
  CommitFn Ok() {
    return [this](const std::vector<Mutation>& m) {
      ++commits;
      mutations += m.size();
      return Status::Ok();
    };
  }
};

TEST(Drive, ABatchIsOneCommitWithAReplyForEachEvent) {
  ClusterState state;
  Committed committed;
  const std::vector<Event> batch = {At(kNow, Connected("n1", 1)), At(kNow, Submit(Spec(1))), At(kNow, Submit(Spec(5))),
                                    At(kNow, CancelJob{JobId(9), "ann"})};
  const DriveResult result = Drive(state, Policy{}, batch, committed.Ok());
  EXPECT_EQ(committed.commits, 1);
  EXPECT_EQ(committed.mutations, result.mutations);
  ASSERT_EQ(result.replies.size(), 4u);
  EXPECT_EQ(result.replies[0].node, NodeId(1));
  EXPECT_EQ(result.replies[1].jobs, std::vector{JobId(1)});
  EXPECT_EQ(result.replies[2].status.field(), "nodes");
  EXPECT_EQ(result.replies[3].status.code(), StatusCode::kNotFound);
  EXPECT_TRUE(result.planned);
  EXPECT_EQ(state.FindJob(JobId(1))->state, JobState::kStarting) << "the pass is in the same commit";
  EXPECT_EQ(result.sync, std::set{NodeId(1)});
  EXPECT_TRUE(result.wake_at);
}

TEST(Drive, WhatChangesNothingCommitsNothingAndPlansNothing) {
  ClusterState state;
  Committed committed;
  const Event connect = At(kNow, Connected("n1", 1));
  Drive(state, Policy{}, std::span(&connect, 1), committed.Ok());
  const Event report = At(kNow, NodeReported{NodeId(1), 1, true, {}});
  const DriveResult result = Drive(state, Policy{}, std::span(&report, 1), committed.Ok());
  EXPECT_EQ(committed.commits, 1);
  EXPECT_EQ(result.mutations, 0u);
  EXPECT_FALSE(result.planned);
  EXPECT_TRUE(result.commit.ok());
}

// What starts and what runs are alike to a plan; only what ends makes room.
TEST(Drive, AStartThatIsSeenRunningPlansNothing) {
  ClusterState state;
  Committed committed;
  const std::vector<Event> batch = {At(kNow, Connected("n1", 1)), At(kNow, Submit(Spec(1)))};
  Drive(state, Policy{}, batch, committed.Ok());
  ObservedTask seen;
  seen.id = {{JobId(1), 1}, 0};
  seen.ranks = state.FindTask(seen.id)->ranks;
  seen.phase = TaskPhase::kRunning;
  const Event runs = At(kNow + Seconds(1), NodeReported{NodeId(1), 1, true, {seen}});
  DriveResult result = Drive(state, Policy{}, std::span(&runs, 1), committed.Ok());
  EXPECT_EQ(state.FindJob(JobId(1))->state, JobState::kRunning);
  EXPECT_FALSE(result.planned);
  seen.phase = TaskPhase::kReleased;
  const Event ended = At(kNow + Seconds(2), NodeReported{NodeId(1), 1, true, {seen}});
  result = Drive(state, Policy{}, std::span(&ended, 1), committed.Ok());
  EXPECT_EQ(state.FindJob(JobId(1))->state, JobState::kSucceeded);
  EXPECT_TRUE(result.planned);
}

TEST(Drive, AnEmptyBatchOnlySaysWhenToWake) {
  ClusterState state;
  Committed committed;
  const Event connect = At(kNow, Connected("n1", 1));
  Drive(state, Policy{}, std::span(&connect, 1), committed.Ok());
  const DriveResult result = Drive(state, Policy{}, {}, committed.Ok());
  EXPECT_EQ(result.wake_at, kNow + Seconds(15));
  EXPECT_EQ(committed.commits, 1);
}

TEST(Drive, AFailedCommitIsReported) {
  ClusterState state;
  const Event event = At(kNow, Connected("n1", 1));
  const DriveResult result = Drive(state, Policy{}, std::span(&event, 1), [](const std::vector<Mutation>&) {
    return Status(StatusCode::kAborted, "another leader has the epoch");
  });
  EXPECT_EQ(result.commit.code(), StatusCode::kAborted);
  EXPECT_EQ(result.commit.message(), "another leader has the epoch");
}

TEST(Drive, LooksAgainWhenABlockerOfTimeHasEnded) {
  ClusterState state;
  Committed committed;
  const Event connect = At(kNow, Connected("n1", 1));
  Drive(state, Policy{}, std::span(&connect, 1), committed.Ok());
  state.look_again = kNow + Seconds(5);
  const Event early = At(kNow + Seconds(4), TimePassed{});
  DriveResult result = Drive(state, Policy{}, std::span(&early, 1), committed.Ok());
  EXPECT_FALSE(result.planned);
  EXPECT_EQ(result.wake_at, kNow + Seconds(5));
  const Event due = At(kNow + Seconds(5), TimePassed{});
  result = Drive(state, Policy{}, std::span(&due, 1), committed.Ok());
  EXPECT_TRUE(result.planned);
  EXPECT_FALSE(state.look_again);
}

// A job that was displaced by a start of the pass is planned again in the same drive.
TEST(Drive, PassesUntilNothingStartsAnyMore) {
  Cluster c(Zones{.nodes = 2});
  const JobId leaving = c.Running(Spec(1));
  const JobId other = c.Running(Spec(1, PriorityClass::kLow));
  c.script(other).acks = false;
  c.Cancel(leaving);
  const JobId claimed = c.Submit(Spec(1, PriorityClass::kNormal));
  ASSERT_EQ(c.node(NodeId(1)).claim, c.attempt(claimed).id);
  const JobId high = c.Submit(Spec(1, PriorityClass::kHigh), "bob");
  EXPECT_EQ(c.node(NodeId(1)).claim, c.attempt(high).id);
  EXPECT_EQ(c.attempt(claimed).id.number, 2u);
  EXPECT_EQ(c.attempt(claimed).victims, std::vector{c.attempt(other).id});
}

// --- determinism: a life with failures, twice

std::string Describe(const Mutation& mutation) {
  std::ostringstream out;
  if (const auto* job = std::get_if<std::shared_ptr<const Job>>(&mutation)) {
    out << "job " << (*job)->id.value << " " << ToString((*job)->state) << " " << (*job)->message;
    for (const std::int64_t ms : (*job)->ledger) out << " " << ms;
  } else if (const auto* attempt = std::get_if<std::shared_ptr<const Attempt>>(&mutation)) {
    out << "attempt " << ToString((*attempt)->id) << " " << ToString((*attempt)->state) << " " << (*attempt)->message;
    for (const NodeId node : (*attempt)->nodes) out << " " << node.value;
  } else if (const auto* node = std::get_if<std::shared_ptr<const Node>>(&mutation)) {
    out << "node " << (*node)->id.value << " " << ToString((*node)->state) << " " << ToString((*node)->holder);
  } else if (const auto* entry = std::get_if<HistoryEntry>(&mutation)) {
    out << entry->at.ms << " " << ToString(entry->kind) << " " << HistoryWords(*entry);
  } else {
    out << mutation.index();
  }
  return out.str();
}

std::vector<std::string> Record() {
  ClusterState state;
  std::vector<std::string> lines;
  TimePoint now = kNow;
  const auto drive = [&](decltype(Event::what) what) {
    const Event event = At(now, std::move(what));
    Drive(state, Policy{}, std::span(&event, 1), [&](const std::vector<Mutation>& mutations) {
      for (const Mutation& mutation : mutations) lines.push_back(Describe(mutation));
      return Status::Ok();
    });
    now = now + Milliseconds(137);
  };
  for (std::uint64_t n = 1; n <= 6; ++n) drive(Connected("n" + std::to_string(n), n));
  for (std::uint32_t n = 0; n < 12; ++n) {
    drive(Submit(Spec(1 + n % 3, n % 4 == 0 ? PriorityClass::kHigh : PriorityClass::kLow)));
  }
  for (int i = 0; i < 40; ++i) {
    now = now + Seconds(5);
    drive(TimePassed{});
    drive(NodeReported{NodeId(1), 1, true, {}});
    if (i == 10) drive(NodeDisconnected{NodeId(3), 3});
    if (i == 20) drive(CancelJob{JobId(4), "ann"});
  }
  return lines;
}

TEST(Drive, TheSameEventsGiveTheSameBytes) {
  const std::vector<std::string> first = Record();
  EXPECT_GT(first.size(), 100u);
  EXPECT_EQ(first, Record());
}

// A long life: more kinds of jobs have ended than any cache holds, and passes looked at them all the while.
struct LongLife {
  LongLife() {
    policy.node_lost_after = Hours(1'000'000);
    policy.starvation_bound = Hours(1'000'000);
    for (std::uint32_t n = 1; n <= 4; ++n) state.Put(testing::NodeRow(n));
    for (std::uint64_t id = 1; id <= kEnded; ++id) {
      Job job = testing::JobRow(id, Spec(1 + static_cast<std::uint32_t>(id) % 4), UserOf(id));
      job.state = JobState::kSucceeded;
      job.service = Seconds(static_cast<std::int64_t>(1 + id * 7'919 % 40'000));
      job.ended_at = now;
      state.Put(std::move(job));
      now = now + Milliseconds(100);
      if (id % 100 == 0) Queue(kEnded + id, id);
      if (id % 50 == 0) MakePlan(state, policy, now);
    }
  }
  static std::string UserOf(std::uint64_t id) { return "u" + std::to_string(id % 6'000); }
  void Queue(std::uint64_t id, std::uint64_t like) {
    Job job = testing::JobRow(id, Spec(1 + static_cast<std::uint32_t>(like) % 4), UserOf(like));
    job.submitted_at = job.queued_at = now;
    job.service = Seconds(static_cast<std::int64_t>(like % 5) * 600);
    state.Put(std::move(job));
  }
  static constexpr std::uint64_t kEnded = 24'000;
  ClusterState state;
  Policy policy;
  TimePoint now = kNow;
};

TEST(Drive, ALoadedStateDecidesLikeTheOneThatWasStored) {
  LongLife life;
  const ClusterState loaded = ClusterState::Of(life.state.tables());
  ASSERT_EQ(loaded.index(), life.state.index());
  for (const auto& queue : life.state.index().queue) {
    const Shape& shape = queue.first;
    const auto score = [&](const ClusterState& state) {
      return ScoreOfWaiting(state, life.policy, KindOf(shape), BucketBegin(shape.service_bucket));
    };
    ASSERT_EQ(score(life.state), score(loaded)) << shape.user << " " << shape.nodes;
  }
  const Plan here = MakePlan(life.state, life.policy, life.now);
  const Plan there = MakePlan(loaded, life.policy, life.now);
  EXPECT_FALSE(here.starts.empty());
  EXPECT_EQ(here.starts, there.starts);
  EXPECT_EQ(*here.verdicts, *there.verdicts);
}

TEST(Drive, ALoadedStateGoesOnWithWhatRan) {
  Cluster c(Zones{.nodes = 3});
  const JobId low = c.Running(Spec(2, PriorityClass::kLow));
  c.Save(low, 10);
  c.Submit(Spec(3, PriorityClass::kNormal), "bob");
  ClusterState loaded = c.store().Load();
  EXPECT_EQ(loaded.index(), c.state().index());
  const Plan here = MakePlan(c.state(), c.policy(), c.now() + Hours(1));
  const Plan there = MakePlan(loaded, c.policy(), c.now() + Hours(1));
  EXPECT_EQ(here.starts, there.starts);
  EXPECT_EQ(*here.verdicts, *there.verdicts);
}

// A victim that has ten seconds left, and a leader that has listened for long.
struct TenSecondsLeft {
  TenSecondsLeft() {
    job = c.Running(Spec(2));
    c.script(job).acks = c.script(job).leaves = false;
    c.Suspend(job);
    c.Advance(Seconds(50));
    deadline = c.agreement(job).deadline;
    leader_since = c.state().leader_since;
    EXPECT_EQ(deadline - c.now(), Seconds(10));
  }
  void ExpectNobodyHasSlept() {
    EXPECT_GE(c.last_drive().wake_at, c.now());
    c.SetNow(c.now() + Milliseconds(10));
    c.Do(TimePassed{});
    EXPECT_EQ(c.state().leader_since, leader_since);
    EXPECT_EQ(c.agreement(job).deadline, deadline);
  }
  Cluster c{Zones{.nodes = 3}};
  JobId job;
  TimePoint deadline, leader_since;
};

TEST(Drive, ANodeThatWasNeverFoundGoodIsNoSleepOfTheLeaders) {
  TenSecondsLeft t;
  t.c.policy().health.validate.every = Hours(24);
  t.c.AddNode(testing::Labels("z1", "z1-l1"));
  t.ExpectNobodyHasSlept();
}

TEST(Drive, ADeadlineThatWasPastBeforeItCouldBeJudgedIsNoSleepOfTheLeaders) {
  TenSecondsLeft t;
  const JobId limited = t.c.Submit(testing::SpecWith(1, [](JobSpec& s) { s.time_limit = Seconds(20); }));
  t.c.Settle();
  const NodeId node = t.c.attempt(limited).nodes[0];
  t.c.Advance(Seconds(1));
  t.c.Silence(node, true);
  t.c.SetNow(t.c.now() + Seconds(2));
  for (int i = 0; i < 16; ++i) {  // behind its limit
    t.c.SetNow(t.c.now() + Seconds(2));
    t.c.Heartbeats();
  }
  t.deadline = t.c.agreement(t.job).deadline;
  t.leader_since = t.c.state().leader_since;
  t.c.Return(node);
  t.ExpectNobodyHasSlept();
}

}  // namespace
}  // namespace glim::core
