// Lost connections, lost answers, lost leadership and a crashed server.
#include <memory>

#include <gtest/gtest.h>

#include "scheduler/store/postgres/postgres_store.h"
#include "scheduler/store/testing/postgres_proxy.h"
#include "scheduler/store/testing/postgres_server.h"

namespace glim::store {
namespace {

using Cut = PostgresProxy::Cut;

class PostgresFault : public testing::Test {
 protected:
  std::unique_ptr<PostgresStore> Open(const std::string& conninfo) {
    auto opened = PostgresStore::Open(conninfo, {.retry = {.tries_max = 4, .first_pause = Milliseconds(10)}});
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? std::move(opened).value() : nullptr;
  }

  // History is append only: a commit that was applied twice would show.
  static std::vector<core::Mutation> Note(const std::string& text) {
    core::HistoryEntry entry;
    entry.text = text;
    return {entry};
  }

  std::vector<std::string> Notes() {
    std::vector<std::string> texts;
    const auto entries = direct_->History({.limit = 100});
    EXPECT_TRUE(entries.ok()) << entries.status().message();
    for (const auto& stored : *entries) texts.push_back(stored.entry.text);
    return texts;
  }

  using Texts = std::vector<std::string>;
  TestSchema schema_;
  PostgresProxy proxy_{SharedPostgres().directory()};
  std::unique_ptr<PostgresStore> direct_ = Open(schema_.ConnInfo());
  std::unique_ptr<PostgresStore> store_ = Open(schema_.ConnInfo("postgres", proxy_.directory()));
};

TEST_F(PostgresFault, ACommitThatNeverArrivedIsRepeated) {
  const auto epoch = store_->AcquireEpoch().value();
  ASSERT_TRUE(store_->Commit(epoch, Note("a")).ok());
  proxy_.Arm(Cut::kBeforeCommit, 2);
  const Status status = store_->Commit(epoch, Note("b"));
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(proxy_.cuts(), 2);
  EXPECT_EQ(Notes(), (Texts{"a", "b"}));
}

TEST_F(PostgresFault, ACommitWhoseAnswerWasLostIsNotRepeated) {
  const auto epoch = store_->AcquireEpoch().value();
  ASSERT_TRUE(store_->Commit(epoch, Note("a")).ok());
  proxy_.Arm(Cut::kAfterCommit, 1);
  const Status status = store_->Commit(epoch, Note("b"));
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(proxy_.cuts(), 1);
  ASSERT_TRUE(store_->Commit(epoch, Note("c")).ok());
  EXPECT_EQ(Notes(), (Texts{"a", "b", "c"}));
}

TEST_F(PostgresFault, ALeaderReplacedWhileItsCommitWasInDoubtIsTold) {
  const auto epoch = store_->AcquireEpoch().value();
  std::uint64_t newer = 0;
  proxy_.Arm(Cut::kBeforeCommit, 1, [&] { newer = direct_->AcquireEpoch().value(); });
  const Status status = store_->Commit(epoch, Note("a"));
  EXPECT_EQ(status.reason(), "STALE_EPOCH");
  EXPECT_GT(newer, epoch);
  EXPECT_TRUE(Notes().empty());
}

TEST_F(PostgresFault, TheOldLeaderCannotWriteBesideTheNewOne) {
  const auto old_epoch = store_->AcquireEpoch().value();
  ASSERT_TRUE(store_->Commit(old_epoch, Note("old")).ok());
  const auto new_epoch = direct_->AcquireEpoch().value();
  EXPECT_EQ(store_->Commit(old_epoch, Note("late")).reason(), "STALE_EPOCH");
  EXPECT_TRUE(direct_->Commit(new_epoch, Note("new")).ok());
  EXPECT_EQ(store_->PruneHistory(old_epoch, TimePoint{1}).status().reason(), "STALE_EPOCH");
  EXPECT_EQ(Notes(), (Texts{"old", "new"}));
}

TEST_F(PostgresFault, ASessionEndedByTheServerIsMadeAnew) {
  const auto epoch = store_->AcquireEpoch().value();
  for (const char* text : {"a", "b", "c"}) {
    schema_.Execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
    const Status status = store_->Commit(epoch, Note(text));
    ASSERT_TRUE(status.ok()) << status.message();
  }
  EXPECT_EQ(Notes(), (Texts{"a", "b", "c"}));
  EXPECT_TRUE(store_->Load().ok());
}

TEST_F(PostgresFault, AnAbsentServerIsReportedAndComesBack) {
  const auto epoch = store_->AcquireEpoch().value();
  proxy_.Refuse(true);
  const Status status = store_->Commit(epoch, Note("lost"));
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.reason(), "STORE_UNREACHABLE");
  EXPECT_FALSE(status.fix().empty());
  EXPECT_FALSE(store_->Load().ok());
  EXPECT_FALSE(store_->AcquireEpoch().ok());
  proxy_.Refuse(false);
  EXPECT_TRUE(store_->Commit(epoch, Note("found")).ok());
  EXPECT_EQ(Notes(), (Texts{"found"}));
}

// A fail-over to a replica that lags shows as an older state behind the same address.
TEST_F(PostgresFault, ADatabaseThatLacksTheLastCommitsIsNoticedAtTheNextOne) {
  const auto epoch = store_->AcquireEpoch().value();
  ASSERT_TRUE(store_->Commit(epoch, Note("a")).ok());
  schema_.Execute("CREATE TABLE replica AS TABLE meta");
  ASSERT_TRUE(store_->Commit(epoch, Note("b")).ok());
  schema_.Execute(
      "DELETE FROM history WHERE text = 'b'; UPDATE meta SET value = replica.value FROM replica "
      "WHERE meta.key = replica.key");
  const Status status = store_->Commit(epoch, Note("c"));
  EXPECT_EQ(status.reason(), "STORE_WENT_BACK") << status.message();
  EXPECT_FALSE(status.fix().empty());
  EXPECT_EQ(store_->PruneHistory(epoch, TimePoint{1}).status().reason(), "STORE_WENT_BACK");
  EXPECT_EQ(Notes(), (Texts{"a"}));
}

TEST_F(PostgresFault, ADatabaseThatLacksTheLeadersEpochIsNoticedToo) {
  ASSERT_TRUE(store_->AcquireEpoch().ok());
  schema_.Execute("CREATE TABLE replica AS TABLE meta");
  const auto epoch = store_->AcquireEpoch().value();
  schema_.Execute("UPDATE meta SET value = replica.value FROM replica WHERE meta.key = replica.key");
  EXPECT_EQ(store_->Commit(epoch, Note("a")).reason(), "STORE_WENT_BACK");
  EXPECT_TRUE(Notes().empty());
}

TEST_F(PostgresFault, SomebodyWhoWritesUnderOurEpochIsNoticed) {
  const auto epoch = store_->AcquireEpoch().value();
  ASSERT_TRUE(store_->Commit(epoch, Note("a")).ok());
  schema_.Execute("UPDATE meta SET value = '7' WHERE key = 'commits'");
  EXPECT_EQ(store_->Commit(epoch, Note("b")).reason(), "STORE_DIVERGED");
  EXPECT_EQ(Notes(), (Texts{"a"}));
}

// Away for longer than the tries of a call: the same commit, made again, is done once.
TEST_F(PostgresFault, ACommitInDoubtIsSettledHoweverLongTheServerWasAway) {
  const auto epoch = store_->AcquireEpoch().value();
  for (const Cut cut : {Cut::kBeforeCommit, Cut::kAfterCommit}) {
    const std::string text = cut == Cut::kBeforeCommit ? "never arrived" : "answer lost";
    proxy_.Arm(cut, 1, [&] { proxy_.Refuse(true); });
    for (int i = 0; i < 3; ++i) EXPECT_EQ(store_->Commit(epoch, Note(text)).reason(), "STORE_UNREACHABLE");
    proxy_.Refuse(false);
    const Status status = store_->Commit(epoch, Note(text));
    EXPECT_TRUE(status.ok()) << status.message();
  }
  ASSERT_TRUE(store_->Commit(epoch, Note("next")).ok());
  EXPECT_EQ(Notes(), (Texts{"never arrived", "answer lost", "next"}));
}

TEST_F(PostgresFault, AcknowledgedCommitsSurviveACrashOfTheServer) {
  const auto epoch = store_->AcquireEpoch().value();
  Texts acknowledged;
  for (int i = 0; i < 40; ++i) {
    if (i == 30) SharedPostgres().CrashAndRestart();
    const Status status = store_->Commit(epoch, Note(std::to_string(i)));
    ASSERT_TRUE(status.ok()) << status.message();
    acknowledged.push_back(std::to_string(i));
  }
  EXPECT_EQ(Notes(), acknowledged);
}

}  // namespace
}  // namespace glim::store
