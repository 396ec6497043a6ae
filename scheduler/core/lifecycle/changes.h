// Changes: one event's work on the state. Every operation of the core reads and writes through it, so that rows, index,
// mutations, the dirty mark and the ledger never part.
//
// Edit(id, f) copies the row, runs f on the copy, and puts it if it differs. f must not edit the same row through
// another Edit. Lives for one Apply, and so do pointers from Find, whatever is written or erased meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/policy.h"
#include "scheduler/core/model/transition.h"
#include "sdk/base/check.h"

namespace glim::core {

// What a write came to: the row was so already; its progress has changed, which is not stored (progress.h); a row.
enum class Written : std::uint8_t { kNothing, kProgress, kRow };

class Changes {
 public:
  Changes(ClusterState& state, const Policy& policy, TimePoint now) : state_(state), policy_(policy), now_(now) {}

  const ClusterState& state() const { return state_; }
  const Policy& policy() const { return policy_; }
  TimePoint now() const { return now_; }

  const Job& job(JobId id) const { return Must(state_.FindJob(id)); }
  const Attempt& attempt(AttemptId id) const { return Must(state_.FindAttempt(id)); }
  const Node& node(NodeId id) const { return Must(state_.FindNode(id)); }

  template <typename F>
  void EditJob(JobId id, F f) {
    Job row = job(id);
    f(row);
    Write(std::move(row));
  }
  template <typename F>
  void EditAttempt(AttemptId id, F f) {
    Attempt row = attempt(id);
    f(row);
    Write(std::move(row));
  }
  template <typename F>
  Written EditTask(TaskId id, F f) {
    Task row = Must(state_.FindTask(id));
    f(row);
    return Write(std::move(row));
  }
  template <typename F>
  void EditNode(NodeId id, F f) {
    Node row = node(id);
    f(row);
    Write(std::move(row));
  }

  // New rows, and rows put whole. Nothing happens if the row is what it was.
  void Write(Job row);
  void Write(Attempt row);
  Written Write(Task row);
  void Write(Node row);
  void Write(Share row);
  void Write(LifeTable row);
  void Write(Reservation row);
  void Write(Budget row);
  // One row; an owner goes after what it owns.
  template <typename Row>
  void Erase(const RowId<Row>& id) {
    state_.Erase(id);
    transition_.mutations.emplace_back(Deleted<Row>{id});
  }
  void EraseJob(JobId id);          // with its attempts and tasks
  void EraseAttempt(AttemptId id);  // that has ended, with its tasks
  void EraseTasks(AttemptId id);    // likewise, and its own row stays
  void EraseNode(NodeId id);
  void EraseReservation(const std::string& name);
  void EraseBudget(const BudgetId& id);
  // `done` are the changes that made these of the accounts before.
  void SetAccounts(Accounts accounts, std::vector<AccountChange> done);
  // These changes, which hold.
  void ChangeIdentity(std::vector<IdentityChange> done);
  // Adds to the job's ledger, and to its team's budget, when the event is done: a gang's nodes are booked one by one,
  // its job once.
  void BookJob(JobId id, Use use, std::int64_t gpu_ms) { booked_[id][static_cast<std::size_t>(use)] += gpu_ms; }

  JobId NewJobId();
  // No job of ours gets `known`'s number or a smaller one.
  void SkipJobIds(JobId known);
  NodeId NewNodeId();

  // Soft state.
  Liveness& liveness(NodeId id) { return state_.liveness[id]; }
  void SetOutage(bool outage) {
    if (state_.outage && !outage) state_.outage_over = now_;
    state_.outage = outage;
    ForgetSilence();
  }
  void ForgetSilence() { state_.silence_known = false; }
  void SetVerdicts(std::shared_ptr<const Verdicts> verdicts) { state_.verdicts = std::move(verdicts); }
  void SetLeaderSince(TimePoint t) {
    state_.leader_since = t;
    ForgetSilence();
  }
  void MarkDirty() { state_.dirty = true; }
  std::map<AttemptId, ShardsSeen>& shards_seen() { return state_.shards_seen; }
  Probing& probing() { return state_.probing; }
  WatchBook& watch() { return state_.watch; }

  // Wishes.
  void Sync(NodeId node) { transition_.sync.insert(node); }
  void SyncAttempt(const Attempt& attempt);
  // Adds to the history; history.h says which facts a kind has.
  void Note(HistoryKind kind, AttemptId attempt, NodeId node, std::string text = "", HistoryFacts facts = {});
  // The names of the first few of these nodes, for facts.
  void NameNodes(const std::vector<NodeId>& nodes, HistoryFacts& facts) const;
  Reply& reply() { return transition_.reply; }

  // To be called last: rows that were replaced are gone then.
  Transition Take();

 private:
  // After an attempt's row changed: its nodes' use may have.
  void BookNodesOf(AttemptId id);
  void ForgetTokensOf(AttemptId id);
  void BookAll();

  template <typename Row>
  static const Row& Must(const Row* row) {
    GLIM_CHECK(row != nullptr, "an edit of a row that is not there");
    return *row;
  }

  ClusterState& state_;
  const Policy& policy_;
  const TimePoint now_;
  Transition transition_;
  std::map<JobId, UseTotals> booked_;
  bool ids_changed_ = false;
};

}  // namespace glim::core
