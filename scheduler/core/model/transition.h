// What an event did: rows to store, wishes to carry out after the commit, and the answer to whoever asked.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "scheduler/core/model/history.h"
#include "scheduler/core/model/stored_rows.h"
#include "sdk/base/status.h"

namespace glim::core {

// The highest ids given out: a deleted row must not free its id.
struct PutIds {
  JobId next_job;
  NodeId next_node;
};

template <typename... Rows>
using MutationOf =
    std::variant<std::shared_ptr<const Rows>..., Deleted<Rows>..., AccountChange, IdentityChange, HistoryEntry, PutIds>;
using Mutation = StoredRows<MutationOf>;

struct Reply {
  Status status;
  std::vector<JobId> jobs;         // of a submission
  NodeId node;                     // of a connection
  std::string state;               // of a cancel, suspend, resume, return; of labels "now" or "at_release"
  std::uint32_t nodes = 0;         // of a resolved outage: judged lost
  std::vector<std::string> words;  // of an update: what became of it
};

struct Transition {
  std::vector<Mutation> mutations;  // in order; later ones of the same row win
  std::set<NodeId> sync;            // idempotent wish: send these nodes their desired state
  Reply reply;
};

}  // namespace glim::core
