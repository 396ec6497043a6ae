#include "scheduler/store/migrations/migration.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/store/sqlite/sqlite_db.h"
#include "scheduler/store/sqlite/sqlite_store.h"
#include "scheduler/store/testing/temp_dir.h"

namespace glim::store {
namespace {

using testing::HasSubstr;

TEST(Migration, EveryDialectCountsFromOneWithoutGaps) {
  for (const auto all : {SqliteMigrations(), PostgresMigrations()}) {
    ASSERT_FALSE(all.empty());
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].version, static_cast<int>(i) + 1);
      EXPECT_THAT(all[i].sql, HasSubstr(";"));
    }
  }
  EXPECT_EQ(SqliteMigrations().size(), PostgresMigrations().size());
  EXPECT_STREQ(SqliteMigrations()[0].name, "initial");
}

TEST(Migration, OnlyTheMissingOnesArePending) {
  static constexpr Migration kAll[] = {{1, "a", ""}, {2, "b", ""}, {3, "c", ""}};
  EXPECT_EQ(PendingMigrations(kAll, 0)->size(), 3u);
  EXPECT_EQ(PendingMigrations(kAll, 2).value()[0].version, 3);
  EXPECT_TRUE(PendingMigrations(kAll, 3)->empty());
  const Status newer = PendingMigrations(kAll, 4).status();
  EXPECT_EQ(newer.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(newer.reason(), "STORE_TOO_NEW");
  EXPECT_THAT(newer.message(), HasSubstr("version 4"));
}

constexpr Migration kFirst{1, "first", "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT); CREATE TABLE one (x)"};
constexpr Migration kBroken{2, "broken", "CREATE TABLE two (x); CREATE TABEL three (x)"};

TEST(Migration, ABrokenOneIsUndoneAndTheEarlierOnesStay) {
  const TempDir dir;
  static constexpr Migration kAll[] = {kFirst, kBroken};
  const auto opened = SqliteStore::Open(dir.File("s.db"), {.migrations = kAll});
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.status().message(), HasSubstr("TABEL"));
  auto db = SqliteDb::Open(dir.File("s.db"));
  ASSERT_TRUE(db.ok());
  EXPECT_EQ((*db)->QueryInt("SELECT max(version) FROM schema_migrations").value(), 1);
  EXPECT_EQ((*db)->QueryInt("SELECT count(*) FROM sqlite_schema WHERE name = 'one'").value(), 1);
  EXPECT_EQ((*db)->QueryInt("SELECT count(*) FROM sqlite_schema WHERE name = 'two'").value(), 0);
}

TEST(Migration, ANewerDatabaseIsRefusedAndLeftAlone) {
  const TempDir dir;
  ASSERT_TRUE(SqliteStore::Open(dir.File("s.db")).ok());
  {
    auto db = SqliteDb::Open(dir.File("s.db"));
    ASSERT_TRUE(db.ok());
    ASSERT_TRUE((*db)->Exec("INSERT INTO schema_migrations VALUES (999, 'of_tomorrow')").ok());
  }
  const auto refused = SqliteStore::Open(dir.File("s.db"));
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.status().reason(), "STORE_TOO_NEW");
}

TEST(Migration, AnOlderDatabaseIsBroughtUp) {
  const TempDir dir;
  ASSERT_TRUE(SqliteStore::Open(dir.File("s.db")).ok());
  std::vector<Migration> more(SqliteMigrations().begin(), SqliteMigrations().end());
  more.push_back({static_cast<int>(more.size()) + 1, "adds", "ALTER TABLE rows ADD COLUMN rack TEXT"});
  ASSERT_TRUE(SqliteStore::Open(dir.File("s.db"), {.migrations = more}).ok());
  ASSERT_TRUE(SqliteStore::Open(dir.File("s.db"), {.migrations = more}).ok()) << "not applied twice";
  auto db = SqliteDb::Open(dir.File("s.db"));
  EXPECT_EQ((*db)->QueryInt("SELECT count(*) FROM schema_migrations").value(), static_cast<int>(more.size()));
  EXPECT_TRUE((*db)->Exec("SELECT rack FROM rows").ok());
}

}  // namespace
}  // namespace glim::store
