// Who is told of which event, when a message is sent again, and what a signature is.
#include "scheduler/notify/message.h"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "scheduler/notify/progress.h"
#include "scheduler/notify/retry.h"
#include "scheduler/notify/signature.h"

namespace glim::notify {
namespace {

using core::HistoryKind;
using core::JobId;

core::HistoryEntry Entry(HistoryKind kind, core::Outcome outcome = core::Outcome::kNone) {
  core::HistoryEntry entry{TimePoint{1'700'000'000'123}, kind, JobId(7), 2, {}, "why"};
  entry.facts.outcome = outcome;
  return entry;
}

core::Job JobWith(std::vector<std::string> on, std::vector<std::string> to) {
  core::JobSpec spec;
  spec.name = "train";
  spec.pool = "a100";
  spec.notify = {std::move(on), std::move(to)};
  core::Job job;
  job.id = JobId(7);
  job.user = "kim";
  job.state = core::JobState::kQueued;
  job.spec = std::make_shared<const core::JobSpec>(std::move(spec));
  return job;
}

TEST(NotifyMessage, IsOfFourKindsOfEvents) {
  struct Row {
    HistoryKind kind;
    core::Outcome outcome;
    const char* told;  // empty: nobody
  };
  const Row rows[] = {{HistoryKind::kJobSucceeded, core::Outcome::kNone, "done"},
                      {HistoryKind::kJobFailed, core::Outcome::kNone, "failed"},
                      {HistoryKind::kAttemptEnded, core::Outcome::kInterrupted, "interrupted"},
                      {HistoryKind::kAttemptGpusIdle, core::Outcome::kNone, "gpus_idle"},
                      {HistoryKind::kAttemptGpusBusy, core::Outcome::kNone, ""},
                      {HistoryKind::kAttemptEnded, core::Outcome::kSucceeded, ""},
                      {HistoryKind::kAttemptEnded, core::Outcome::kNodeFailure, ""},
                      {HistoryKind::kAttemptEnded, core::Outcome::kCancelled, ""},
                      {HistoryKind::kJobCancelled, core::Outcome::kNone, ""},
                      {HistoryKind::kInterruptRequested, core::Outcome::kNone, ""},
                      {HistoryKind::kJobSubmitted, core::Outcome::kNone, ""}};
  for (const Row& row : rows) {
    SCOPED_TRACE(ToString(row.kind));
    EXPECT_EQ(KindOf(Entry(row.kind, row.outcome)).value_or(""), row.told);
    const auto all = MessagesFor("c", 5, Entry(row.kind, row.outcome),
                                 JobWith({"interrupted", "failed", "done"}, {"chat", "pager"}));
    EXPECT_EQ(all.size(), *row.told != 0 ? 2u : 0u);
  }
}

TEST(NotifyMessage, OnlyWhatTheSpecAsksFor) {
  const auto entry = Entry(HistoryKind::kJobFailed);
  EXPECT_TRUE(MessagesFor("c", 5, entry, JobWith({"done"}, {"chat"})).empty());
  EXPECT_TRUE(MessagesFor("c", 5, entry, JobWith({}, {})).empty());
  EXPECT_EQ(MessagesFor("c", 5, entry, JobWith({"failed"}, {"chat"})).size(), 1u);
}

// It may be the last word before an interrupt.
TEST(NotifyMessage, ThatGpusAreIdleIsToldToWhoAsksForInterrupts) {
  const auto entry = Entry(HistoryKind::kAttemptGpusIdle);
  EXPECT_TRUE(MessagesFor("c", 5, entry, JobWith({"failed", "done"}, {"chat"})).empty());
  const auto messages = MessagesFor("c", 5, entry, JobWith({"interrupted"}, {"chat"}));
  ASSERT_EQ(messages.size(), 1u);
  const auto body = nlohmann::json::parse(messages[0].body);
  EXPECT_EQ(body["kind"], "gpus_idle");
  EXPECT_EQ(body["outcome"], "");
  EXPECT_EQ(body["message"], "why");
}

TEST(NotifyMessage, SaysWhatHappenedToWhichJob) {
  const auto entry = Entry(HistoryKind::kAttemptEnded, core::Outcome::kInterrupted);
  const auto messages = MessagesFor("0abc", 812, entry, JobWith({"interrupted"}, {"chat"}));
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].target, "chat");
  EXPECT_EQ(messages[0].seq, 812u);
  EXPECT_EQ(messages[0].id, "0abc-812-chat");
  const auto body = nlohmann::json::parse(messages[0].body);
  EXPECT_EQ(body["version"], 2);
  EXPECT_EQ(body["id"], "0abc-812-chat");
  EXPECT_EQ(body["cluster_id"], "0abc");
  EXPECT_EQ(body["kind"], "interrupted");
  EXPECT_EQ(body["attempt"], 2);
  EXPECT_EQ(body["outcome"], "interrupted");
  EXPECT_EQ(body["happened_at_ms"], 1'700'000'000'123);
  EXPECT_EQ(body["happened_at"], "2023-11-14T22:13:20.123Z");
  EXPECT_NE(body["message"].get<std::string>().find("why"), std::string::npos);
  EXPECT_EQ(body["job"]["id"], 7);
  EXPECT_EQ(body["job"]["name"], "train");
  EXPECT_EQ(body["job"]["user"], "kim");
  EXPECT_EQ(body["job"]["pool"], "a100");
  EXPECT_EQ(body["job"]["state"], "queued");
  EXPECT_EQ(MessagesFor("0abc", 812, entry, JobWith({"interrupted"}, {"chat"}))[0].body, messages[0].body)
      << "the same on every try";
}

// Doubled each time, up to a limit, and a random half of that.
TEST(NotifyRetry, WaitsLongerEachTime) {
  const Retry retry{Seconds(1), Minutes(10), Hours(24), 12};
  struct Row {
    int failures;
    double unit;
    Duration wait;
  };
  const Row rows[] = {{1, 0, Milliseconds(500)}, {1, 1, Seconds(1)},   {2, 0, Seconds(1)},  {4, 0.5, Seconds(6)},
                      {10, 1, Seconds(512)},     {11, 1, Minutes(10)}, {11, 0, Minutes(5)}, {500, 1, Minutes(10)}};
  for (const Row& row : rows) {
    EXPECT_EQ(RetryAfter(retry, row.failures, row.unit), row.wait) << row.failures << " " << row.unit;
  }
}

// As printf '%s' '1700000000.{"a":1}' | openssl dgst -sha256 -hmac 0123456789abcdef has it.
TEST(NotifySignature, IsHmacSha256OverTimeAndBody) {
  EXPECT_EQ(Signature("0123456789abcdef", 1'700'000'000, "{\"a\":1}"),
            "t=1700000000,v1=9eb18f493f8ec135d9eb2dad817c369bb4e9cbfa818657897a7437c1cd8c3a23");
}

TEST(NotifyProgress, IsReadBackAsItWasWritten) {
  const Progress progress{900, {{"chat", 12}, {"pager", 899}}};
  const auto read = ReadProgress(WriteProgress(progress));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, progress);
  for (const char* text :
       {"", "x", "[]", "{}", R"({"read": -1})", R"({"read": 1, "told": []})", R"({"read": 1, "told": {"a": "b"}})"}) {
    EXPECT_EQ(ReadProgress(text).status().code(), StatusCode::kDataLoss) << text;
  }
}

TEST(NotifyProgress, BeginsWhereTheSlowestStands) {
  const Progress progress{900, {{"chat", 12}, {"pager", 899}}};
  EXPECT_EQ(progress.ReadAgainFrom(), 12u);
  EXPECT_TRUE(progress.WasTold("chat", 12));
  EXPECT_FALSE(progress.WasTold("chat", 13));
  EXPECT_TRUE(progress.WasTold("another", 900)) << "nothing waits for it";
  EXPECT_FALSE(progress.WasTold("another", 901));
  EXPECT_EQ(Progress{900}.ReadAgainFrom(), 900u);
}

}  // namespace
}  // namespace glim::notify
