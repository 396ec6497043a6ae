// PostgreSQL takes the contract suite, and what is particular to it.
#include "scheduler/store/postgres/postgres_store.h"

#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "scheduler/store/postgres/postgres_arrays.h"
#include "scheduler/store/postgres/postgres_commit.h"
#include "scheduler/store/testing/old_store.h"
#include "scheduler/store/testing/postgres_server.h"
#include "scheduler/store/testing/store_contract.h"

namespace glim::store {
namespace {

class PostgresPlace final : public StorePlace {
 public:
  Result<std::unique_ptr<Store>> Open() override {
    auto opened = PostgresStore::Open(schema_.ConnInfo());
    if (!opened.ok()) return opened.status();
    return std::unique_ptr<Store>(std::move(opened).value());
  }

 private:
  TestSchema schema_;
};

INSTANTIATE_TEST_SUITE_P(Server, StoreContract,
                         testing::Values(StoreKind{"postgres", [] { return std::make_unique<PostgresPlace>(); }}),
                         KindName);

TEST(PostgresStore, TwoSchedulersMayMigrateAtOnce) {
  const TestSchema schema;
  const std::string conninfo = schema.ConnInfo();
  Status statuses[3];
  {
    std::vector<std::jthread> threads;
    for (Status& status : statuses) {
      threads.emplace_back([&] { status = PostgresStore::Open(conninfo).status(); });
    }
  }
  for (const Status& status : statuses) EXPECT_TRUE(status.ok()) << status.message();
}

TEST(PostgresStore, ANewerDatabaseIsRefused) {
  const TestSchema schema;
  const std::string conninfo = schema.ConnInfo();
  ASSERT_TRUE(PostgresStore::Open(conninfo).ok());
  schema.Execute("INSERT INTO schema_migrations VALUES (999, 'of_tomorrow')");
  EXPECT_EQ(PostgresStore::Open(conninfo).status().reason(), "STORE_TOO_NEW");
}

TEST(PostgresStore, AnOlderDatabaseIsTakenOverWithEachOfItsRows) {
  const TestSchema schema;
  // Its session fails afterwards, for this program's statements need the newer table.
  (void)PostgresStore::Open(schema.ConnInfo(), {.retry = {}, .migrations = PostgresMigrations().first(kOldVersion)});
  schema.Execute(OldRows());
  auto store = PostgresStore::Open(schema.ConnInfo());
  ASSERT_TRUE(store.ok()) << store.status().message();
  ASSERT_NO_FATAL_FAILURE(ExpectOldRows(*(*store)->Load().value()));
  const auto epoch = (*store)->AcquireEpoch().value();
  AuditRow row;
  row.seq = 1;
  row.outcome = "ok";
  ASSERT_TRUE((*store)->Commit(epoch, {Entry(1, 1, "x"), core::Deleted<core::Reservation>{"week"}}, {}, {row}).ok());
  EXPECT_EQ((*store)->LastAudit().value().seq, 1u);
  EXPECT_TRUE((*store)->Load().value()->tables().reservations.empty());
}

TEST(PostgresStore, ABrokenMigrationIsUndone) {
  const TestSchema schema;
  static constexpr Migration kAll[] = {{1, "first", "CREATE TABLE one (x int)"},
                                       {2, "broken", "CREATE TABLE two (x int); CREATE TABEL three (x int)"}};
  const auto opened = PostgresStore::Open(schema.ConnInfo(), {.retry = {}, .migrations = kAll});
  EXPECT_EQ(opened.status().reason(), "STORE_SQL") << opened.status().message();
  pqxx::connection connection(schema.ConnInfo());
  pqxx::nontransaction query(connection);
  EXPECT_EQ(query.exec1("SELECT max(version) FROM schema_migrations")[0].as<int>(), 1);
  EXPECT_TRUE(query.exec1("SELECT to_regclass('two')")[0].is_null());
}

TEST(PostgresStore, ADatabaseOfAnotherEncodingIsRefused) {
  const TestSchema schema;
  schema.Execute("CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0");
  const auto opened = PostgresStore::Open("host=" + SharedPostgres().directory() + " user=postgres dbname=ascii");
  EXPECT_EQ(opened.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(opened.status().reason(), "STORE_FOREIGN");
}

TEST(PostgresStore, ARoleWithoutRightsIsToldSo) {
  const TestSchema schema;
  schema.Execute("CREATE ROLE weak LOGIN");
  schema.Execute("DO $$ BEGIN EXECUTE 'GRANT USAGE ON SCHEMA ' || current_schema() || ' TO weak'; END $$");
  const auto opened = PostgresStore::Open(schema.ConnInfo("weak"));
  EXPECT_EQ(opened.status().code(), StatusCode::kPermissionDenied) << opened.status().message();
  EXPECT_EQ(opened.status().reason(), "STORE_DENIED");
}

TEST(PostgresStore, ACommitIsSynchronousEvenIfTheServerIsNot) {
  const TestSchema schema;
  schema.Execute("CREATE ROLE lazy LOGIN SUPERUSER; ALTER ROLE lazy SET synchronous_commit = off");
  auto store = PostgresStore::Open(schema.ConnInfo("lazy"));
  ASSERT_TRUE(store.ok()) << store.status().message();
  // Told by the database itself: a trigger keeps what the committing session had set.
  schema.Execute(
      "CREATE TABLE seen (setting text);"
      "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$;"
      "CREATE TRIGGER noted AFTER INSERT ON history FOR EACH ROW EXECUTE FUNCTION note()");
  ASSERT_TRUE((*store)->Commit((*store)->AcquireEpoch().value(), {core::HistoryEntry{}}).ok());
  pqxx::connection connection(schema.ConnInfo());
  EXPECT_EQ(pqxx::nontransaction(connection).exec1("SELECT setting FROM seen")[0].as<std::string>(), "on");
}

TEST(PostgresCommit, IsOneCallUnlessItIsTooLarge) {
  const PostgresWrite rows{"put_rows", {"{job}", "{1}", "{body}"}};
  const PostgresWrite history{"add_history", {"{1}", "{k}", "{1}", "{0}", "{0}", "{t}", "{f}"}};
  EXPECT_EQ(InCalls({}, {}).size(), 1u);
  const auto one = InCalls({rows, history}, core::PutIds{core::JobId(7), core::NodeId(3)});
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].params[2], "t");
  EXPECT_EQ(one[0].params[3], "7");
  EXPECT_EQ(one[0].params[7], "{job}");
  EXPECT_EQ(one[0].params[9], "{body}");
  EXPECT_EQ(one[0].params[16], "{f}");
  EXPECT_EQ(one[0].params[17], "{}");

  const auto large = InCalls({rows, rows, history}, {});
  ASSERT_EQ(large.size(), 2u);
  EXPECT_EQ(large[0].params[2], "f");
  EXPECT_EQ(large[1].params[2], "t") << "the last one counts the commit";
}

TEST(PostgresStore, ABatchOfManyMegabytesIsOneCommit) {
  const TestSchema schema;
  auto store = PostgresStore::Open(schema.ConnInfo());
  ASSERT_TRUE(store.ok()) << store.status().message();
  std::vector<core::Mutation> batch;
  for (std::uint64_t id = 1; id <= 4; ++id) {
    core::Job job;
    job.id = core::JobId(id);
    job.spec = std::make_shared<core::JobSpec>();
    job.message = std::string(5 << 20, 'x');
    batch.emplace_back(std::make_shared<const core::Job>(job));
  }
  const auto epoch = (*store)->AcquireEpoch().value();
  ASSERT_TRUE((*store)->Commit(epoch, batch).ok());
  EXPECT_EQ((*store)->Load().value()->tables().jobs.size(), 4u);
  pqxx::connection connection(schema.ConnInfo());
  EXPECT_EQ(pqxx::nontransaction(connection).exec1("SELECT value FROM meta WHERE key = 'commits'")[0].as<int>(), 1);
}

TEST(PostgresArrays, QuotesAndSplits) {
  std::vector<PostgresWrite> writes;
  {
    PostgresArrays rows("put", writes, 40);
    rows.Row(std::int64_t{-1}, "a\"b\\c");
    rows.Row(std::uint32_t{7}, "");
    rows.Row(1, std::string(50, 'x'));
    rows.Row(2, "NULL");
  }
  ASSERT_EQ(writes.size(), 2u);
  EXPECT_EQ(writes[0].params[0], "{-1,7,1}");
  EXPECT_EQ(writes[0].params[1], "{\"a\\\"b\\\\c\",\"\",\"" + std::string(50, 'x') + "\"}");
  EXPECT_EQ(writes[1].params[0], "{2}");
  EXPECT_EQ(writes[1].params[1], "{\"NULL\"}");
  writes.clear();
  { PostgresArrays none("put", writes); }
  EXPECT_TRUE(writes.empty());
}

}  // namespace
}  // namespace glim::store
