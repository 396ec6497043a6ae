// ClusterState: everything the scheduler knows. Rows are the truth; the index is derived from them, row by row, and
// liveness is what the present leader has heard itself.
//
// One thread (the server's strand, the simulator's loop) owns a ClusterState and writes through Put and Erase alone,
// so that rows and index never disagree. Copying `tables` is cheap and gives an immutable snapshot for any thread.
// Pointers to rows are valid until ForgetReplaced, also of rows that were replaced or erased meanwhile.
//
// Sources: cluster_state.cc, cluster_state_index.cc (what writes change of the index), cluster_state_erase.cc (rows
// that go), cluster_state_reserved.cc (reservations)
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "scheduler/core/model/accounts.h"
#include "scheduler/core/model/blocker.h"
#include "scheduler/core/model/budget.h"
#include "scheduler/core/model/cow_table.h"
#include "scheduler/core/model/identity.h"
#include "scheduler/core/model/job_place.h"
#include "scheduler/core/model/kept_jobs.h"
#include "scheduler/core/model/pool_layout.h"
#include "scheduler/core/model/probing.h"
#include "scheduler/core/model/queue_shape.h"
#include "scheduler/core/model/reservation.h"
#include "scheduler/core/model/rows.h"
#include "scheduler/core/model/service_history.h"
#include "scheduler/core/model/state_counts.h"
#include "scheduler/core/model/team_service.h"
#include "scheduler/core/model/usable_node.h"
#include "scheduler/core/model/watched.h"

namespace glim::core {

struct Tables {
  CowTable<JobId, Job> jobs;
  CowTable<AttemptId, Attempt> attempts;
  CowTable<TaskId, Task> tasks;
  CowTable<NodeId, Node> nodes;
  CowTable<ShareId, Share> shares;
  CowTable<LifeTableId, LifeTable> life_tables;
  CowTable<std::string, Reservation> reservations;  // by name
  CowTable<BudgetId, Budget> budgets;
  // The jobs once more, in the order of the list that people see; and the nodes' numbers by their names. Derived, and
  // here so that snapshots have them.
  CowTable<JobPlace, Job> listed;
  CowTable<UserPlace, Job> listed_by_user;
  CowTable<std::string, NodeId> node_ids;
  std::shared_ptr<const Accounts> accounts = std::make_shared<const Accounts>();  // never null
  std::shared_ptr<const Identity> identity = std::make_shared<const Identity>();  // never null
};

// Calls visit(table) for that of each kind of StoredRows (stored_rows.h): an owner's before that of what it owns.
template <typename Visit>
void EachTable(const Tables& tables, Visit visit) {
  visit(tables.nodes);
  visit(tables.jobs);
  visit(tables.attempts);
  visit(tables.tasks);
  visit(tables.shares);
  visit(tables.life_tables);
  visit(tables.reservations);
  visit(tables.budgets);
}

// What the jobs of a pool have shown of their saves, in sums: means cost a pass nothing. Of jobs that are known, and of
// live attempts.
struct PoolSaves {
  std::int64_t asked = 0, done = 0;             // interrupts that asked for one; that were answered by one
  std::int64_t save_ms = 0;                     // what those took
  std::int64_t leaves = 0, leave_ms = 0;        // interrupts that are over; from request to release
  std::int64_t intervals = 0, interval_ms = 0;  // between periodic saves
  friend bool operator==(const PoolSaves&, const PoolSaves&) = default;
};

using Verdicts = std::map<Shape, std::vector<Blocker>>;

struct Liveness {
  std::uint64_t session = 0;                         // of the stream it talks through; 0: none
  TimePoint last_heard;                              // or when the present leader began
  std::shared_ptr<const NodeInventory> inventory{};  // as its agent told it to this leader; null: it has not
  TimePoint refused_since{};  // its agent is refused: its last word before that, for it was told nothing since; 0: not
};

// Of a live attempt: which shards of which saves its ranks have reported, of those behind its durable step.
struct ShardsSeen {
  struct OfStep {
    std::set<std::uint32_t> shards;
    std::uint32_t needed = 1;
  };
  std::map<std::int64_t, OfStep> by_step;
};

// Derived from the rows by ClusterState alone.
struct Index {
  std::map<Shape, std::set<QueueKey>> queue;      // plannable now
  std::set<std::pair<TimePoint, JobId>> delayed;  // queued, in backoff until then
  // The same jobs by the beginning of the present wait: who has waited longest is in front.
  std::map<Shape, std::set<std::pair<TimePoint, JobId>>> waiting;
  std::map<NodeId, std::set<JobId>> saved_on;   // jobs that are not over, by who has a save of theirs (save_place.h)
  std::set<JobId> save_watch;                   // whose save is waited for, or is in neighbours' memory alone
  std::map<JobId, std::set<NodeId>> orphans;    // whose attempts run on nodes and are unknown; without lost nodes
  std::map<JobId, std::set<JobId>> dependants;  // jobs that are not over, by what they wait for
  std::set<JobId> doubled;                      // jobs that are not over and have a doubled quantum
  ServiceHistory history;                       // the life tables
  TeamService team_service;                     // the shares
  std::map<std::string, std::set<AttemptId>> live;   // attempts that have not ended, by pool
  std::set<std::pair<TimePoint, AttemptId>> limits;  // when running attempts reach their jobs' time limits
  std::set<AttemptId> attention;                     // live and not simply running: their timers count
  std::map<std::string, std::set<NodeId>> nodes_by_pool;
  std::map<std::string, std::set<NodeId>> free_nodes;  // schedulable now, by pool
  std::map<std::string, NodeId> node_by_name;
  std::map<std::string, std::set<NodeId>> root_markers;  // what nodes read in the checkpoint root's marker file
  std::map<std::pair<std::string, std::string>, std::set<JobId>> requests;  // (user, request_id)
  KeptJobs kept;
  std::map<AttemptId, std::set<NodeId>> claims;                                      // nodes whose claim it is
  std::map<std::pair<std::string, std::string>, std::set<NodeId>> replica_services;  // ready nodes, by (zone, leaf)
  std::map<NodeId, std::uint32_t> replica_copies;          // of attempts that have not ended, by who takes them
  std::map<NodeId, std::set<AttemptId>> replicas_on;       // of all attempts: who may have copies of theirs in memory
  std::map<std::string, PoolSaves> saves;                  // by pool
  std::map<AttemptId, std::set<std::string>> job_tokens;   // tokens of attempts, by id
  std::set<std::pair<TimePoint, std::string>> token_ends;  // tokens that expire
  std::set<NodeId> draining;                               // a drain that is not over
  std::set<std::pair<TimePoint, NodeId>> cordon_ends;      // cordons that end by themselves
  std::set<NodeId> lemons;                                 // lifecycle/lemons.h
  // When reservations begin, or end those that have begun; and whose nodes are which's.
  std::set<std::pair<TimePoint, std::string>> reservation_turns;
  std::map<NodeId, std::set<std::string>> reserved;
  // Nodes that are measured by themselves (lifecycle/validation.h).
  std::set<NodeId> measuring;                            // by a job
  std::set<MeasureKey> to_measure;                       // a job that measures them may begin now; the urgent first
  std::set<std::pair<TimePoint, NodeId>> measure_again;  // not before then
  std::set<std::pair<TimePoint, NodeId>> found_good;     // when that was, of those that need not be measured; 0: never
  StateCounts counts;
  friend bool operator==(const Index&, const Index&) = default;
};

struct JobEntry;  // index_entries.h
struct AttemptEntry;
struct NodeEntry;
struct SavesEntry;

class ClusterState {
 public:
  const Tables& tables() const { return tables_; }
  const Index& index() const { return index_; }

  const Job* FindJob(JobId id) const { return tables_.jobs.Find(id); }
  const Attempt* FindAttempt(AttemptId id) const { return tables_.attempts.Find(id); }
  const Task* FindTask(TaskId id) const { return tables_.tasks.Find(id); }
  const Node* FindNode(NodeId id) const { return tables_.nodes.Find(id); }
  const Reservation* FindReservation(const std::string& name) const { return tables_.reservations.Find(name); }
  const Budget* FindBudget(const std::string& team) const { return tables_.budgets.Find({team}); }
  // Users, teams and quotas. Valid until they change.
  const Accounts& accounts() const { return *tables_.accounts; }
  // Tokens, nodes' identities, secrets. Valid until they change.
  const Identity& identity() const { return *tables_.identity; }
  // Valid until a node's labels, the folders that a node gives to jobs, or whose jobs it runs change.
  const Layouts& layouts() const;

  // The newest attempt of a job if it has not ended, else null.
  const Attempt* LiveAttempt(const Job& job) const;

  // Frees the rows that were replaced or erased since; no pointer to one may be used after it.
  void ForgetReplaced() { replaced_.clear(); }

  // Each returns the row as stored, for the transition's mutations.
  std::shared_ptr<const Job> Put(Job row);
  std::shared_ptr<const Attempt> Put(Attempt row);
  std::shared_ptr<const Task> Put(Task row);
  std::shared_ptr<const Node> Put(Node row);
  std::shared_ptr<const Share> Put(Share row);
  std::shared_ptr<const LifeTable> Put(LifeTable row);
  std::shared_ptr<const Reservation> Put(Reservation row);
  std::shared_ptr<const Budget> Put(Budget row);
  void SetAccounts(Accounts accounts);
  void ChangeIdentity(const std::vector<IdentityChange>& changes);
  // One row, if it is there; an owner goes after what it owns.
  void Erase(JobId id);
  void Erase(AttemptId id);
  void Erase(const TaskId& id);
  void Erase(NodeId id);
  void Erase(const ShareId& id);
  void Erase(const LifeTableId& id);
  void Erase(const std::string& reservation);
  void Erase(const BudgetId& id);
  // Likewise, with what it owns.
  void EraseJob(JobId id);
  void EraseAttempt(AttemptId id);
  std::vector<AttemptId> AttemptsOf(JobId id) const;  // ascending

  // Ids grow for ever; the store brings back the highest used.
  JobId next_job_id{1};
  NodeId next_node_id{1};

  // The latest moment that any row speaks of: a leader's clock must not begin before it.
  TimePoint newest;

  // Soft: not stored, begun anew by every leader.
  TimePoint leader_since;
  TimePoint promised_wake;  // as Drive last told its caller; 0: none
  std::map<NodeId, Liveness> liveness;
  std::map<AttemptId, ShardsSeen> shards_seen;  // gathered report by report (attempt_progress.h)
  Probing probing;                              // of nodes that are not heard (lifecycle/probes.h)
  WatchBook watch;                              // when attempts last gave a sign of life (lifecycle/watchdog.h)
  bool outage = false;
  TimePoint outage_over;  // when the last one ended by itself; 0: none did
  // No node's silence is to be judged before then; as long as it is known. Being heard only moves that moment away.
  mutable TimePoint silence_due;
  mutable bool silence_known = false;
  bool dirty = true;     // something changed that a plan reads
  TimePoint look_again;  // when a blocker of time ends: plan again; 0: none
  std::shared_ptr<const Verdicts> verdicts = std::make_shared<Verdicts>();

  // A state of these rows, which are shared and not copied; soft parts as in a new leader's. For trials on a snapshot.
  static ClusterState Of(const Tables& tables);

  // The index as it follows from the rows alone: for tests of the incremental one.
  Index RebuildIndex() const;

 private:
  void ChangeIndex(const JobEntry& entry, bool add);
  void ChangeIndex(const AttemptEntry& entry, bool add);
  void ChangeIndex(const NodeEntry& entry, bool add);
  void ChangeIndex(const SavesEntry& entry, bool add);
  template <typename Entry>
  void Update(const std::optional<Entry>& old, const Entry& entry);
  template <typename Row>
  void Keep(std::shared_ptr<const Row> replaced) {
    if (replaced) replaced_.push_back(std::move(replaced));
  }
  void IndexReservation(const Reservation& row, bool add);
  const Job& JobOf(const Attempt& attempt) const;
  void CountCopies(const AttemptEntry& entry, bool add);
  void ListJob(const Job* old, const std::shared_ptr<const Job>& row);
  void CountInterval(const Attempt& row, bool add);
  void IndexToken(const TokenRow& row, bool add);

  Tables tables_;
  Index index_;
  mutable std::shared_ptr<const Layouts> layouts_;  // null: to be made again
  std::vector<std::shared_ptr<const void>> replaced_;
};

}  // namespace glim::core
