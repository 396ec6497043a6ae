#include "scheduler/store/postgres/postgres_commit.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sdk/base/check.h"

namespace glim::store {

namespace {

using pqxx::prepare::make_dynamic_params;

// The function's parameters: epoch, commits, last, next_job, next_node, then each write's columns in this order.
constexpr std::size_t kLast = 2;
constexpr std::size_t kNextJob = 3;
constexpr std::size_t kNextNode = 4;
constexpr std::size_t kFirstColumn = 5;
struct Place {
  std::string_view statement;
  std::string_view columns;  // a letter each: (n)umbers or (t)exts
};
constexpr std::array<Place, 5> kPlaces = {{{"delete_rows", "tt"},
                                           {"put_rows", "ttt"},
                                           {"add_history", "ntnnntt"},
                                           {"put_ended_jobs", "nnttt"},
                                           {"add_audit", "nnttt"}}};
constexpr std::size_t kParams = [] {
  std::size_t params = kFirstColumn;
  for (const Place& place : kPlaces) params += place.columns.size();
  return params;
}();

// Of the statement's first column.
std::size_t PlaceOf(std::string_view statement) {
  std::size_t first = kFirstColumn;
  for (const Place& place : kPlaces) {
    if (place.statement == statement) return first;
    first += place.columns.size();
  }
  GLIM_CHECK(false, "glim_commit has no place for " + std::string(statement));
  return first;
}

PostgresWrite EmptyCall() {
  PostgresWrite call{kCommitStatement, std::vector<std::string>(kParams, "{}")};
  call.params[kLast] = "f";
  call.params[kNextJob] = call.params[kNextNode] = "0";
  return call;
}

}  // namespace

std::string CommitSql() {
  std::string sql =
      "SELECT found_epoch, found_commits FROM glim_commit($1::bigint, $2::bigint, $3::boolean, "
      "$4::bigint, $5::bigint";
  std::size_t param = kFirstColumn;
  for (const Place& place : kPlaces) {
    for (const char type : place.columns) {
      sql += fmt::format(", ${}::{}[]", ++param, type == 'n' ? "bigint" : "text");
    }
  }
  return sql + ")";
}

std::vector<PostgresWrite> InCalls(std::vector<PostgresWrite> writes, const std::optional<core::PutIds>& ids) {
  std::vector<PostgresWrite> calls = {EmptyCall()};
  std::size_t next = 0;  // parameters of the last call before this one have their rows, or come too late for them
  for (PostgresWrite& write : writes) {
    const std::size_t first = PlaceOf(write.statement);
    if (first < next) calls.push_back(EmptyCall());
    next = first + write.params.size();
    std::move(write.params.begin(), write.params.end(),
              calls.back().params.begin() + static_cast<std::ptrdiff_t>(first));
  }
  PostgresWrite& last = calls.back();
  last.params[kLast] = "t";
  if (ids) {
    last.params[kNextJob] = std::to_string(ids->next_job.value);
    last.params[kNextNode] = std::to_string(ids->next_node.value);
  }
  return calls;
}

namespace {

PostgresFence Call(pqxx::transaction_base& transaction, const PostgresFence& expected, const PostgresWrite& call) {
  std::vector<std::string> params = call.params;
  params[0] = std::to_string(expected.epoch);
  params[1] = std::to_string(expected.commits);
  const pqxx::row row = transaction.exec_prepared1(call.statement, make_dynamic_params(params));
  return {row[0].as<std::uint64_t>(), row[1].as<std::uint64_t>()};
}

}  // namespace

PostgresFence SendCommit(pqxx::connection& connection, const PostgresFence& expected,
                         const std::vector<PostgresWrite>& calls) {
  if (calls.size() == 1) {
    // One statement is a transaction by itself: no BEGIN and no COMMIT to wait for.
    pqxx::nontransaction alone(connection);
    return Call(alone, expected, calls.front());
  }
  pqxx::work transaction(connection);
  for (const PostgresWrite& write : calls) {
    const PostgresFence found = Call(transaction, expected, write);
    if (found != expected) return found;
  }
  transaction.commit();
  return expected;
}

}  // namespace glim::store
