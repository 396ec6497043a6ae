// What a list of mutations comes to: the last write of every row, in the order in which any store may carry it out:
// what is deleted first, then nodes, jobs, attempts, tasks by key, then history.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/core/model/transition.h"
#include "sdk/base/status.h"

namespace glim::store {

// Points into the mutations that it was made from and must not outlive them.
struct CommitBatch {
  std::set<core::JobId> deleted_jobs;          // with attempts and tasks; a job may be put again by the same batch
  std::set<core::AttemptId> deleted_attempts;  // with their tasks
  std::set<core::AttemptId> deleted_tasks;     // of these attempts, whose own rows stay
  std::set<core::ShareId> deleted_shares;
  std::set<core::LifeTableId> deleted_life_tables;
  std::set<core::NodeId> deleted_nodes;  // no node gets the number of another
  std::map<core::NodeId, const core::Node*> nodes;
  std::map<core::JobId, const core::Job*> jobs;
  std::map<core::AttemptId, const core::Attempt*> attempts;
  std::map<core::TaskId, const core::Task*> tasks;
  std::map<core::ShareId, const core::Share*> shares;
  std::map<core::LifeTableId, const core::LifeTable*> life_tables;
  // Users, teams and quotas; null: the row goes.
  std::map<core::AccountKey, const core::AccountRow*> accounts;
  // Tokens, nodes' identities, sealed keys and secrets; likewise.
  std::map<core::IdentityKey, const core::IdentityRow*> identity;
  std::map<std::string, const core::Reservation*> reservations;  // null: the row goes
  std::vector<const core::HistoryEntry*> history;                // in order
  std::optional<core::PutIds> ids;                               // the highest
};

CommitBatch Coalesce(const std::vector<core::Mutation>& mutations);

// The refusal of a commit under an epoch that is not the newest.
Status StaleEpoch(std::uint64_t given, std::uint64_t newest);

}  // namespace glim::store
