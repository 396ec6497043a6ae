// A commit's way to PostgreSQL: one call of the stored function glim_commit (migrations/postgres), which checks the
// fence and writes; several calls in one transaction where the batch is too large for one. One thread. Throws what
// pqxx throws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <pqxx/pqxx>

#include "scheduler/core/model/transition.h"
#include "scheduler/store/postgres/postgres_arrays.h"

namespace glim::store {

// What keeps a leader that lost its place, or whose database lost its last commits, from writing.
struct PostgresFence {
  std::uint64_t epoch = 0;
  std::uint64_t commits = 0;  // done so far, over all leaders
  friend bool operator==(const PostgresFence&, const PostgresFence&) = default;
};

// The one call that a commit is, as it is prepared.
inline constexpr const char* kCommitStatement = "glim_commit";
std::string CommitSql();

// The writes, in their order, as calls of glim_commit: at least one.
std::vector<PostgresWrite> InCalls(std::vector<PostgresWrite> writes, const std::optional<core::PutIds>& ids);

// Writes if the fence is as `expected`; either way returns the fence as it was found.
PostgresFence SendCommit(pqxx::connection& connection, const PostgresFence& expected,
                         const std::vector<PostgresWrite>& calls);

}  // namespace glim::store
