// What waits for a target: told in order, tried again, bounded, and no other target's affair.
#include "scheduler/notify/outbox.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <set>
#include <vector>

#include "sdk/base/testing/waits.h"

namespace glim::notify {
namespace {

// Stands for all targets: answers as it is told to, and keeps what came.
class Receivers {
 public:
  Send send() {
    return [this](const Target& target, const Message& message, const std::atomic<bool>& stopping) {
      return Take(target, message, stopping);
    };
  }
  void Answer(const std::string& target, Status status) {
    std::lock_guard lock(mutex_);
    answers_[target] = std::move(status);
  }
  void Hang(const std::string& target) {
    std::lock_guard lock(mutex_);
    hang_.insert(target);
  }
  template <typename Condition>
  bool Await(const Condition& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, LongWait(), [&] { return condition(); });
  }
  // Within a condition, or when nothing is sent any more.
  const std::vector<std::uint64_t>& told(const std::string& target) { return told_[target]; }
  int tries(const std::string& target) { return tries_[target]; }
  void Changed() {
    std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

 private:
  Status Take(const Target& /*target*/, const Message& message, const std::atomic<bool>& stopping) {
    std::unique_lock lock(mutex_);
    ++tries_[message.target];
    changed_.notify_all();
    while (hang_.contains(message.target) && !stopping) changed_.wait_for(lock, std::chrono::milliseconds(5));
    const auto answer = answers_.find(message.target);
    if (answer != answers_.end() && !answer->second.ok()) return answer->second;
    if (stopping) return Status(StatusCode::kAborted, "stopping");
    told_[message.target].push_back(message.seq);
    changed_.notify_all();
    return Status::Ok();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Status> answers_;
  std::set<std::string> hang_;
  std::map<std::string, std::vector<std::uint64_t>> told_;
  std::map<std::string, int> tries_;
};

core::NotifyPolicy Names(const std::vector<std::string>& names) {
  core::NotifyPolicy policy;
  for (const std::string& name : names) policy.webhooks[name] = {"https://" + name, "/s"};
  return policy;
}

struct NotifyOutbox : ::testing::Test {
  Outbox::Options Options() {
    Outbox::Options options;
    options.send = receivers.send();
    options.now = [this] { return TimePoint{now_ms}; };
    options.random = [] { return 0.0; };
    options.retry = {Milliseconds(0), Milliseconds(0), Hours(24), 3};
    options.on_progress = [this] { receivers.Changed(); };
    options.on_skipped = [this](const Message& message) { skipped.push_back(message.seq); };
    return options;
  }
  static Message To(const std::string& target, std::uint64_t seq) {
    return {seq, target, {core::JobId(1), 1}, "id", "{}", TimePoint{1000}};
  }
  std::uint64_t Total(TargetKind kind, Outcome outcome) {
    return figures.total.at(static_cast<std::size_t>(kind)).at(static_cast<std::size_t>(outcome));
  }

  std::atomic<std::int64_t> now_ms{1000};
  Receivers receivers;
  Figures figures;
  std::vector<std::uint64_t> skipped;
};

TEST_F(NotifyOutbox, TellsInOrder) {
  Outbox outbox(Options(), &figures);
  outbox.SetTargets(Names({"chat"}));
  for (std::uint64_t seq = 1; seq <= 5; ++seq) outbox.Put(To("chat", seq));
  EXPECT_TRUE(receivers.Await([&] { return receivers.told("chat").size() == 5 && figures.waiting == 0; }));
  EXPECT_EQ(receivers.told("chat"), (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(Total(TargetKind::kWebhook, Outcome::kDelivered), 5u);
  EXPECT_TRUE(outbox.Waiting().empty());
  now_ms += 90'000;
  EXPECT_EQ(outbox.OldestAge(), Duration{}) << "nothing waits";
}

TEST_F(NotifyOutbox, TriesAgainUntilItIsTold) {
  receivers.Answer("chat", Status(StatusCode::kUnavailable, "down"));
  Outbox outbox(Options(), &figures);
  outbox.SetTargets(Names({"chat"}));
  outbox.Put(To("chat", 7));
  EXPECT_TRUE(receivers.Await([&] { return receivers.tries("chat") >= 20; }));
  EXPECT_EQ(outbox.Waiting().at("chat"), 7u);
  receivers.Answer("chat", Status::Ok());
  EXPECT_TRUE(receivers.Await([&] { return receivers.told("chat").size() == 1; }));
  EXPECT_GE(Total(TargetKind::kWebhook, Outcome::kRetried), 19u);
}

TEST_F(NotifyOutbox, OneThatHangsHoldsUpNoOther) {
  receivers.Hang("slow");
  Outbox outbox(Options(), &figures);
  outbox.SetTargets(Names({"slow", "chat"}));
  outbox.Put(To("slow", 1));
  for (std::uint64_t seq = 1; seq <= 3; ++seq) outbox.Put(To("chat", seq));
  EXPECT_TRUE(receivers.Await([&] { return receivers.told("chat").size() == 3 && figures.waiting == 1; }));
  EXPECT_EQ(outbox.Waiting(), (std::map<std::string, std::uint64_t>{{"slow", 1}}));
  now_ms += 90'000;
  EXPECT_EQ(outbox.OldestAge(), Seconds(90));
  outbox.Stop();
  EXPECT_EQ(outbox.Waiting().at("slow"), 1u) << "it was not told";
}

TEST_F(NotifyOutbox, ARefusalIsGivenUpSoon) {
  receivers.Answer("chat", Status(StatusCode::kFailedPrecondition, "404").WithReason("REFUSED"));
  Outbox outbox(Options(), &figures);
  outbox.SetTargets(Names({"chat"}));
  outbox.Put(To("chat", 1));
  EXPECT_TRUE(receivers.Await([&] { return figures.waiting == 0; }));
  EXPECT_EQ(receivers.tries("chat"), 3);
  EXPECT_EQ(Total(TargetKind::kWebhook, Outcome::kDropped), 1u);
}

TEST_F(NotifyOutbox, WhatIsADayOldIsGivenUp) {
  now_ms = 1000 + Hours(24).ms + 1;
  Outbox outbox(Options(), &figures);
  outbox.SetTargets(Names({"chat"}));
  outbox.Put(To("chat", 1));
  EXPECT_TRUE(receivers.Await([&] { return figures.waiting == 0; }));
  EXPECT_EQ(receivers.tries("chat"), 0);
  EXPECT_EQ(Total(TargetKind::kWebhook, Outcome::kDropped), 1u);
}

TEST_F(NotifyOutbox, IsBoundedByTarget) {
  receivers.Hang("slow");
  Outbox::Options options = Options();
  options.waiting_max = 3;
  Outbox outbox(std::move(options), &figures);
  outbox.SetTargets(Names({"slow"}));
  outbox.Put(To("slow", 1));
  EXPECT_TRUE(receivers.Await([&] { return receivers.tries("slow") == 1; }));
  for (std::uint64_t seq = 2; seq <= 10; ++seq) outbox.Put(To("slow", seq));
  EXPECT_EQ(figures.waiting, 3);
  EXPECT_EQ(Total(TargetKind::kWebhook, Outcome::kDropped), 7u) << "the oldest but the one that is being sent";
  EXPECT_EQ(outbox.Waiting().at("slow"), 1u);
}

TEST_F(NotifyOutbox, ANameThatIsGoneIsSkipped) {
  receivers.Hang("chat");
  Outbox outbox(Options(), &figures);
  outbox.SetTargets(Names({"chat"}));
  outbox.Put(To("nobody", 1));
  EXPECT_EQ(skipped, (std::vector<std::uint64_t>{1}));
  outbox.Put(To("chat", 2));
  EXPECT_TRUE(receivers.Await([&] { return receivers.tries("chat") == 1; }));
  outbox.Put(To("chat", 3));
  outbox.SetTargets({});
  EXPECT_EQ(skipped, (std::vector<std::uint64_t>{1, 3}));
  EXPECT_EQ(Total(TargetKind::kNone, Outcome::kSkipped), 2u);
  EXPECT_EQ(figures.waiting, 1) << "what is being sent";
}

}  // namespace
}  // namespace glim::notify
