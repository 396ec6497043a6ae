#include "scheduler/store/sqlite/sqlite_db.h"

#include <fmt/format.h>

#include <cerrno>

namespace glim::store {

namespace {

// A quota of the file system's is no room either; SQLite takes it for a fault of the disk.
bool IsOutOfRoom(sqlite3* db, int extended) {
  if ((extended & 0xff) != SQLITE_IOERR) return false;
  const int system = sqlite3_system_errno(db);
  return system == EDQUOT || system == ENOSPC;
}

// What the last call on this connection failed with. Also good for a null connection.
Status LastError(sqlite3* db, std::string_view doing) {
  const int extended = db ? sqlite3_extended_errcode(db) : SQLITE_NOMEM;
  const char* path = db ? sqlite3_db_filename(db, "main") : nullptr;
  const std::string message = fmt::format("{}: {}: {} (SQLite {})", path ? path : "sqlite", doing,
                                          db ? sqlite3_errmsg(db) : "out of memory", extended);
  switch (IsOutOfRoom(db, extended) ? SQLITE_FULL : extended & 0xff) {
    case SQLITE_FULL:
      return Status(StatusCode::kResourceExhausted, message)
          .WithReason("STORE_FULL")
          .WithFix("make room on the file system, or raise the database's size limit");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Status(StatusCode::kDataLoss, message)
          .WithReason("STORE_CORRUPT")
          .WithFix("restore the database from a backup");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Status(StatusCode::kUnavailable, message)
          .WithReason("STORE_BUSY")
          .WithFix("end the other program that holds the database's lock");
    case SQLITE_CONSTRAINT: return Status(StatusCode::kInternal, message).WithReason("STORE_CONSTRAINT");
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return Status(StatusCode::kUnavailable, message)
          .WithReason("STORE_IO")
          .WithFix("check the disk, the file's owner and its permissions");
    case SQLITE_NOMEM: return Status(StatusCode::kResourceExhausted, message).WithReason("STORE_MEMORY");
    default: return Status(StatusCode::kInternal, message).WithReason("STORE_SQL");
  }
}

// Enough of a statement to know it by.
std::string_view Head(std::string_view sql) { return sql.substr(0, 60); }

}  // namespace

Result<bool> SqliteStatement::Step() {
  const int rc = sqlite3_step(statement_.get());
  if (rc == SQLITE_ROW) return true;
  if (rc == SQLITE_DONE) {
    sqlite3_reset(statement_.get());
    return false;
  }
  Status status = LastError(sqlite3_db_handle(statement_.get()), Head(sqlite3_sql(statement_.get())));
  sqlite3_reset(statement_.get());
  return status;
}

void SqliteStatement::Reset() { sqlite3_reset(statement_.get()); }

std::string_view SqliteStatement::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

Result<std::unique_ptr<SqliteDb>> SqliteDb::Open(const std::string& path) {
  auto db = std::make_unique<SqliteDb>();
  sqlite3* raw = nullptr;
  const int rc =
      sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  db->db_.reset(raw);  // also after a failure: it holds the message
  if (rc != SQLITE_OK) return LastError(raw, "open " + path);
  return db;
}

Status SqliteDb::Exec(const char* sql) {
  if (sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return Status::Ok();
  return LastError(db_.get(), Head(sql));
}

Result<SqliteStatement> SqliteDb::Prepare(const char* sql) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v3(db_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &raw, nullptr) != SQLITE_OK) {
    return LastError(db_.get(), Head(sql));
  }
  SqliteStatement statement;
  statement.statement_.reset(raw);
  return statement;
}

Result<std::int64_t> SqliteDb::QueryInt(const char* sql) {
  auto statement = Prepare(sql);
  if (!statement.ok()) return statement.status();
  auto row = statement->Step();
  if (!row.ok()) return row.status();
  if (!*row) return Status(StatusCode::kInternal, fmt::format("no result: {}", sql)).WithReason("STORE_SQL");
  return statement->Int(0);
}

Result<std::string> SqliteDb::QueryText(const char* sql) {
  auto statement = Prepare(sql);
  if (!statement.ok()) return statement.status();
  auto row = statement->Step();
  if (!row.ok()) return row.status();
  if (!*row) return Status(StatusCode::kInternal, fmt::format("no result: {}", sql)).WithReason("STORE_SQL");
  return std::string(statement->Text(0));
}

SqliteTransaction::~SqliteTransaction() {
  // SQLite rolls back by itself on some errors; a rollback that fails leaves nothing that a reopening would keep.
  if (db_.in_transaction()) (void)db_.Exec("ROLLBACK");
}

}  // namespace glim::store
