// The strand's audit trail: a row in the commit of its event, whatever came of it, and none is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <future>

#include "scheduler/server/loop/audit_check.h"
#include "scheduler/server/loop/store_clock.h"
#include "scheduler/server/testing/obedient_store.h"
#include "scheduler/server/testing/test_server.h"

namespace glim::server {
namespace {

using ::testing::HasSubstr;

class LoopAuditTest : public ::testing::Test {
 protected:
  void SetUp() override {
    spdlog::set_level(spdlog::level::off);
    Open();
  }
  void Open(std::size_t denied_max = 1000, Duration kept = Hours(24 * 400)) {
    SchedulerLoop::Options options;
    options.audit_kept = kept;
    options.clock = [this] { return TimePoint{now_ms_.load()}; };
    options.store_retry = Milliseconds(5);
    options.denied_max = denied_max;
    data_->marks[kClockMark] = std::to_string(now_ms_.load());  // days pass between two starts here
    auto loop = SchedulerLoop::Open(std::move(options), std::make_unique<ObedientStore>(orders_, data_));
    ASSERT_TRUE(loop.ok()) << loop.status().message();
    loop_ = std::move(loop).value();
    loop_->Start();
  }
  static AuditNote By(const std::string& user) {
    AuditNote note;
    note.user = user;
    note.method = "/glim.v1.AdminApi/ChangeAccount";
    return note;
  }
  static core::ChangeAccounts Add(const std::string& user) { return {{{core::User{user}}}, "op"}; }
  core::Reply Call(SchedulerLoop::Payload what, std::optional<AuditNote> note) {
    std::promise<core::Reply> answered;
    const Status posted = loop_->Post(
        std::move(what), [&](const core::Reply& r) { answered.set_value(r); }, std::move(note));
    EXPECT_TRUE(posted.ok()) << posted.message();
    core::Reply refused;
    refused.status = posted;
    return posted.ok() ? answered.get_future().get() : refused;
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
  AuditChecker Checked() {
    std::promise<Result<AuditChecker>> done;
    CheckAudit(loop_.get(), [&](const Result<AuditChecker>& result) { done.set_value(result); });
    return done.get_future().get().value();
  }
  std::vector<std::string> Trail() {  // of a stopped loop
    std::vector<std::string> rows;
    for (const auto& [seq, row] : data_->audit) rows.push_back(row.user + ": " + row.outcome);
    return rows;
  }

  std::atomic<std::int64_t> now_ms_{1'000'000};
  std::shared_ptr<ObedientStore::Orders> orders_ = std::make_shared<ObedientStore::Orders>();
  std::shared_ptr<store::MemoryData> data_ = std::make_shared<store::MemoryData>();
  std::unique_ptr<SchedulerLoop> loop_;
};

TEST_F(LoopAuditTest, ARowIsInTheCommitOfItsEventAlsoOfOneThatIsRefused) {
  EXPECT_TRUE(Call(Add("kim"), By("ada")).status.ok());
  EXPECT_FALSE(Call(core::ReturnNode{"n9"}, By("bob")).status.ok());
  EXPECT_TRUE(Call(Add("lee"), {}).status.ok()) << "without a note";
  loop_->Stop();
  EXPECT_EQ(Trail(), (std::vector<std::string>{"ada: ok", "bob: NO_SUCH_NODE"}));
  EXPECT_EQ(data_->audit.begin()->second.at, TimePoint{1'000'000});
}

TEST_F(LoopAuditTest, ADeniedCallIsWrittenAtOnceAndNoneIsLostAtStop) {
  ASSERT_TRUE(loop_->PostAudit(By("eve"), "ROLE").ok());
  while (Checked().entries() < 1) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(loop_->PostAudit(By("eve"), "NOT_YOURS").ok());
  loop_->Stop();
  EXPECT_EQ(Trail().size(), 101u);
  EXPECT_EQ(loop_->PostAudit(By("eve"), "ROLE").reason(), "STOPPING");
}

// Another scheduler goes on with the chain.
TEST_F(LoopAuditTest, AChainGoesOnAfterARestart) {
  Call(Add("kim"), By("ada"));
  loop_->Stop();
  Open();
  Call(Add("lee"), By("ada"));
  const AuditChecker checked = Checked();
  EXPECT_EQ(checked.entries(), 2u);
  EXPECT_EQ(checked.broken_at(), 0u) << checked.why();
  EXPECT_EQ(checked.end().hash, data_->audit.rbegin()->second.hash);
}

TEST_F(LoopAuditTest, AChangedRowIsNamed) {
  for (const char* user : {"a", "b", "c", "d"}) Call(Add(user), By("ada"));
  loop_->Stop();
  data_->audit.at(3).user = "eve";
  Open();
  const AuditChecker checked = Checked();
  EXPECT_EQ(checked.broken_at(), 3u);
  EXPECT_THAT(checked.why(), HasSubstr("row 3"));
}

TEST_F(LoopAuditTest, OfASubmissionTheJobsThatItMade) {
  core::JobSpec spec;
  spec.name = "one";
  spec.workdir = "/tmp";
  spec.run = "true";
  Call(Add("kim"), {});
  core::NodeConnected node;
  node.name = "n1";
  node.session = 1;
  node.labels.gpu_count = 8;
  ASSERT_TRUE(Call(node, {}).status.ok());
  EXPECT_TRUE(Call(core::SubmitJobs{"kim", "", "", {spec}, false}, By("kim")).status.ok());
  EXPECT_TRUE(Call(core::SubmitJobs{"kim", "", "", {spec, spec, spec}, false}, By("kim")).status.ok());
  EXPECT_TRUE(Call(core::CancelJob{core::JobId(2), "kim"}, By("kim")).status.ok());
  loop_->Stop();
  EXPECT_EQ(data_->audit.at(1).after, "job 1");
  EXPECT_EQ(data_->audit.at(2).after, "jobs 2-4");
  EXPECT_EQ(data_->audit.at(3).after, "cancelled");
}

// What is there is held against the hash of the newest row that went.
TEST_F(LoopAuditTest, RowsGoByTheirAgeAndTheRestIsCheckedFromThereOn) {
  loop_->Stop();
  Open(1000, Hours(24 * 30));
  for (const char* user : {"a", "b", "c"}) Call(Add(user), By("ada"));
  now_ms_ += Hours(24 * 31).ms;
  Call(Add("d"), By("ada"));
  EXPECT_EQ(Checked().entries(), 1u);
  Call(Add("e"), By("ada"));
  const AuditChecker checked = Checked();
  EXPECT_EQ(checked.entries(), 2u);
  EXPECT_EQ(checked.broken_at(), 0u) << checked.why();
  EXPECT_EQ(checked.end().hash, data_->audit.rbegin()->second.hash);
  loop_->Stop();
  EXPECT_EQ(data_->audit.begin()->first, 4u);
  const store::AuditRow oldest = data_->audit.at(4);
  data_->audit.at(4).user = "eve";
  Open();
  EXPECT_EQ(Checked().broken_at(), 4u);
  loop_->Stop();
  data_->audit.at(4) = oldest;
  const store::AuditEnd base = data_->audit_base;
  data_->audit_base.hash = data_->audit.rbegin()->second.hash;
  Open();
  EXPECT_EQ(Checked().broken_at(), 4u) << "it goes on from what went";
  loop_->Stop();
  data_->audit_base = base;
  data_->audit.erase(4);
  Open();
  EXPECT_NE(Checked().broken_at(), 0u) << "nothing is gone but what went by its age";
}

// Both wait: when the second is taken in, whoever asked for it may no more. Nobody is told of the first before it
// counts for all that comes behind it.
TEST_F(LoopAuditTest, WhoHasLostTheRightMeanwhileIsRefused) {
  core::User operator_row{"ora"};
  operator_row.role = core::Role::kOperator;
  Call(core::ChangeAccounts{{{operator_row}}, "ada"}, {});
  core::TokenRow token;
  token.id = "0123456789abcdef";
  token.user = "ora";
  Call(core::ChangeIdentity{{{token}}, "ora"}, {});
  const auto role = [&] { return loop_->snapshot()->tables.accounts->users.at("ora").role; };
  const auto has_token = [&] { return loop_->snapshot()->tables.identity->tokens.Find(token.id) != nullptr; };
  const auto by_ora = [&](const std::function<bool()>& may) {
    AuditNote note = By("ora");
    note.still_allowed = [may] {
      return may() ? Status::Ok() : Status(StatusCode::kPermissionDenied, "").WithReason("RIGHTS_CHANGED");
    };
    return note;
  };
  Hold(true);
  std::promise<core::Reply> answers[5];
  const auto post = [&](int i, SchedulerLoop::Payload what, AuditNote note) {
    const auto answer = [&answers, i](const core::Reply& reply) { answers[i].set_value(reply); };
    EXPECT_TRUE(loop_->Post(std::move(what), answer, std::move(note)).ok());
  };
  post(0, Add("first"), By("ada"));
  const auto may_as_operator = by_ora([&] { return role() == core::Role::kOperator; });
  post(1, Add("kim"), may_as_operator);
  post(2, Add("ora"), By("ada"));  // as a user
  post(3, Add("lee"), may_as_operator);
  post(4, core::ChangeIdentity{{{token, true}}, "ada"}, By("ada"));
  std::promise<core::Reply> last;
  EXPECT_TRUE(loop_
                  ->Post(
                      Add("lou"), [&](const core::Reply& r) { last.set_value(r); }, by_ora(has_token))
                  .ok());
  Hold(false);
  const char* const outcomes[] = {"", "", "", "RIGHTS_CHANGED", ""};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(answers[i].get_future().get().status.reason(), outcomes[i]) << i;
  EXPECT_EQ(last.get_future().get().status.reason(), "RIGHTS_CHANGED");
  loop_->Stop();
  EXPECT_FALSE(loop_->snapshot()->tables.accounts->users.contains("lee"));
  EXPECT_EQ(Trail(), (std::vector<std::string>{"ada: ok", "ora: ok", "ada: ok", "ora: RIGHTS_CHANGED", "ada: ok",
                                               "ora: RIGHTS_CHANGED"}));
}

// The commit that is held has its rows; what is refused and denied meanwhile is told of when the store is back.
TEST_F(LoopAuditTest, WhatIsHeldWhileTheStoreIsAwayKeepsItsRows) {
  Fail(Status(StatusCode::kUnavailable, "gone").WithReason("STORE_UNREACHABLE"));
  EXPECT_EQ(Call(Add("kim"), By("ada")).status.reason(), "STORE_UNREACHABLE");
  ASSERT_TRUE(loop_->PostAudit(By("eve"), "ROLE").ok());
  Fail(Status::Ok());
  while (loop_->snapshot()->stale_since) std::this_thread::yield();
  while (Checked().entries() < 2) std::this_thread::yield();
  loop_->Stop();
  EXPECT_EQ(Trail(), (std::vector<std::string>{"ada: ok", "eve: ROLE"}));
}

TEST_F(LoopAuditTest, WhatWaitsIsBounded) {
  loop_->Stop();
  Open(3);
  Fail(Status(StatusCode::kUnavailable, "gone").WithReason("STORE_UNREACHABLE"));
  Call(Add("kim"), By("ada"));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(loop_->PostAudit(By("eve"), "ROLE").ok());
  EXPECT_EQ(loop_->PostAudit(By("eve"), "ROLE").reason(), "OVERLOADED");
  Fail(Status::Ok());
  loop_->Stop();
  EXPECT_EQ(Trail().size(), 4u);
}

}  // namespace
}  // namespace glim::server
