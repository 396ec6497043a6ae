#include "scheduler/store/open_store.h"

#include <optional>
#include <utility>

#include "scheduler/store/memory/memory_store.h"
#include "scheduler/store/postgres/postgres_store.h"
#include "scheduler/store/postgres/postgres_version.h"
#include "scheduler/store/sqlite/sqlite_store.h"

namespace glim::store {

namespace {

constexpr const char* kSqlite = "sqlite:";
constexpr const char* kPostgres = "postgres:";

Status Refused(const char* message) {
  return Status(StatusCode::kInvalidArgument, message)
      .WithReason("INVALID_CONFIG")
      .WithField("store")
      .WithFix("write memory, sqlite:/path/to/file.db or postgres:service=NAME");
}

template <typename Kind>
Result<std::unique_ptr<Store>> AsStore(Result<std::unique_ptr<Kind>> opened) {
  if (!opened.ok()) return opened.status();
  return std::unique_ptr<Store>(std::move(opened).value());
}

// What PostgresConnInfo takes; none: it is another store's.
std::optional<std::string> PostgresLocation(const std::string& url) {
  if (url.starts_with("postgres://") || url.starts_with("postgresql://")) return url;
  if (url.starts_with(kPostgres)) return url.substr(std::string(kPostgres).size());
  return url == "postgres" ? std::optional<std::string>("") : std::nullopt;
}

}  // namespace

Result<std::unique_ptr<Store>> OpenStore(const std::string& url) {
  if (url.find('\0') != std::string::npos) return Refused("the store's URL holds a NUL byte");
  if (url == "memory") return std::unique_ptr<Store>(std::make_unique<MemoryStore>());
  if (url.starts_with(kSqlite)) {
    const std::string path = url.substr(std::string(kSqlite).size());
    // SQLite would take these names for databases that are gone at the end.
    if (path.empty() || path == ":memory:") return Refused("sqlite: needs the path of a file");
    return AsStore(SqliteStore::Open(path));
  }
  if (const auto location = PostgresLocation(url)) return AsStore(PostgresStore::Open(*location));
  return Refused("the store's URL names no store");
}

Result<std::string> AskStoreVersion(const std::string& url) {
  const auto location = PostgresLocation(url);
  return location ? AskPostgresVersion(*location) : Refused("the store is no PostgreSQL database");
}

}  // namespace glim::store
