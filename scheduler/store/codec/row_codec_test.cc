#include "scheduler/store/codec/row_codec.h"
#include "scheduler/store/codec/stored_row.h"

#include <string>
#include <typeinfo>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "scheduler/core/model/spec_bytes.h"
#include "scheduler/store/codec/account_fields.h"
#include "scheduler/store/codec/identity_fields.h"
#include "scheduler/store/testing/rows.h"
#include "sdk/base/members.h"

namespace glim::store {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr int kRounds = 400;

TEST(RowCodec, RandomRowsComeBackEqual) {
  for (int seed = 1; seed <= kRounds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const core::AttemptId attempt_id{core::JobId(7), 3};

    const auto job = RandomJob(rng, core::JobId(7));
    const auto job_back = DecodeRow<core::Job>(KeyText(job.id), EncodeRow(job));
    ASSERT_TRUE(job_back.ok()) << job_back.status().message();
    ASSERT_TRUE(SameJob(job, *job_back)) << EncodeRow(job);

    const auto attempt = RandomAttempt(rng, attempt_id);
    const auto attempt_back = DecodeRow<core::Attempt>(KeyText(attempt.id), EncodeRow(attempt));
    ASSERT_TRUE(attempt_back.ok()) << attempt_back.status().message();
    ASSERT_EQ(attempt, *attempt_back) << EncodeRow(attempt);

    const auto task = RandomTask(rng, {attempt_id, 2});
    const auto task_back = DecodeRow<core::Task>(KeyText(task.id), EncodeRow(task));
    ASSERT_TRUE(task_back.ok()) << task_back.status().message();
    ASSERT_EQ(task, *task_back) << EncodeRow(task);

    const auto node = RandomNode(rng, core::NodeId(5));
    const auto node_back = DecodeRow<core::Node>(KeyText(node.id), EncodeRow(node));
    ASSERT_TRUE(node_back.ok()) << node_back.status().message();
    ASSERT_EQ(node, *node_back) << EncodeRow(node);

    const auto entry = RandomHistory(rng, core::JobId(7));
    const auto entry_back = DecodeHistory(1, EncodeHistory(entry));
    ASSERT_TRUE(entry_back.ok()) << entry_back.status().message();
    ASSERT_EQ(entry, *entry_back) << EncodeHistory(entry);
  }
}

class Counter {
 public:
  static constexpr bool kWrites = false;
  template <typename T>
  void Field(const char*, T&) {
    ++count;
  }
  template <typename T>
  void Required(const char*, T&) {
    ++count;
  }
  template <typename T>
  void Sparse(const char*, T&, const T& = T{}) {
    ++count;
  }
  void Hex(const char*, std::string&) { ++count; }

  std::size_t count = 0;
};

// `keys`: members that are the row's key, and so not in its body.
template <typename Row>
void ExpectListed(std::size_t keys = 0) {
  Row row;
  Counter counter;
  Fields(counter, row);
  EXPECT_EQ(counter.count + keys, MembersOf<Row>())
      << "a member of " << typeid(Row).name() << " is in no list of fields";
}

template <typename... Rows>
struct AllListed {
  static void Expect() { (ExpectListed<Rows>(1), ...); }  // all but their ids
};

TEST(RowCodec, EachMemberOfARowIsInItsListOfFields) {
  core::StoredRows<AllListed>::Expect();
  ExpectListed<core::JobSpec>();
  ExpectListed<core::Placement>();
  ExpectListed<core::Mount>();
  ExpectListed<core::TaskLimits>();
  ExpectListed<core::Dependency>();
  ExpectListed<core::CodeSnapshot>();
  ExpectListed<core::SecretUse>();
  ExpectListed<core::NotifySpec>();
  ExpectListed<core::Checkpoint>();
  ExpectListed<core::EarlierAttempts>();
  ExpectListed<core::Agreement>();
  ExpectListed<core::TaskUser>();
  ExpectListed<core::SaveFailure>();
  ExpectListed<core::EndedTasks>();
  ExpectListed<core::SavedShard>();
  ExpectListed<core::Rank>();
  ExpectListed<core::NodeLabels>();
  ExpectListed<core::Cordon>();
  ExpectListed<core::HealthEvent>();
  ExpectListed<core::HealthCondition>();
  ExpectListed<core::NodeValidation>();
  ExpectListed<core::NodeFailure>();
  ExpectListed<core::HistoryEntry>();
  ExpectListed<core::HistoryFacts>();
  ExpectListed<EndedJob>(1);
  ExpectListed<core::User>();
  ExpectListed<core::Team>();
  ExpectListed<core::ZoneLink>();
  ExpectListed<core::PoolRow>();
  ExpectListed<core::ZoneRow>();
  ExpectListed<core::TokenRow>();
  ExpectListed<core::NodeIdentity>();
  ExpectListed<core::SealedRow>();
  ExpectListed<core::SecretRow>();
}

// The bounds of users count by SpecBytes: what a user may write is never more in the store, whatever characters it has.
TEST(RowCodec, AJobsRowIsNotLargerThanItIsCounted) {
  const auto counted = [](const core::Job& job) {
    return static_cast<std::size_t>(core::SpecBytes(*job.spec) + core::TaleBytes(job));
  };
  core::Job job;
  job.user.assign(64, 'u');
  job.request_id.assign(128, 'r');
  core::JobSpec spec;
  spec.restart_on = {};
  job.spec = std::make_shared<const core::JobSpec>(spec);
  EXPECT_LE(EncodeRow(job).size(), counted(job)) << EncodeRow(job);
  for (const std::string& text : {std::string(16'000, 'x'), std::string(16'000, '"'), std::string(16'000, '\n')}) {
    spec.run = text;
    spec.env.assign(16, {"NAME", text});
    spec.mounts.assign(64, {"/a", "/b", true});
    spec.after.assign(64, {core::JobId(1'000'000'000), core::DependencyKind::kFailed, true});
    spec.placement.zones.assign(64, "z");
    spec.secrets.assign(32, {"s", "S"});
    spec.notify.to.assign(8, "n");
    job.spec = std::make_shared<const core::JobSpec>(spec);
    EXPECT_LE(EncodeRow(job).size(), counted(job));
    EXPECT_GE(2 * EncodeRow(job).size(), counted(job)) << "and it is not counted for much more";
  }
}

// Our own writer against the library's: whatever it writes, the library reads and would write again.
TEST(RowCodec, WritesWhatTheLibraryReads) {
  Rng rng(1);
  for (int round = 0; round < kRounds; ++round) {
    const std::string text = EncodeRow(RandomJob(rng, core::JobId(1)));
    EXPECT_EQ(json::parse(text), json::parse(json::parse(text).dump()));
  }
}

core::Job SmallJob() {
  core::Job job;
  job.id = core::JobId(42);
  job.user = "ada";
  job.spec = std::make_shared<core::JobSpec>();
  return job;
}

TEST(RowCodec, UnknownKeysArePassedOver) {
  const core::Job job = SmallJob();
  json body = json::parse(EncodeRow(job));
  body["from_the_future"] = {{"deep", {1, 2, 3}}};
  body["spec"]["another"] = nullptr;
  body["ledger_gpu_ms"]["hibernating"] = 5;
  const auto back = DecodeRow<core::Job>(KeyText(job.id), body.dump());
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_TRUE(SameJob(job, *back));
}

TEST(RowCodec, AMissingKeyHasItsDefault) {
  const core::Job job = SmallJob();
  json body = json::parse(EncodeRow(job));
  body.erase("user");
  body.erase("request_size");
  body["spec"].erase("grace_ms");
  body["ledger_gpu_ms"].erase("lost");
  core::Job expected = job;
  expected.user = "";
  const auto back = DecodeRow<core::Job>(KeyText(job.id), body.dump());
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_TRUE(SameJob(expected, *back));
}

TEST(RowCodec, RowsFromBeforeThereWereReplicasHaveNone) {
  Rng rng(1);
  core::Attempt attempt = RandomAttempt(rng, {core::JobId(7), 3});
  json body = json::parse(EncodeRow(attempt));
  ASSERT_EQ(body.erase("replicas"), 1u);
  attempt.replicas.clear();
  const auto attempt_back = DecodeRow<core::Attempt>(KeyText(attempt.id), body.dump());
  ASSERT_TRUE(attempt_back.ok()) << attempt_back.status().message();
  EXPECT_EQ(attempt, *attempt_back);

  core::Node node = RandomNode(rng, core::NodeId(5));
  body = json::parse(EncodeRow(node));
  ASSERT_EQ(body.erase("replica"), 1u);
  node.replica.clear();
  const auto node_back = DecodeRow<core::Node>(KeyText(node.id), body.dump());
  ASSERT_TRUE(node_back.ok()) << node_back.status().message();
  EXPECT_EQ(node, *node_back);
}

TEST(RowCodec, GarbageIsNamedByTableKeyAndField) {
  const json good = json::parse(EncodeRow(SmallJob()));
  const auto broken = [&](const char* pointer, const json& value) {
    json body = good;
    body[json::json_pointer(pointer)] = value;
    return body.dump();
  };
  const struct {
    std::string body;
    const char* complaint;
  } cases[] = {
      {"", "not JSON"},
      {"{\"user\":", "not JSON"},
      {"{\"user\":\"\xff\"}", "not JSON"},
      {"[]", "not a JSON object"},
      {"{}", "spec: missing"},
      {broken("/user", 5), "user: expected a string"},
      {broken("/state", "dreaming"), "state: unknown name \"dreaming\""},
      {broken("/state", 1), "state: expected a name"},
      {broken("/attempts", -1), "attempts: number out of range"},
      {broken("/attempts", 4294967296), "attempts: number out of range"},
      {broken("/attempts", 1.5), "attempts: expected a whole number"},
      {broken("/attempts", "1"), "attempts: expected a whole number"},
      {broken("/submitted_at_ms", 18446744073709551615u), "submitted_at_ms: number out of range"},
      {broken("/swap_aborted", 0), "swap_aborted: expected true or false"},
      {broken("/spec", nullptr), "spec: expected an object"},
      {broken("/spec/placement/nvlink", "half"), "spec.placement.nvlink: unknown name \"half\""},
      {broken("/spec/env", json::array({{"A", "B"}, {"C"}})), "spec.env[1]: expected [name, value]"},
      {broken("/spec/restart_on", json::array({"x", 1})), "spec.restart_on[1]: expected a string"},
      {broken("/ledger_gpu_ms/free", "x"), "ledger_gpu_ms.free: expected a whole number"},
  };
  for (const auto& [body, complaint] : cases) {
    const auto back = DecodeRow<core::Job>(KeyText(core::JobId(42)), body);
    ASSERT_FALSE(back.ok()) << body;
    EXPECT_EQ(back.status().code(), StatusCode::kDataLoss);
    EXPECT_EQ(back.status().reason(), "STORE_CORRUPT");
    EXPECT_THAT(back.status().message(), HasSubstr("row job 42: "));
    EXPECT_THAT(back.status().message(), HasSubstr(complaint)) << body;
  }
}

TEST(RowCodec, GarbageDeepInsideIsNamed) {
  core::Attempt attempt;
  attempt.id = {core::JobId(42), 3};
  attempt.agreements.resize(2);
  json body = json::parse(EncodeRow(attempt));
  body["agreements"][1]["preemptor"] = {1, 2, 3};
  EXPECT_THAT(DecodeRow<core::Attempt>(KeyText(attempt.id), body.dump()).status().message(),
              HasSubstr("row attempt 42.3: agreements[1].preemptor: expected [job, attempt]"));

  core::Task task;
  task.id = {attempt.id, 9};
  task.ranks.resize(1);
  task.ranks[0].saves.resize(1);
  body = json::parse(EncodeRow(task));
  body["ranks"][0]["saves"][0]["took_ms"] = true;
  EXPECT_THAT(DecodeRow<core::Task>(KeyText(task.id), body.dump()).status().message(),
              HasSubstr("row task 42.3.9: ranks[0].saves[0].took_ms: expected a whole number"));
}

TEST(RowCodec, AnEntryWithoutAmountsIsSmallAndGarbageInOneIsNamed) {
  EXPECT_EQ(EncodeHistoryFacts({}), "{}");
  EXPECT_EQ(EncodeHistoryFacts({.step = 41}), R"({"step":41})");
  const auto unknown = DecodeHistory({.seq = 7, .kind = "job_dreamt", .facts = "{}"});
  EXPECT_EQ(unknown.status().reason(), "STORE_CORRUPT");
  EXPECT_THAT(unknown.status().message(), HasSubstr("row history 7: kind: unknown name \"job_dreamt\""));
  const auto torn = DecodeHistory({.seq = 8, .kind = "step_agreed", .facts = R"({"step":"x"})"});
  EXPECT_THAT(torn.status().message(), HasSubstr("row history 8: step: expected a whole number"));
}

TEST(RowCodec, MangledBodiesNeverCrash) {
  Rng rng(17);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string body = EncodeRow(RandomAttempt(rng, {core::JobId(1), 1}));
    for (auto changes = rng.Between(1, 4); changes > 0; --changes) {
      const auto at = static_cast<std::size_t>(rng.Between(0, static_cast<std::int64_t>(body.size()) - 1));
      body[at] = static_cast<char>(rng.Next());
    }
    const auto back = DecodeRow<core::Attempt>(KeyText(core::AttemptId{core::JobId(1), 1}), body);
    if (!back.ok()) {
      ++refused;
      EXPECT_EQ(back.status().code(), StatusCode::kDataLoss);
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(RowCodec, BytesThatAreNotUtf8AreRepaired) {
  core::Job job = SmallJob();
  job.message = "bad \xff\xfe byte";
  const auto back = DecodeRow<core::Job>(KeyText(job.id), EncodeRow(job));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->message, "bad \xEF\xBF\xBD\xEF\xBF\xBD byte");
}

TEST(RowCodec, CleanTextIsUtf8WithoutNul) {
  EXPECT_EQ(CleanText("plain"), "plain");
  EXPECT_EQ(CleanText("line\nbreak \"quoted\" \\ \xC3\xA9"), "line\nbreak \"quoted\" \\ \xC3\xA9");
  EXPECT_EQ(CleanText(std::string("a\0b", 3)),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(CleanText("a\xC3"), "a\xEF\xBF\xBD");
}

}  // namespace
}  // namespace glim::store
