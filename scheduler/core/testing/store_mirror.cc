#include "scheduler/core/testing/store_mirror.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "scheduler/core/model/progress.h"

namespace glim::core::testing {
namespace {

template <typename Table>
bool Same(const Table& a, const Table& b) {
  if (a.size() != b.size()) return false;
  bool same = true;
  a.ForEach([&](const auto& key, const auto& row) {
    const auto* other = b.Find(key);
    same = same && other != nullptr && SameButProgress(*other, row);
  });
  return same;
}

}  // namespace

struct StoreMirror::Apply {
  StoreMirror& store;
  template <typename Row>
  void operator()(const std::shared_ptr<const Row>& row) const {
    store.rows_.Put(*row);
  }
  void operator()(const DeleteJob& gone) const { store.rows_.EraseJob(gone.id); }
  void operator()(const DeleteAttempt& gone) const {
    gone.tasks_alone ? store.rows_.EraseTasks(gone.id) : store.rows_.EraseAttempt(gone.id);
  }
  void operator()(const DeleteShare& gone) const { store.rows_.Erase(gone.id); }
  void operator()(const DeleteLifeTable& gone) const { store.rows_.Erase(gone.id); }
  void operator()(const DeleteReservation& gone) const { store.rows_.EraseReservation(gone.name); }
  void operator()(const DeleteNode& gone) const { store.rows_.EraseNode(gone.id); }
  void operator()(const PutIds& ids) const { store.ids_ = ids; }
  void operator()(const AccountChange& change) const {
    Accounts accounts = store.rows_.accounts();
    accounts.Change(change);
    store.rows_.SetAccounts(std::move(accounts));
  }
  void operator()(const IdentityChange& change) const { store.rows_.ChangeIdentity({change}); }
  void operator()(const HistoryEntry& entry) const { store.history_.push_back(entry); }
};

void StoreMirror::Commit(const std::vector<Mutation>& mutations) {
  ++commits_;
  for (const Mutation& mutation : mutations) std::visit(Apply{*this}, mutation);
  rows_.ForgetReplaced();
}

std::string StoreMirror::Difference(const ClusterState& state) const {
  const auto& mine = rows_.tables();
  const auto& theirs = state.tables();
  if (!Same(mine.jobs, theirs.jobs)) return "the committed jobs are not the state's";
  if (!Same(mine.attempts, theirs.attempts)) return "the committed attempts are not the state's";
  if (!Same(mine.tasks, theirs.tasks)) return "the committed tasks are not the state's";
  if (!Same(mine.nodes, theirs.nodes)) return "the committed nodes are not the state's";
  if (!Same(mine.shares, theirs.shares)) return "the committed shares are not the state's";
  if (!Same(mine.life_tables, theirs.life_tables)) return "the committed life tables are not the state's";
  if (!Same(mine.reservations, theirs.reservations)) return "the committed reservations are not the state's";
  if (rows_.accounts() != state.accounts()) return "the committed accounts are not the state's";
  if (rows_.identity().Rows() != state.identity().Rows()) return "the committed identities are not the state's";
  if (ids_.next_job != state.next_job_id) return "the committed job id is not the state's";
  if (ids_.next_node != state.next_node_id) return "the committed node id is not the state's";
  return "";
}

ClusterState StoreMirror::Load() const {
  ClusterState state;
  rows_.tables().jobs.ForEach([&](JobId, const Job& row) { state.Put(row); });
  rows_.tables().attempts.ForEach([&](const AttemptId&, const Attempt& row) { state.Put(row); });
  rows_.tables().tasks.ForEach([&](const TaskId&, const Task& row) { state.Put(row); });
  rows_.tables().nodes.ForEach([&](NodeId, const Node& row) { state.Put(row); });
  rows_.tables().shares.ForEach([&](const ShareId&, const Share& row) { state.Put(row); });
  rows_.tables().life_tables.ForEach([&](const LifeTableId&, const LifeTable& row) { state.Put(row); });
  rows_.tables().reservations.ForEach([&](const std::string&, const Reservation& row) { state.Put(row); });
  state.SetAccounts(rows_.accounts());
  std::vector<IdentityChange> identity;
  for (IdentityRow& row : rows_.identity().Rows()) identity.push_back({std::move(row)});
  state.ChangeIdentity(identity);
  state.next_job_id = ids_.next_job;
  state.next_node_id = ids_.next_node;
  return state;
}

std::int64_t StoreMirror::Noted(HistoryKind kind) const {
  return std::count_if(history_.begin(), history_.end(), [&](const HistoryEntry& e) { return e.kind == kind; });
}

}  // namespace glim::core::testing
