// The contract of store.h for identities and for the audit trail. Run against every store.
#include <algorithm>
#include <iterator>

#include "scheduler/store/contract/store_limits.h"
#include "scheduler/store/testing/rows.h"
#include "scheduler/store/testing/store_contract.h"

namespace glim::store {
namespace {

AuditRow Row(std::uint64_t seq, std::int64_t at_ms, const std::string& user) {
  AuditRow row;
  row.seq = seq;
  row.at = TimePoint{at_ms};
  row.user = user;
  row.token = "0123456789abcdef";
  row.peer = "ipv4:10.0.0.7:4711";
  row.method = "/glim.v1.ClientApi/Cancel";
  row.object = "job " + std::to_string(seq);
  row.before = "running \"a\"\\";
  row.after = "caf\xC3\xA9";
  row.outcome = "ok";
  row.hash = std::string(64, static_cast<char>('a' + seq % 6));
  return row;
}

std::vector<std::uint64_t> Seqs(const Result<std::vector<AuditRow>>& rows) {
  EXPECT_TRUE(rows.ok()) << rows.status().message();
  std::vector<std::uint64_t> seqs;
  if (rows.ok()) std::transform(rows->begin(), rows->end(), std::back_inserter(seqs), [](auto& r) { return r.seq; });
  return seqs;
}

}  // namespace

TEST_P(StoreContract, IdentitiesComeBackByteForByteAndGo) {
  Rng rng(7);
  std::vector<core::IdentityRow> rows;
  for (const char* name : {"a", "b", "caf\xC3\xA9 \"x\""}) {
    for (core::IdentityRow& row : RandomIdentity(rng, name)) rows.push_back(std::move(row));
  }
  std::vector<core::Mutation> puts;
  for (const core::IdentityRow& row : rows) puts.push_back(core::IdentityChange{row});
  Commit(puts);
  Reopen();
  const auto loaded = Load();
  for (const core::IdentityRow& row : rows) {
    const core::RowKey key = core::KeyOf(row);
    EXPECT_EQ(loaded->identity().Find(key), row) << key.kind << " " << key.name;
  }
  EXPECT_EQ(loaded->identity().Rows().size(), rows.size());
  Commit({core::IdentityChange{rows[0], true}, core::IdentityChange{rows[1], true}, core::IdentityChange{rows[1]}});
  Reopen();
  EXPECT_FALSE(Load()->identity().Find(core::KeyOf(rows[0])).has_value());
  EXPECT_EQ(Load()->identity().Find(core::KeyOf(rows[1])), rows[1]) << "the later one of the same row wins";
}

TEST_P(StoreContract, WhoUsersAndTeamsAreComesBack) {
  core::User kim{"kim", {"vision"}, core::Role::kOperator, {"vision"}, 1000, 100, {100, 4000000000}, true};
  core::Team vision{"vision", 50, {"a100", "h100"}, "a100"};
  Commit({core::AccountChange{vision}, core::AccountChange{kim}});
  Reopen();
  EXPECT_EQ(Load()->accounts().users.at("kim"), kim);
  EXPECT_EQ(Load()->accounts().teams.at("vision"), vision);
  EXPECT_EQ(Load()->accounts().users_disabled, 1u);
  EXPECT_EQ(Load()->accounts().teams_with_pools, 1u);
}

TEST_P(StoreContract, PoolsZonesAndLinksComeBackAndGo) {
  const core::PoolRow pool{"a100", "the racks of spring"};
  const core::ZoneRow zone{"C"};
  Commit({core::AccountChange{pool}, core::AccountChange{zone}, core::AccountChange{core::ZoneLink{"C", "A", 2, 3}},
          core::AccountChange{core::LayoutImport{"zones: [C]\n"}},
          core::AccountChange{core::QuotaImport{"quotas:\n"}}});
  Reopen();
  core::Accounts rows = Load()->accounts();
  EXPECT_EQ(rows.pools.at("a100"), pool);
  EXPECT_EQ(rows.zones.at("C"), zone);
  EXPECT_EQ(rows.links.at({"A", "C"}), (core::ZoneLink{"A", "C", 2, 3}));
  EXPECT_EQ(rows.layout_imported, "zones: [C]\n");
  EXPECT_EQ(rows.imported, "quotas:\n") << "two imports, two rows";
  Commit({core::AccountChange{core::ZoneLink{"A", "C"}, true}, core::AccountChange{pool, true}});
  Reopen();
  rows = Load()->accounts();
  EXPECT_TRUE(rows.links.empty() && rows.pools.empty());
  EXPECT_TRUE(rows.zones.contains("C"));
}

TEST_P(StoreContract, TheTrailIsWrittenWithTheCommitAndReadInPages) {
  EXPECT_EQ(store_->LastAudit().value(), AuditEnd{});
  const std::vector<AuditRow> rows = {Row(1, 100, "kim"), Row(2, 100, "lee"), Row(3, 200, ""), Row(4, 300, "kim")};
  ASSERT_TRUE(store_->Commit(epoch_, {Entry(1, 1, "x")}, {}, {rows[0], rows[1]}).ok());
  ASSERT_TRUE(store_->Commit(epoch_, {}, {}, {rows[2], rows[3]}).ok()) << "rows alone are a commit";
  Reopen();
  EXPECT_EQ(store_->Audit({.limit = 10}).value(), rows);
  EXPECT_EQ(store_->LastAudit().value(), (AuditEnd{4, rows[3].hash}));
  EXPECT_EQ(Seqs(store_->Audit({.after = 1, .limit = 2})), (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(Seqs(store_->Audit({.user = "kim", .limit = 10})), (std::vector<std::uint64_t>{1, 4}));
  EXPECT_EQ(Seqs(store_->Audit({.since = TimePoint{200}, .limit = 10})), (std::vector<std::uint64_t>{3, 4}));
  EXPECT_EQ(Seqs(store_->Audit({.since = TimePoint{101}, .user = "kim", .after = 2, .limit = 10})),
            (std::vector<std::uint64_t>{4}));
  EXPECT_EQ(Seqs(store_->Audit({.since = TimePoint{301}, .limit = 10})), std::vector<std::uint64_t>{});
  EXPECT_EQ(store_->LastHistory().value(), 1u);
}

// Old rows go from the beginning, and where the rest begins is known; the newest stays, for the chain goes on from it.
TEST_P(StoreContract, TheTrailGoesByItsAgeAndSaysWhereItBegins) {
  EXPECT_EQ(store_->AuditBase().value(), AuditEnd{});
  EXPECT_EQ(store_->PruneAudit(epoch_, TimePoint{1000}).value(), 0u);
  const std::vector<AuditRow> rows = {Row(1, 100, "kim"), Row(2, 200, "lee"), Row(3, 300, "kim"), Row(4, 400, "kim")};
  ASSERT_TRUE(store_->Commit(epoch_, {}, {}, rows).ok());
  EXPECT_EQ(store_->PruneAudit(epoch_, TimePoint{201}).value(), 2u);
  EXPECT_EQ(store_->PruneAudit(epoch_, TimePoint{201}).value(), 0u);
  Reopen();
  EXPECT_EQ(Seqs(store_->Audit({.limit = 10})), (std::vector<std::uint64_t>{3, 4}));
  EXPECT_EQ(store_->AuditBase().value(), (AuditEnd{2, rows[1].hash}));
  EXPECT_EQ(store_->PruneAudit(epoch_, TimePoint{1000}).value(), 1u);
  EXPECT_EQ(store_->LastAudit().value().seq, 4u);
  EXPECT_EQ(store_->PruneAudit(epoch_ + 1, TimePoint{1000}).status().reason(), "STALE_EPOCH");
}

TEST_P(StoreContract, ARowOfTheTrailIsNeverReplaced) {
  ASSERT_TRUE(store_->Commit(epoch_, {}, {}, {Row(1, 100, "kim")}).ok());
  const Status twice = store_->Commit(epoch_, {Entry(1, 1, "x")}, {}, {Row(1, 200, "lee")});
  EXPECT_EQ(twice.reason(), "STORE_CONSTRAINT") << twice.message();
  EXPECT_EQ(store_->LastHistory().value(), 0u) << "all or nothing";
  EXPECT_EQ(store_->Commit(epoch_ + 1, {}, {}, {Row(2, 200, "lee")}).reason(), "STALE_EPOCH");
  EXPECT_EQ(Seqs(store_->Audit({.limit = 10})), (std::vector<std::uint64_t>{1}));
}

}  // namespace glim::store
