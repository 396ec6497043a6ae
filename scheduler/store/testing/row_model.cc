#include "scheduler/store/testing/row_model.h"

#include <gtest/gtest.h>

#include "scheduler/core/model/stored_rows.h"
#include "scheduler/store/testing/rows.h"

namespace glim::store {

using core::AttemptId;
using core::JobId;
using core::NodeId;
using core::TaskId;

namespace {

template <typename Row>
core::Mutation PutOrErase(Rng& rng, std::map<core::RowId<Row>, Row>& rows, const Row& row) {
  const auto& id = core::IdOf(row);
  if (rng.OneIn(3)) {
    rows.erase(id);
    return core::Deleted<Row>{id};
  }
  return Put(rows[id] = row);
}

template <typename Rows, typename Table>
void ExpectRows(const Rows& rows, const Table& table) {
  ASSERT_EQ(table.size(), rows.size());
  for (const auto& [id, row] : rows) {
    ASSERT_NE(table.Find(id), nullptr);
    ASSERT_EQ(*table.Find(id), row);
  }
}

}  // namespace

void RowModel::ExpectEqual(const core::ClusterState& state) const {
  const auto& tables = state.tables();
  ASSERT_EQ(tables.jobs.size(), jobs.size());
  for (const auto& [id, row] : jobs) {
    ASSERT_NE(state.FindJob(id), nullptr);
    ASSERT_TRUE(SameJob(*state.FindJob(id), row)) << id.value;
  }
  ASSERT_NO_FATAL_FAILURE(ExpectRows(attempts, tables.attempts));
  ASSERT_NO_FATAL_FAILURE(ExpectRows(tasks, tables.tasks));
  ASSERT_NO_FATAL_FAILURE(ExpectRows(nodes, tables.nodes));
  ASSERT_NO_FATAL_FAILURE(ExpectRows(reservations, tables.reservations));
  ASSERT_NO_FATAL_FAILURE(ExpectRows(budgets, tables.budgets));
  ASSERT_EQ(state.accounts(), accounts);
  ASSERT_EQ(state.index(), state.RebuildIndex());
}

std::vector<core::Mutation> DeletionOf(const RowModel& model, JobId job) {
  std::vector<core::Mutation> gone;
  for (const auto& [id, row] : model.tasks) {
    if (id.attempt.job == job) gone.push_back(core::Deleted<core::Task>{id});
  }
  for (const auto& [id, row] : model.attempts) {
    if (id.job == job) gone.push_back(core::Deleted<core::Attempt>{id});
  }
  gone.push_back(core::Deleted<core::Job>{job});
  return gone;
}

core::Mutation RandomMutation(Rng& rng, RowModel& model) {
  const JobId job_id(static_cast<std::uint64_t>(rng.Between(1, 8)));
  const AttemptId attempt_id{job_id, static_cast<std::uint32_t>(rng.Between(1, 3))};
  const TaskId task_id{attempt_id, static_cast<std::uint32_t>(rng.Between(0, 2))};
  const auto kind = rng.Between(0, 12);
  const std::string name = "r" + std::to_string(rng.Between(1, 4));
  if (kind == 12) return PutOrErase(rng, model.budgets, RandomBudget(rng, {name}));
  if (kind == 11) return PutOrErase(rng, model.reservations, RandomReservation(rng, name));
  if (kind == 10) {
    const core::AccountChange change = RandomAccountChange(rng);
    model.accounts.Change(change);
    return change;
  }
  if (kind <= 2) {
    const auto row = RandomNode(rng, NodeId(static_cast<std::uint32_t>(rng.Between(1, 5))));
    return Put(model.nodes[row.id] = row);
  }
  if (kind == 3) {
    model.history.push_back(RandomHistory(rng, job_id));
    return model.history.back();
  }
  if (kind <= 6 && model.attempts.contains(attempt_id)) {
    return Put(model.tasks[task_id] = RandomTask(rng, task_id));
  }
  if (kind <= 8 && model.jobs.contains(job_id)) {
    return Put(model.attempts[attempt_id] = RandomAttempt(rng, attempt_id));
  }
  return Put(model.jobs[job_id] = RandomJob(rng, job_id));
}

}  // namespace glim::store
