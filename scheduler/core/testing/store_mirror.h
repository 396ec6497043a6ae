// StoreMirror: what a store would hold after the commits. The rows that it has gathered from mutations alone must equal
// the rows of the state: then a restart loses nothing.
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/transition.h"

namespace glim::core::testing {

class StoreMirror {
 public:
  void Commit(const std::vector<Mutation>& mutations);

  // A sentence if rows, accounts, identities or ids differ; empty if none do.
  std::string Difference(const ClusterState& state) const;

  // The state that a new leader loads: rows and ids, nothing soft.
  ClusterState Load() const;

  std::int64_t Noted(HistoryKind kind) const;
  const std::vector<HistoryEntry>& history() const { return history_; }
  int commits() const { return commits_; }

 private:
  struct Apply;

  ClusterState rows_;
  PutIds ids_{JobId(1), NodeId(1)};
  std::vector<HistoryEntry> history_;
  int commits_ = 0;
};

}  // namespace glim::core::testing
