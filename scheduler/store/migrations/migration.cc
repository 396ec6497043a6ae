#include "scheduler/store/migrations/migration.h"

#include <fmt/format.h>

namespace glim::store {

Result<std::span<const Migration>> PendingMigrations(std::span<const Migration> all, int version) {
  const int newest = all.empty() ? 0 : all.back().version;
  if (version > newest) {
    return Status(
               StatusCode::kFailedPrecondition,
               fmt::format("the database has schema version {}, this program knows versions up to {}", version, newest))
        .WithReason("STORE_TOO_NEW")
        .WithFix("start the newer program that wrote it, or restore a backup from before the upgrade");
  }
  return all.subspan(static_cast<std::size_t>(version));
}

}  // namespace glim::store
