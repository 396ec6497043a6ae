// Numbered changes of the schema, embedded from migrations/<dialect>/NNNN_name.sql. Each is applied in a transaction of
// its own together with its row in schema_migrations; one that was released is never edited.
#pragma once

#include <span>

#include "sdk/base/result.h"

namespace glim::store {

struct Migration {
  int version = 0;  // 1, 2, 3 ... without gaps
  const char* name = "";
  const char* sql = "";
};

std::span<const Migration> SqliteMigrations();
std::span<const Migration> PostgresMigrations();

// Those still to apply to a database of that version (0: empty). A database from a newer binary is refused
// (kFailedPrecondition, STORE_TOO_NEW): an old one cannot know what its rows mean by now.
Result<std::span<const Migration>> PendingMigrations(std::span<const Migration> all, int version);

// In every dialect.
inline constexpr const char* kCreateMigrationsTable =
    "CREATE TABLE IF NOT EXISTS schema_migrations (version integer NOT NULL PRIMARY KEY, name text NOT NULL)";
inline constexpr const char* kSelectVersion = "SELECT coalesce(max(version), 0) FROM schema_migrations";
// The kinds that there are rows of, each once: one look into the key's index a kind.
inline constexpr const char* kSelectKinds =
    "WITH RECURSIVE kinds (kind) AS (SELECT min(kind) FROM rows UNION ALL "
    "SELECT (SELECT min(rows.kind) FROM rows WHERE rows.kind > kinds.kind) FROM kinds WHERE kinds.kind IS NOT NULL) "
    "SELECT kind FROM kinds WHERE kind IS NOT NULL";

}  // namespace glim::store
