// A thin skin over SQLite's C interface: a connection, prepared statements, transactions that roll back by themselves,
// and errors as Status. One thread; a statement or transaction must not outlive its connection. Nothing throws.
//
// Reasons: STORE_FULL (kResourceExhausted), STORE_CORRUPT (kDataLoss), STORE_IO and STORE_BUSY (kUnavailable),
// STORE_CONSTRAINT (kInternal).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <sqlite3.h>

#include "sdk/base/result.h"

namespace glim::store {

class SqliteStatement {
 public:
  SqliteStatement() = default;

  // Binds the arguments (integers, text) to ?1, ?2 ... Text is not copied: it must live until the next Reset or Run.
  template <typename... Args>
  void Bind(const Args&... args) {
    int index = 0;
    (BindOne(++index, args), ...);
  }
  // True: a row is there; false: done. After false or an error the statement is reset.
  Result<bool> Step();
  void Reset();

  // Binds and steps to the end; for statements that return nothing.
  template <typename... Args>
  Status Run(const Args&... args) {
    Bind(args...);
    auto row = Step();
    Reset();
    return row.status();
  }

  // Of the present row; text is valid until the next Step or Reset.
  std::int64_t Int(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  std::uint64_t Unsigned(int column) const { return static_cast<std::uint64_t>(Int(column)); }
  std::string_view Text(int column) const;

 private:
  friend class SqliteDb;

  template <typename T>
  void BindOne(int index, const T& value) {
    if constexpr (std::is_integral_v<T>) {
      sqlite3_bind_int64(statement_.get(), index, static_cast<sqlite3_int64>(value));
    } else {
      const std::string_view text(value);
      sqlite3_bind_text64(statement_.get(), index, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
    }
  }

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class SqliteDb {
 public:
  // Opens an existing file for reading and writing.
  static Result<std::unique_ptr<SqliteDb>> Open(const std::string& path);

  // One or several statements without results.
  Status Exec(const char* sql);
  // A statement with one integer or text result.
  Result<std::int64_t> QueryInt(const char* sql);
  Result<std::string> QueryText(const char* sql);
  Result<SqliteStatement> Prepare(const char* sql);

  std::int64_t changes() const { return sqlite3_changes64(db_.get()); }
  bool in_transaction() const { return sqlite3_get_autocommit(db_.get()) == 0; }

 private:
  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
  };
  std::unique_ptr<sqlite3, Close> db_;
};

// BEGIN IMMEDIATE ... COMMIT; what was not committed is rolled back at the end of its life.
class SqliteTransaction {
 public:
  explicit SqliteTransaction(SqliteDb& db) : db_(db) {}
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;
  ~SqliteTransaction();

  Status Begin() { return db_.Exec("BEGIN IMMEDIATE"); }
  Status Commit() { return db_.Exec("COMMIT"); }

 private:
  SqliteDb& db_;
};

}  // namespace glim::store
