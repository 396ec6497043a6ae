// From the history to a receiver: nothing is lost by a restart.
#include "scheduler/notify/notifier.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <condition_variable>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "scheduler/notify/testing/http_receiver.h"
#include "scheduler/store/memory/memory_store.h"
#include "sdk/base/testing/waits.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::notify {
namespace {

using core::JobId;
using server::SchedulerLoop;

// A scheduler without agents: its jobs end when they are cancelled, and fail when what they wait for was.
struct NotifierTest : ::testing::Test {
  NotifierTest() {
    std::ofstream(Secret()) << "0123456789abcdef";
    ::chmod(Secret().c_str(), 0600);
  }
  ~NotifierTest() override { Stop(); }
  std::string Secret() const { return folder.path() + "/secret"; }
  core::Policy Policy() const {
    core::Policy policy;
    policy.notify.webhooks["chat"] = {receiver.url(), Secret()};
    return policy;
  }
  void Start(const core::Policy& policy) {
    SchedulerLoop::Options options;
    options.policy = policy;
    options.clock = [this] { return TimePoint{++now_ms}; };  // whoever looks sees that time has passed
    auto opened = SchedulerLoop::Open(std::move(options), std::make_unique<store::MemoryStore>(data));
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    loop = std::move(opened).value();
    Notifier::Options told;
    told.cluster_id = "c1";
    told.random = [] { return 0.0; };
    told.retry = {Milliseconds(2), Milliseconds(10), Hours(24), 12};
    notifier = std::make_unique<Notifier>(loop.get(), std::move(told));
    loop->set_on_history([this] { notifier->Wake(); });
    loop->Start();
    notifier->Start();
    if (!std::exchange(occupied, true)) Occupy();
  }
  void Stop() {
    if (notifier) notifier->Stop();
    if (loop) loop->Stop();
    notifier.reset();
    loop.reset();
  }
  std::string Mark() {
    std::promise<std::string> mark;
    EXPECT_TRUE(loop->Read([&](store::Store& store) { mark.set_value(store.Mark("notify").value()); }).ok());
    return mark.get_future().get();
  }
  core::Reply Call(SchedulerLoop::Payload what) {
    std::promise<core::Reply> answered;
    EXPECT_TRUE(loop->PostUnbounded(std::move(what), [&](const core::Reply& r) { answered.set_value(r); }).ok());
    return answered.get_future().get();
  }
  // The only node, and a job that has it: all others wait.
  void Occupy() {
    core::NodeConnected node;
    node.session = 1;
    node.name = "n1";
    node.machine_id = "machine";
    node.boot_id = "boot";
    node.labels.zone = "A";
    node.labels.gpu_count = 8;
    node.address = "10.0.0.1";
    ASSERT_TRUE(Call(node).status.ok());
    ASSERT_TRUE(Call(core::SubmitJobs{"kim", "", "", {Spec("occupies")}, false}).status.ok());
  }
  static core::JobSpec Spec(const std::string& name) {
    core::JobSpec spec;
    spec.name = name;
    spec.workdir = "/tmp";
    spec.run = "true";
    return spec;
  }
  // Two jobs: the first is cancelled, so that the second, which wants to tell, fails.
  void FailOne() {
    core::JobSpec spec = Spec("first");
    const core::Reply first = Call(core::SubmitJobs{"kim", "", "", {spec}, false});
    ASSERT_TRUE(first.status.ok()) << first.status.message();
    spec.name = "second";
    spec.notify = {{"failed"}, {"chat"}};
    spec.after = {{first.jobs.at(0)}};
    const core::Reply second = Call(core::SubmitJobs{"kim", "", "", {spec}, false});
    ASSERT_TRUE(second.status.ok()) << second.status.message();
    core::CancelJob cancel;
    cancel.job = first.jobs.at(0);
    cancel.user = "kim";
    ASSERT_TRUE(Call(cancel).status.ok());
  }
  static std::vector<std::string> Ids(const std::vector<HttpReceiver::Request>& requests) {
    std::vector<std::string> ids;
    for (const auto& request : requests) ids.push_back(nlohmann::json::parse(request.body)["id"]);
    return ids;
  }
  std::uint64_t Total(TargetKind kind, Outcome outcome) const {
    return notifier->figures().total.at(static_cast<std::size_t>(kind)).at(static_cast<std::size_t>(outcome));
  }
  TempFolder folder;
  HttpReceiver receiver;
  std::atomic<std::int64_t> now_ms{1'000'000};
  bool occupied = false;
  std::shared_ptr<store::MemoryData> data = std::make_shared<store::MemoryData>();
  std::unique_ptr<SchedulerLoop> loop;
  std::unique_ptr<Notifier> notifier;
};

TEST_F(NotifierTest, AFailedJobIsTold) {
  Start(Policy());
  FailOne();
  ASSERT_TRUE(receiver.Await(1));
  const auto body = nlohmann::json::parse(receiver.requests().at(0).body);
  EXPECT_EQ(body["kind"], "failed");
  EXPECT_EQ(body["job"]["name"], "second");
  EXPECT_EQ(body["job"]["state"], "failed");
  EXPECT_EQ(body["cluster_id"], "c1");
}

TEST_F(NotifierTest, FailuresOfTheReceiverLoseNothing) {
  receiver.Answer({"500 Down", "503 Down", "500 Down"});
  Start(Policy());
  FailOne();
  FailOne();
  ASSERT_TRUE(receiver.Await(5));
  const auto ids = Ids(receiver.requests());
  EXPECT_EQ(ids[0], ids[3]) << "the same on every try";
  EXPECT_NE(ids[3], ids[4]);
}

// What was not told when the scheduler ended is told by the next, and what was told is not told again.
TEST_F(NotifierTest, ARestartInTheMiddleLosesNothing) {
  Start(Policy());
  FailOne();
  ASSERT_TRUE(receiver.Await(1));
  ASSERT_TRUE(Eventually([this] { return Total(TargetKind::kWebhook, Outcome::kDelivered) == 1; }));
  receiver.Answer({"500 Down", "hang"});
  FailOne();
  FailOne();
  ASSERT_TRUE(receiver.Await(3));
  Stop();
  Start(Policy());
  ASSERT_TRUE(receiver.Await(5));
  ASSERT_TRUE(Eventually([this] { return notifier->figures().waiting == 0; }));
  const auto ids = Ids(receiver.requests());
  ASSERT_EQ(ids.size(), 5u);
  EXPECT_EQ(ids[1], ids[2]);
  EXPECT_EQ(ids[1], ids[3]) << "the one that was being told";
  EXPECT_EQ((std::set<std::string>(ids.begin(), ids.end()).size()), 3u);
}

// A crash: no mark was written at the end.
TEST_F(NotifierTest, WhatHappensWhileNobodySendsIsToldLater) {
  Start(Policy());
  ASSERT_TRUE(Eventually([this] { return !Mark().empty(); }));
  const std::string mark = Mark();
  FailOne();
  ASSERT_TRUE(receiver.Await(1));
  Stop();
  data->marks["notify"] = mark;
  Start(Policy());
  ASSERT_TRUE(receiver.Await(2));
  const auto ids = Ids(receiver.requests());
  EXPECT_EQ(ids[0], ids[1]) << "at least once, and the receiver can tell";
}

TEST_F(NotifierTest, AClusterThatNamesNobodyKeepsNoMark) {
  Start(core::Policy());
  Call(core::TimePassed{});
  Stop();
  EXPECT_FALSE(data->marks.contains("notify"));
}

// The history of before the policy named anybody is nobody's news.
TEST_F(NotifierTest, ANameThatIsNewIsToldWhatIsNew) {
  Start(core::Policy());
  Stop();
  Start(Policy());
  FailOne();
  ASSERT_TRUE(receiver.Await(1));
  ASSERT_TRUE(Eventually([this] { return notifier->figures().waiting == 0; }));
  EXPECT_EQ(receiver.requests().size(), 1u);
}

TEST_F(NotifierTest, ANameThatIsGoneIsAnEvent) {
  Start(Policy());
  core::Policy other = Policy();
  other.notify.webhooks["another"] = other.notify.webhooks["chat"];
  core::JobSpec spec = Spec("first");
  const JobId first = Call(core::SubmitJobs{"kim", "", "", {spec}, false}).jobs.at(0);
  spec.notify = {{"failed"}, {"chat"}};
  spec.after = {{first}};
  const JobId second = Call(core::SubmitJobs{"kim", "", "", {spec}, false}).jobs.at(0);
  other.notify.webhooks.erase("chat");
  std::promise<void> set;
  ASSERT_TRUE(loop->SetPolicy(other, "notify", {}, [&](const core::Reply&) { set.set_value(); }).ok());
  set.get_future().wait();
  core::CancelJob cancel;
  cancel.job = first;
  cancel.user = "kim";
  Call(cancel);
  const auto told = [&] {
    std::promise<bool> found;
    const Status asked = loop->Read([&](store::Store& store) {
      const auto entries = store.History({.job = second, .limit = 100});
      bool any = false;
      for (const auto& stored : *entries) any = any || stored.entry.kind == core::HistoryKind::kNotifySkipped;
      found.set_value(any);
    });
    return asked.ok() && found.get_future().get();
  };
  EXPECT_TRUE(Eventually(told));
  EXPECT_TRUE(receiver.requests().empty());
}

}  // namespace
}  // namespace glim::notify
