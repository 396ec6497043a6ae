#include "scheduler/store/postgres/postgres_commit.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace glim::store {

namespace {

using pqxx::prepare::make_dynamic_params;

// The function's parameters: epoch, commits, last, next_job, next_node, then each table's columns in this order.
constexpr std::size_t kLast = 2;
constexpr std::size_t kNextJob = 3;
constexpr std::size_t kNextNode = 4;
struct Place {
  std::string_view statement;
  std::size_t first;
  std::size_t columns;
};
constexpr std::array<Place, 14> kPlaces = {{{"delete_jobs", 5, 1},
                                            {"delete_attempts", 6, 2},
                                            {"delete_tasks", 8, 2},
                                            {"delete_shares", 10, 2},
                                            {"delete_life_tables", 12, 4},
                                            {"put_nodes", 16, 3},
                                            {"put_jobs", 19, 5},
                                            {"put_attempts", 24, 4},
                                            {"put_tasks", 28, 4},
                                            {"put_shares", 32, 3},
                                            {"put_life_tables", 35, 5},
                                            {"add_history", 40, 7},
                                            {"put_ended_jobs", 47, 5},
                                            {"add_audit", 52, 5}}};
constexpr std::size_t kParams = kPlaces.back().first + kPlaces.back().columns;

const Place* PlaceOf(std::string_view statement) {
  const auto* found =
      std::find_if(kPlaces.begin(), kPlaces.end(), [&](const Place& p) { return p.statement == statement; });
  return found == kPlaces.end() ? nullptr : found;
}

PostgresWrite EmptyCall() {
  PostgresWrite call{kCommitStatement, std::vector<std::string>(kParams, "{}")};
  call.params[kLast] = "f";
  call.params[kNextJob] = call.params[kNextNode] = "0";
  return call;
}

bool IsCall(const PostgresWrite& write) { return std::string_view(write.statement) == kCommitStatement; }

}  // namespace

std::vector<PostgresWrite> InCalls(std::vector<PostgresWrite> writes, const std::optional<core::PutIds>& ids) {
  std::vector<PostgresWrite> calls = {EmptyCall()};
  std::size_t next = 0;  // parameters of the last call before this one have their rows, or come too late for them
  for (PostgresWrite& write : writes) {
    const Place* place = PlaceOf(write.statement);
    if (!place) {
      calls.push_back(std::move(write));
      continue;
    }
    if (!IsCall(calls.back()) || place->first < next) calls.push_back(EmptyCall());
    std::move(write.params.begin(), write.params.end(),
              calls.back().params.begin() + static_cast<std::ptrdiff_t>(place->first));
    next = place->first + place->columns;
  }
  if (!IsCall(calls.back())) calls.push_back(EmptyCall());
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
    if (IsCall(write)) {
      const PostgresFence found = Call(transaction, expected, write);
      if (found != expected) return found;
    } else {
      transaction.exec_prepared(write.statement, make_dynamic_params(write.params));
    }
  }
  transaction.commit();
  return expected;
}

}  // namespace glim::store
