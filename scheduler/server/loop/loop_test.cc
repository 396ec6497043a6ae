// The strand: bounds, order, what happens when the store refuses, when silence is judged.
#include "scheduler/server/loop/scheduler_loop.h"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <future>
#include <iterator>

#include "scheduler/server/testing/obedient_store.h"
#include "scheduler/server/testing/test_server.h"

namespace glim::server {
namespace {

class LoopTest : public ::testing::Test {
 protected:
  void SetUp() override { spdlog::set_level(spdlog::level::off); }

  void Open(SchedulerLoop::Options options = {}) {
    options.clock = [this] { return TimePoint{now_ms_.load()}; };
    options.on_fatal = [this](const Status& status) {
      fatal_ = status.message();
      fatal_calls_.fetch_add(1);
    };
    auto loop = SchedulerLoop::Open(std::move(options), std::make_unique<ObedientStore>(orders_, data_));
    ASSERT_TRUE(loop.ok()) << loop.status().message();
    loop_ = std::move(loop).value();
    loop_->Start();
  }
  static core::NodeConnected Node(const std::string& name, std::uint64_t session) {
    core::NodeConnected node;
    node.session = session;
    node.name = name;
    node.machine_id = "machine-" + name;
    node.boot_id = "boot";
    node.labels.zone = "A";
    node.labels.gpu_count = 8;
    node.address = "10.0.0.1";
    return node;
  }
  static core::SubmitJobs Job(const std::string& name) {
    core::JobSpec spec;
    spec.name = name;
    spec.workdir = "/tmp";
    spec.run = "true";
    return {"kim", "", "", {spec}, false};
  }
  core::Reply Call(SchedulerLoop::Payload what) {
    std::promise<core::Reply> answered;
    EXPECT_TRUE(loop_->PostUnbounded(std::move(what), [&](const core::Reply& r) { answered.set_value(r); }).ok());
    return answered.get_future().get();
  }
  void Hold(bool hold) {
    std::lock_guard lock(orders_->mutex);
    orders_->hold = hold;
    orders_->changed.notify_all();
  }
  void Fail(const Status& status) {
    std::lock_guard lock(orders_->mutex);
    orders_->fail = status;
  }
  static Status Away() {
    return Status(StatusCode::kUnavailable, "gave up after 6 tries").WithReason("STORE_UNREACHABLE");
  }
  void WaitHeld() {
    std::unique_lock lock(orders_->mutex);
    ASSERT_TRUE(orders_->changed.wait_for(lock, LongWait(), [&] { return orders_->held; }));
  }

  std::atomic<std::int64_t> now_ms_{1'000'000};
  std::shared_ptr<ObedientStore::Orders> orders_ = std::make_shared<ObedientStore::Orders>();
  std::shared_ptr<store::MemoryData> data_ = std::make_shared<store::MemoryData>();
  std::atomic<int> fatal_calls_{0};
  std::string fatal_;
  std::unique_ptr<SchedulerLoop> loop_;
};

TEST_F(LoopTest, WhatWaitsIsCommittedTogetherAndSeenWhenAnswered) {
  Open();
  Call(Node("node-1", 1));
  Hold(true);
  std::atomic<int> answered = 0, seen = 0;
  const auto post = [&](const std::string& name) {
    ASSERT_TRUE(loop_
                    ->Post(Job(name),
                           [&](const core::Reply& reply) {
                             ASSERT_TRUE(reply.status.ok()) << reply.status.message();
                             seen += loop_->snapshot()->tables.jobs.Find(reply.jobs.at(0)) ? 1 : 0;
                             ++answered;
                           })
                    .ok());
  };
  post("first");
  WaitHeld();
  for (int i = 0; i < 100; ++i) post("job-" + std::to_string(i));
  EXPECT_EQ(answered, 0) << "answered before the commit";
  const int before = orders_->commits;
  Hold(false);
  ASSERT_TRUE(Eventually([&] { return answered == 101; }));
  EXPECT_EQ(seen, 101);
  EXPECT_LE(orders_->commits - before, 3) << "a hundred submissions that waited make one commit";
  EXPECT_EQ(loop_->snapshot()->tables.jobs.size(), 101u);
}

TEST_F(LoopTest, AFloodOfOneUserIsManyBatchesAndAnotherIsInTheNext) {
  SchedulerLoop::Options options;
  options.share_max = 10;
  Open(std::move(options));
  Call(Node("node-1", 1));
  Hold(true);
  std::mutex mutex;
  std::vector<std::string> answered;
  const auto post = [&](const std::string& user, int number) {
    AuditNote note;
    note.user = user;
    const auto done = [&, user, number](const core::Reply& reply) {
      EXPECT_TRUE(reply.status.ok()) << reply.status.message();
      const std::lock_guard lock(mutex);
      answered.push_back(user + std::to_string(number));
    };
    ASSERT_TRUE(loop_->Post(Job("job"), done, note).ok());
  };
  post("held", 0);
  WaitHeld();
  for (int i = 0; i < 100; ++i) post("kim", i);
  post("lee", 0);
  post("lee", 1);
  const int before = orders_->commits;
  Hold(false);
  ASSERT_TRUE(Eventually([&] {
    const std::lock_guard lock(mutex);
    return answered.size() == 103;
  }));
  EXPECT_EQ(answered.at(11), "lee0") << "behind the one that was held, and as many of kim's as are kim's share";
  EXPECT_EQ(answered.at(12), "lee1");
  std::vector<std::string> kims;
  std::copy_if(answered.begin(), answered.end(), std::back_inserter(kims),
               [](const std::string& who) { return who.starts_with("kim"); });
  for (int i = 0; i < 100; ++i) EXPECT_EQ(kims.at(static_cast<std::size_t>(i)), "kim" + std::to_string(i));
  EXPECT_GE(orders_->commits - before, 10) << "ten at a time";
}

TEST_F(LoopTest, AFullInboxRefusesClientsAndNotAgents) {
  SchedulerLoop::Options options;
  options.inbox_max = 3;
  Open(std::move(options));
  Call(Node("node-1", 1));
  Hold(true);
  std::atomic<int> answered = 0;
  const auto done = [&](const core::Reply&) { ++answered; };
  ASSERT_TRUE(loop_->Post(Job("held"), done).ok());
  WaitHeld();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(loop_->Post(Job("waits"), done).ok());
  const Status refused = loop_->Post(Job("too-many"), done);
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.reason(), "OVERLOADED");
  EXPECT_TRUE(loop_->PostUnbounded(core::NodeReported{core::NodeId{1}, 1, true, {}}, done).ok());
  Hold(false);
  EXPECT_TRUE(Eventually([&] { return answered == 5; }));
  EXPECT_TRUE(loop_->Post(Job("again"), done).ok());
  EXPECT_TRUE(Eventually([&] { return answered == 6; }));
}

TEST_F(LoopTest, AFailedCommitAnswersUnavailableAndEnds) {
  Open();
  Call(Node("node-1", 1));
  {
    std::lock_guard lock(orders_->mutex);
    orders_->fail = Status(StatusCode::kInternal, "disk full");
  }
  const core::Reply reply = Call(Job("lost"));
  EXPECT_EQ(reply.status.code(), StatusCode::kUnavailable);
  EXPECT_NE(reply.status.message().find("disk full"), std::string::npos);
  ASSERT_TRUE(Eventually([&] { return fatal_calls_ == 1; }));
  EXPECT_EQ(fatal_, "disk full");
  EXPECT_EQ(loop_->Post(Job("later"), nullptr).code(), StatusCode::kUnavailable);
  EXPECT_EQ(loop_->snapshot()->tables.jobs.size(), 0u) << "readers never see what is not durable";
  loop_->Stop();
  EXPECT_EQ(fatal_calls_, 1);
}

// However long the database is away: what it last knew is shown, as stale; nothing is changed; then all goes on.
TEST_F(LoopTest, AStoreThatIsAwayIsWaitedFor) {
  SchedulerLoop::Options options;
  options.store_retry = Milliseconds(5);
  Open(std::move(options));
  const core::NodeId node = Call(Node("node-1", 1)).node;
  Fail(Away());
  std::promise<core::Reply> told;
  ASSERT_TRUE(loop_->Post(Job("in-doubt"), [&](const core::Reply& r) { told.set_value(r); }).ok());
  const Status in_doubt = told.get_future().get().status;
  EXPECT_EQ(in_doubt.code(), StatusCode::kUnavailable);
  EXPECT_EQ(in_doubt.reason(), "STORE_UNREACHABLE");
  EXPECT_FALSE(in_doubt.fix().empty());

  const SnapshotPtr stale = loop_->snapshot();
  EXPECT_EQ(stale->stale_since.ms, now_ms_.load());
  EXPECT_EQ(stale->tables.nodes.size(), 1u) << "reads go on";
  EXPECT_EQ(stale->tables.jobs.size(), 0u) << "readers never see what is not durable";
  EXPECT_EQ(loop_->Post(Job("refused"), nullptr).reason(), "STORE_UNREACHABLE");
  EXPECT_EQ(loop_->Read([](store::Store&) {}).reason(), "STORE_UNREACHABLE");
  std::atomic<bool> heard = false;
  ASSERT_TRUE(
      loop_->PostUnbounded(core::NodeReported{node, 1, true, {}}, [&](const core::Reply&) { heard = true; }).ok());
  const int tries = [&] {
    std::lock_guard lock(orders_->mutex);
    return orders_->commits;
  }();
  ASSERT_TRUE(Eventually([&] {
    std::lock_guard lock(orders_->mutex);
    return orders_->commits >= tries + 20;
  }));
  EXPECT_FALSE(heard);

  Fail(Status::Ok());
  ASSERT_TRUE(Eventually([&] { return heard.load(); }));
  EXPECT_FALSE(loop_->snapshot()->stale_since);
  EXPECT_EQ(loop_->snapshot()->tables.jobs.size(), 1u) << "the change in doubt was made, once";
  EXPECT_TRUE(Call(Job("later")).status.ok());
  EXPECT_EQ(fatal_calls_, 0);
}

// No room is no end either: changes are refused with what to do, what is stored may be read, then all goes on.
TEST_F(LoopTest, AStoreWithoutRoomIsWaitedFor) {
  SchedulerLoop::Options options;
  options.store_retry = Milliseconds(5);
  Open(std::move(options));
  Call(Node("node-1", 1));
  Fail(
      Status(StatusCode::kResourceExhausted, "/db: database or disk is full").WithReason("STORE_FULL").WithFix("room"));
  std::promise<core::Reply> told;
  ASSERT_TRUE(loop_->Post(Job("waits"), [&](const core::Reply& r) { told.set_value(r); }).ok());
  const Status held = told.get_future().get().status;
  EXPECT_EQ(held.code(), StatusCode::kUnavailable);
  EXPECT_EQ(held.reason(), "STORE_FULL");
  EXPECT_NE(held.fix().find("make room"), std::string::npos) << held.fix();
  const Status refused = loop_->Post(Job("refused"), nullptr);
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_NE(refused.message().find("no room"), std::string::npos) << refused.message();
  EXPECT_NE(refused.fix().find("make room"), std::string::npos) << refused.fix();
  EXPECT_TRUE(loop_->snapshot()->stale_since);
  EXPECT_EQ(loop_->snapshot()->stale_why, "/db: database or disk is full: room");
  std::promise<std::size_t> read;
  ASSERT_TRUE(
      loop_->Read([&](store::Store& store) { read.set_value(store.History({.limit = 100}).value().size()); }).ok());
  EXPECT_GT(read.get_future().get(), 0u) << "what is stored may be read";
  Fail(Status::Ok());
  ASSERT_TRUE(Eventually([&] { return !loop_->snapshot()->stale_since; }));
  EXPECT_EQ(loop_->snapshot()->tables.jobs.size(), 1u) << "the change that was held was made, once";
  EXPECT_TRUE(Call(Job("later")).status.ok());
  EXPECT_EQ(fatal_calls_, 0);
}

TEST_F(LoopTest, AStoreThatComesBackWithAnOlderStateEndsIt) {
  SchedulerLoop::Options options;
  options.store_retry = Milliseconds(5);
  Open(std::move(options));
  Call(Node("node-1", 1));
  Fail(Away());
  std::promise<core::Reply> told;
  ASSERT_TRUE(loop_->Post(Job("in-doubt"), [&](const core::Reply& r) { told.set_value(r); }).ok());
  told.get_future().get();
  Fail(Status(StatusCode::kDataLoss, "PostgreSQL went back").WithReason("STORE_WENT_BACK"));
  ASSERT_TRUE(Eventually([&] { return fatal_calls_ == 1; }));
  EXPECT_EQ(fatal_, "PostgreSQL went back");
}

TEST_F(LoopTest, AStopWhileTheStoreIsAwayAnswersWhoWaits) {
  Open();
  const core::NodeId node = Call(Node("node-1", 1)).node;
  Fail(Away());
  std::promise<core::Reply> told;
  ASSERT_TRUE(loop_->Post(Job("in-doubt"), [&](const core::Reply& r) { told.set_value(r); }).ok());
  told.get_future().get();
  std::atomic<bool> answered = false;
  ASSERT_TRUE(
      loop_->PostUnbounded(core::NodeReported{node, 1, true, {}}, [&](const core::Reply&) { answered = true; }).ok());
  loop_->Stop();
  EXPECT_TRUE(answered);
  EXPECT_EQ(fatal_calls_, 0);
}

TEST_F(LoopTest, ALeaderThatWasReplacedCannotWrite) {
  Open();
  Call(Node("node-1", 1));
  store::MemoryStore successor(data_);
  {
    std::lock_guard lock(orders_->mutex);
    ASSERT_TRUE(successor.AcquireEpoch().ok());
  }
  EXPECT_EQ(Call(Job("lost")).status.code(), StatusCode::kUnavailable);
  ASSERT_TRUE(Eventually([&] { return fatal_calls_ == 1; }));
}

TEST_F(LoopTest, SilenceIsJudgedAfterTheReportsThatWait) {
  SchedulerLoop::Options options;
  options.batch_max = 1;
  options.policy.node_lost_after = Seconds(1);
  options.policy.oversleep_max = Hours(1);  // here the clock jumps, and the loop has not slept
  Open(std::move(options));
  const core::NodeId node = Call(Node("node-1", 7)).node;
  Hold(true);
  std::atomic<int> answered = 0;
  const auto done = [&](const core::Reply&) { ++answered; };
  ASSERT_TRUE(loop_->Post(Job("held"), done).ok());
  WaitHeld();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(loop_->Post(Job("flood"), done).ok());
  ASSERT_TRUE(loop_->PostUnbounded(core::NodeReported{node, 7, true, {}}, done).ok());
  now_ms_ += 60'000;  // long past node_lost_after, and the report is the last in the queue
  Hold(false);
  ASSERT_TRUE(Eventually([&] { return answered == 22; }));
  Call(core::TimePassed{});
  store::MemoryStore reader(data_);
  std::unique_lock lock(orders_->mutex);
  const auto history = reader.History({.limit = 1000});
  lock.unlock();
  ASSERT_TRUE(history.ok());
  for (const auto& stored : *history) EXPECT_NE(stored.entry.kind, core::HistoryKind::kNodeLost);

  // And without a report it is lost, by the loop's own timer.
  now_ms_ += 60'000;
  EXPECT_TRUE(Eventually([&] { return loop_->snapshot()->tables.nodes.Find(node)->state == core::NodeState::kLost; }));
}

TEST_F(LoopTest, HeartbeatsThatChangeNothingPublishNothing) {
  Open();
  const core::NodeId node = Call(Node("node-1", 1)).node;
  Call(core::NodeReported{node, 1, true, {}});
  const SnapshotPtr before = loop_->snapshot();
  for (int i = 0; i < 50; ++i) Call(core::NodeReported{node, 1, true, {}});
  EXPECT_EQ(loop_->snapshot(), before);
  now_ms_ += 2'000;
  Call(core::NodeReported{node, 1, true, {}});
  const SnapshotPtr after = loop_->snapshot();
  EXPECT_NE(after, before);
  EXPECT_EQ(after->revision, before->revision);
  EXPECT_EQ(after->liveness->at(node).last_heard.ms, now_ms_.load());
}

}  // namespace
}  // namespace glim::server
