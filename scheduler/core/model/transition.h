// What an event did: rows to store, wishes to carry out after the commit, and the answer to whoever asked.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "scheduler/core/model/accounts.h"
#include "scheduler/core/model/history.h"
#include "scheduler/core/model/identity.h"
#include "scheduler/core/model/learnt_rows.h"
#include "scheduler/core/model/reservation.h"
#include "scheduler/core/model/rows.h"
#include "sdk/base/status.h"

namespace glim::core {

struct DeleteJob {
  JobId id;
};  // with its attempts and tasks
struct DeleteNode {
  NodeId id;
};
// The highest ids given out: a deleted row must not free its id.
struct PutIds {
  JobId next_job;
  NodeId next_node;
};

// An ended attempt of a job that goes on: its tasks, and unless `tasks_alone` its own row.
struct DeleteAttempt {
  AttemptId id;
  bool tasks_alone = false;
};
struct DeleteShare {
  ShareId id;
};
struct DeleteLifeTable {
  LifeTableId id;
};
struct DeleteReservation {
  std::string name;
};

using Mutation =
    std::variant<std::shared_ptr<const Job>, std::shared_ptr<const Attempt>, std::shared_ptr<const Task>,
                 std::shared_ptr<const Node>, DeleteJob, DeleteNode, PutIds, HistoryEntry, std::shared_ptr<const Share>,
                 std::shared_ptr<const LifeTable>, DeleteAttempt, DeleteShare, DeleteLifeTable, AccountChange,
                 IdentityChange, std::shared_ptr<const Reservation>, DeleteReservation>;

struct Reply {
  Status status;
  std::vector<JobId> jobs;  // of a submission
  NodeId node;              // of a connection
  std::string state;        // of a cancel, suspend, resume, return; of labels "now" or "at_release"
  std::uint32_t nodes = 0;  // of a resolved outage: judged lost
};

struct Transition {
  std::vector<Mutation> mutations;  // in order; later ones of the same row win
  std::set<NodeId> sync;            // idempotent wish: send these nodes their desired state
  Reply reply;
};

}  // namespace glim::core
