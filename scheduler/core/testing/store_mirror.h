// StoreMirror: what a store would hold after the commits. The rows that it has gathered from mutations alone must equal
// the rows of the state: then a restart loses nothing.
#pragma once

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "scheduler/core/cluster_state.h"
#include "scheduler/core/transition.h"

namespace glim::core::testing {

class StoreMirror {
 public:
  void Commit(const std::vector<Mutation>& mutations) {
    ++commits_;
    for (const Mutation& mutation : mutations) std::visit(Apply{*this}, mutation);
  }

  // A sentence about the first table that differs; empty if none does.
  std::string Difference(const ClusterState& state) const {
    const auto& mine = rows_.tables();
    const auto& theirs = state.tables();
    if (!Same(mine.jobs, theirs.jobs)) return "the committed jobs are not the state's";
    if (!Same(mine.attempts, theirs.attempts)) return "the committed attempts are not the state's";
    if (!Same(mine.tasks, theirs.tasks)) return "the committed tasks are not the state's";
    if (!Same(mine.nodes, theirs.nodes)) return "the committed nodes are not the state's";
    if (ids_.next_job != state.next_job_id) return "the committed job id is not the state's";
    if (ids_.next_node != state.next_node_id) return "the committed node id is not the state's";
    return "";
  }

  // The state that a new leader loads: rows and ids, nothing soft.
  ClusterState Load() const {
    ClusterState state;
    rows_.tables().jobs.ForEach([&](JobId, const Job& row) { state.Put(row); });
    rows_.tables().attempts.ForEach([&](const AttemptId&, const Attempt& row) { state.Put(row); });
    rows_.tables().tasks.ForEach([&](const TaskId&, const Task& row) { state.Put(row); });
    rows_.tables().nodes.ForEach([&](NodeId, const Node& row) { state.Put(row); });
    state.next_job_id = ids_.next_job;
    state.next_node_id = ids_.next_node;
    return state;
  }

  std::int64_t Noted(const std::string& kind) const {
    return std::count_if(history_.begin(), history_.end(), [&](const HistoryEntry& e) { return e.kind == kind; });
  }
  const std::vector<HistoryEntry>& history() const { return history_; }
  int commits() const { return commits_; }

 private:
  struct Apply {
    StoreMirror& store;
    template <typename Row>
    void operator()(const std::shared_ptr<const Row>& row) const { store.rows_.Put(*row); }
    void operator()(const DeleteJob& gone) const { store.rows_.EraseJob(gone.id); }
    void operator()(const PutIds& ids) const { store.ids_ = ids; }
    void operator()(const HistoryEntry& entry) const { store.history_.push_back(entry); }
  };

  template <typename Table>
  static bool Same(const Table& a, const Table& b) {
    if (a.size() != b.size()) return false;
    bool same = true;
    a.ForEach([&](const auto& key, const auto& row) {
      const auto* other = b.Find(key);
      same = same && other != nullptr && *other == row;
    });
    return same;
  }

  ClusterState rows_;
  PutIds ids_{JobId(1), NodeId(1)};
  std::vector<HistoryEntry> history_;
  int commits_ = 0;
};

}  // namespace glim::core::testing
