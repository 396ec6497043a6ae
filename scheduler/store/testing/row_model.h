// Rows by key, written independently of any store, and random mutations of them: what a store must give back.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/transition.h"
#include "sdk/base/rng.h"

namespace glim::store {

template <typename Row>
core::Mutation Put(const Row& row) {
  return std::make_shared<const Row>(row);
}

struct RowModel {
  std::map<core::JobId, core::Job> jobs;
  std::map<core::AttemptId, core::Attempt> attempts;
  std::map<core::TaskId, core::Task> tasks;
  std::map<core::NodeId, core::Node> nodes;
  core::Accounts accounts;
  std::map<std::string, core::Reservation> reservations;
  std::map<core::BudgetId, core::Budget> budgets;
  std::vector<core::HistoryEntry> history;

  void Delete(core::JobId id) {
    jobs.erase(id);
    std::erase_if(attempts, [&](const auto& entry) { return entry.first.job == id; });
    std::erase_if(tasks, [&](const auto& entry) { return entry.first.attempt.job == id; });
  }

  // As an assertion of the test that runs.
  void ExpectEqual(const core::ClusterState& state) const;
};

// The deletion of a job with what it owns.
std::vector<core::Mutation> DeletionOf(const RowModel& model, core::JobId job);

// Changes the model by one random mutation and returns it.
core::Mutation RandomMutation(Rng& rng, RowModel& model);

}  // namespace glim::store
