#include "scheduler/store/sqlite/sqlite_store.h"

#include <filesystem>
#include <fstream>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "scheduler/store/testing/old_store.h"
#include "scheduler/store/testing/temp_dir.h"

namespace glim::store {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

core::Mutation PutJob(std::uint64_t id, std::size_t bytes = 10) {
  auto row = std::make_shared<core::Job>();
  row->id = core::JobId(id);
  row->spec = std::make_shared<core::JobSpec>();
  row->message = std::string(bytes, 'x');
  return std::shared_ptr<const core::Job>(row);
}

std::unique_ptr<SqliteStore> MustOpen(const std::string& path, const SqliteOptions& options = {}) {
  auto store = SqliteStore::Open(path, options);
  EXPECT_TRUE(store.ok()) << store.status().message();
  return store.ok() ? std::move(store).value() : nullptr;
}

mode_t ModeOf(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

TEST(SqliteStore, ASecondSchedulerIsKeptOut) {
  const TempDir dir;
  const std::string path = dir.File("s.db");
  auto first = MustOpen(path);
  fs::create_symlink(dir.path(), dir.File("alias"));
  for (const std::string& name : {path, dir.File("alias/s.db"), dir.File("./alias/./s.db")}) {
    const auto second = SqliteStore::Open(name);
    ASSERT_FALSE(second.ok()) << name;
    EXPECT_EQ(second.status().code(), StatusCode::kFailedPrecondition);
    EXPECT_EQ(second.status().reason(), "STORE_LOCKED");
    EXPECT_THAT(second.status().message(), HasSubstr("another scheduler has this database open"));
    EXPECT_THAT(second.status().fix(), HasSubstr("none waits beside it"));  // no store makes a standby
  }
  // The refused one has not corrupt the first one's own locks.
  const auto epoch = first->AcquireEpoch();
  ASSERT_TRUE(epoch.ok());
  EXPECT_TRUE(first->Commit(*epoch, {PutJob(1)}).ok());
  first.reset();
  EXPECT_TRUE(SqliteStore::Open(path).ok());
}

TEST(SqliteStore, AnOlderDatabaseIsTakenOverWithEachOfItsRows) {
  const TempDir dir;
  const std::string path = dir.File("s.db");
  const auto older = SqliteStore::Open(path, {.migrations = SqliteMigrations().first(kOldVersion)});
  EXPECT_FALSE(older.ok()) << "this program's statements need the newer table";
  {
    auto db = SqliteDb::Open(path).value();
    ASSERT_EQ(db->QueryInt("SELECT max(version) FROM schema_migrations").value(), int{kOldVersion});
    ASSERT_TRUE(db->Exec(OldRows().c_str()).ok());
  }
  auto store = MustOpen(path);
  ASSERT_NE(store, nullptr);
  ASSERT_NO_FATAL_FAILURE(ExpectOldRows(*store->Load().value()));
  store.reset();
  auto db = SqliteDb::Open(path).value();
  EXPECT_EQ(db->QueryInt("SELECT count(*) FROM sqlite_schema WHERE name IN ('jobs', 'nodes', 'accounts')").value(), 0);
}

TEST(SqliteStore, FilesArePrivate) {
  const TempDir dir;
  const mode_t old_mask = ::umask(0);
  const std::string path = dir.File("a/b/s.db");
  auto store = MustOpen(path);
  ASSERT_TRUE(store->Commit(store->AcquireEpoch().value(), {PutJob(1)}).ok());
  EXPECT_EQ(ModeOf(dir.File("a")), 0700u);
  EXPECT_EQ(ModeOf(dir.File("a/b")), 0700u);
  for (const char* suffix : {"", "-wal", "-shm", ".lock"}) EXPECT_EQ(ModeOf(path + suffix), 0600u) << suffix;
  store.reset();
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  store = MustOpen(path);
  EXPECT_EQ(ModeOf(path), 0600u);
  ::umask(old_mask);
}

TEST(SqliteStore, WritesAheadAndSyncs) {
  const TempDir dir;
  MustOpen(dir.File("s.db"));
  auto db = SqliteDb::Open(dir.File("s.db"));
  ASSERT_TRUE(db.ok());
  EXPECT_EQ((*db)->QueryText("PRAGMA journal_mode").value(), "wal");
}

TEST(SqliteStore, RefusesWhatIsNotItsFile) {
  const TempDir dir;
  std::ofstream(dir.File("text")) << std::string(8192, 'q');
  const auto text = SqliteStore::Open(dir.File("text"));
  EXPECT_EQ(text.status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(text.status().reason(), "STORE_CORRUPT");

  std::ofstream(dir.File("foreign"));
  ASSERT_TRUE(SqliteDb::Open(dir.File("foreign")).value()->Exec("CREATE TABLE mail (subject)").ok());
  const auto foreign = SqliteStore::Open(dir.File("foreign"));
  EXPECT_EQ(foreign.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(foreign.status().reason(), "STORE_FOREIGN");

  EXPECT_EQ(SqliteStore::Open(dir.path()).status().reason(), "STORE_IO");
  EXPECT_EQ(SqliteStore::Open(dir.path() + "/").status().reason(), "STORE_IO");
  fs::create_symlink("/dev/null", dir.File("device"));
  EXPECT_EQ(SqliteStore::Open(dir.File("device")).status().reason(), "STORE_IO");
}

TEST(SqliteStore, ACorruptPageIsReportedOnLoad) {
  const TempDir dir;
  const std::string path = dir.File("s.db");
  {
    auto store = MustOpen(path);
    std::vector<core::Mutation> mutations;
    for (std::uint64_t id = 1; id <= 2000; ++id) mutations.push_back(PutJob(id));
    ASSERT_TRUE(store->Commit(store->AcquireEpoch().value(), mutations).ok());
  }
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(fs::file_size(path) / 2 / 4096 * 4096));
    file << std::string(4096 * 8, '\x5a');
  }
  auto store = MustOpen(path);
  const auto state = store->Load();
  ASSERT_FALSE(state.ok());
  EXPECT_EQ(state.status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(state.status().reason(), "STORE_CORRUPT");
}

TEST(SqliteStore, AMangledRowIsNamed) {
  const TempDir dir;
  const std::string path = dir.File("s.db");
  {
    auto store = MustOpen(path);
    ASSERT_TRUE(store->Commit(store->AcquireEpoch().value(), {PutJob(1), PutJob(2)}).ok());
  }
  const auto load_after = [&](const char* sql) {
    EXPECT_TRUE(SqliteDb::Open(path).value()->Exec(sql).ok());
    return MustOpen(path)->Load().status();
  };
  EXPECT_THAT(load_after("UPDATE rows SET body = '{}' WHERE kind = 'job' AND key = '2'").message(),
              HasSubstr("row job 2: spec"));
  EXPECT_THAT(load_after("UPDATE rows SET key = '2x' WHERE kind = 'job' AND key = '2'").message(),
              HasSubstr("row job 2x: this is no key of such a row"));
  EXPECT_EQ(load_after("UPDATE rows SET kind = 'later_kind' WHERE key = '2x'").reason(), "STORE_TOO_NEW");
  EXPECT_THAT(load_after("DELETE FROM rows; UPDATE meta SET value = 'many' WHERE key = 'next_job'").message(),
              HasSubstr("table meta, row next_job: not a number"));
  EXPECT_THAT(load_after("DELETE FROM meta WHERE key = 'next_job'").message(),
              HasSubstr("table meta, row next_job: missing"));
}

TEST(SqliteStore, AFullDatabaseRefusesWholeCommitsAndGoesOn) {
  const TempDir dir;
  const std::string path = dir.File("s.db");
  std::uint64_t committed = 0;
  {
    auto store = MustOpen(path, {.bytes_max = 1 << 20});
    const auto epoch = store->AcquireEpoch().value();
    Status status;
    while (status.ok() && committed < 1000) {
      // Two rows a commit: only the second one may find no room.
      status = store->Commit(epoch, {PutJob(2 * committed + 1, 3000), PutJob(2 * committed + 2, 30'000)});
      if (status.ok()) ++committed;
    }
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(status.reason(), "STORE_FULL");
    EXPECT_FALSE(status.fix().empty());
    EXPECT_GT(committed, 10u);
    EXPECT_EQ(store->Load().value()->tables().jobs.size(), 2 * committed);
    // Room made by a deletion is room for the next commit.
    EXPECT_TRUE(store->Commit(epoch, {core::Deleted<core::Job>{core::JobId(2)}}).ok());
    EXPECT_TRUE(store->Commit(epoch, {PutJob(2, 20'000)}).ok());
  }
  auto store = MustOpen(path);
  EXPECT_EQ(store->Load().value()->tables().jobs.size(), 2 * committed);
  EXPECT_TRUE(store->Commit(store->AcquireEpoch().value(), {PutJob(5000, 300'000)}).ok());
}

TEST(SqliteStore, AReaderBesideItDoesNotStopIt) {
  const TempDir dir;
  auto store = MustOpen(dir.File("s.db"));
  const auto epoch = store->AcquireEpoch().value();
  auto shell = SqliteDb::Open(dir.File("s.db"));
  ASSERT_TRUE(shell.ok());
  ASSERT_TRUE((*shell)->Exec("BEGIN; SELECT count(*) FROM rows").ok());
  ASSERT_TRUE(store->Commit(epoch, {PutJob(1)}).ok());
  EXPECT_EQ((*shell)->QueryInt("SELECT count(*) FROM rows").value(), 0);
  ASSERT_TRUE((*shell)->Exec("COMMIT").ok());
  EXPECT_EQ((*shell)->QueryInt("SELECT count(*) FROM rows").value(), 1);
}

}  // namespace
}  // namespace glim::store
