// A commit's way to PostgreSQL: one call of the stored function glim_commit (migrations/postgres), which checks the
// fence and writes; several calls in one transaction where the batch is too large for one. One thread. Throws what
// pqxx throws.
#pragma once

#include <cstdint>
#include <optional>
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
inline constexpr const char* kCommitSql =
    "SELECT found_epoch, found_commits FROM glim_commit("
    "$1::bigint, $2::bigint, $3::boolean, $4::bigint, $5::bigint, $6::bigint[], $7::bigint[], $8::bigint[], "
    "$9::bigint[], $10::bigint[], $11::text[], $12::text[], $13::bigint[], $14::text[], $15::bigint[], "
    "$16::bigint[], $17::bigint[], $18::text[], $19::text[], $20::bigint[], $21::text[], $22::text[], "
    "$23::bigint[], $24::text[], $25::bigint[], $26::bigint[], $27::text[], $28::text[], $29::bigint[], "
    "$30::bigint[], $31::bigint[], $32::text[], $33::text[], $34::text[], $35::text[], $36::bigint[], "
    "$37::text[], $38::bigint[], $39::bigint[], $40::text[], $41::bigint[], $42::text[], $43::bigint[], "
    "$44::bigint[], $45::bigint[], $46::text[], $47::text[], $48::bigint[], $49::bigint[], $50::text[], "
    "$51::text[], $52::text[], $53::bigint[], $54::bigint[], $55::text[], $56::text[], $57::text[])";

// The writes, in their order, as calls of glim_commit; a statement that the function has no place for stays one of its
// own. The first and the last are calls, so that the fence is checked first and the commit is counted last.
std::vector<PostgresWrite> InCalls(std::vector<PostgresWrite> writes, const std::optional<core::PutIds>& ids);

// Writes if the fence is as `expected`; either way returns the fence as it was found.
PostgresFence SendCommit(pqxx::connection& connection, const PostgresFence& expected,
                         const std::vector<PostgresWrite>& calls);

}  // namespace glim::store
