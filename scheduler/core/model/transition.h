// What an event did: rows to store, wishes to carry out after the commit, and the answer to whoever asked.
#pragma once

#include <memory>
#include <set>
#include <variant>
#include <vector>

#include "scheduler/core/model/accounts.h"
#include "scheduler/core/model/history.h"
#include "scheduler/core/model/rows.h"
#include "sdk/base/status.h"

namespace glim::core {

struct DeleteJob {
  JobId id;
};  // with its attempts and tasks
// The highest ids given out: a deleted row must not free its id.
struct PutIds {
  JobId next_job;
  NodeId next_node;
};

using Mutation = std::variant<std::shared_ptr<const Job>, std::shared_ptr<const Attempt>, std::shared_ptr<const Task>,
                              std::shared_ptr<const Node>, DeleteJob, PutIds, HistoryEntry, AccountChange>;

struct Reply {
  Status status;
  std::vector<JobId> jobs;  // of a submission
  NodeId node;              // of a connection
  std::string state;        // of a cancel, suspend, resume, return
};

struct Transition {
  std::vector<Mutation> mutations;  // in order; later ones of the same row win
  std::set<NodeId> sync;            // idempotent wish: send these nodes their desired state
  Reply reply;
};

}  // namespace glim::core
