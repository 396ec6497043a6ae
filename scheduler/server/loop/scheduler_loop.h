// SchedulerLoop: the one strand that owns the cluster's state and its store.
//
//   any thread --Post--> bounded inbox --drain up to N--> core::Drive (apply, plan, ONE commit) --> snapshot
//                                                             --> answers to the callers --> nodes to sync
//
// A caller is answered only after the commit that made its event durable and after the snapshot that shows it. If a
// commit fails, the state is ahead of the store: everybody who waits is told UNAVAILABLE, nothing more is taken in, and
// `on_fatal` is called once so that the process ends; a fresh start loads what was durable.
//
// A store that is merely away (STORE_UNREACHABLE) or full (STORE_FULL) ends nothing, however long: the commit is held
// and made again every store_retry. Until then clients' changes are refused as UNAVAILABLE, agents' reports wait, and
// reads go on from the last snapshot, which says since when it is stale; what a full store has may be read.
//
// Sources: scheduler_loop.cc, scheduler_loop_open.cc (its beginning), scheduler_loop_take.cc (what makes a batch),
// scheduler_loop_away.cc (the store is away), scheduler_loop_audit.cc (the audit trail)
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "scheduler/core/core.h"
#include "scheduler/server/loop/audit_chain.h"
#include "scheduler/server/loop/chronicle.h"
#include "scheduler/server/loop/clock.h"
#include "scheduler/server/loop/pass_log.h"
#include "scheduler/server/loop/snapshot.h"
#include "scheduler/store/contract/store.h"

namespace glim::server {

// What the strand tells about itself. Called on the strand; must not block.
class LoopObserver {
 public:
  virtual ~LoopObserver() = default;
  virtual void OnPass(double seconds) = 0;
  virtual void OnCommit(double seconds) = 0;
  // A commit is done: what it wrote, over the rows as they were before it, by the policy in force.
  virtual void OnChanged(const core::Tables& before, const std::vector<core::Mutation>& mutations,
                         const core::Policy& policy) = 0;
};

class SchedulerLoop {
 public:
  using Payload = decltype(core::Event::what);
  // Called once, on the strand, after the commit. Must not block.
  using Done = std::function<void(const core::Reply&)>;

  struct Options {
    core::Policy policy;  // until SetPolicy gives another
    // What the policy's quotas and layout do to the rows that were loaded, before anything else is decided. May be
    // empty.
    std::function<Result<std::optional<core::ChangeAccounts>>(const core::Accounts&)> import_rows;
    // Before the epoch is taken, by the rows as they are then: whoever could not serve them must not end the leader
    // that there is. An error is Open's. May be empty.
    std::function<Status(const core::ClusterState&)> may_lead;
    Clock clock;
    std::size_t inbox_max = 20'000;  // events of clients that wait
    std::size_t batch_max = 2'000;   // events a commit
    std::size_t share_max = 64;      // of these, of one user: who asks for little waits behind no flood
    std::size_t reads_max = 512;     // of the store, waiting
    std::size_t denied_max = 1'000;  // rows of the audit trail without an event, waiting
    Duration history_kept = Hours(24 * 30);
    store::HistoryBounds history{1'000'000, 200'000, std::int64_t{1} << 30};
    std::uint64_t epoch_at_least = 0;
    Duration audit_kept = Hours(24 * 400);
    Duration store_retry = Seconds(1);  // while the store is away
    LoopObserver* observer = nullptr;   // outlives the loop; may be null
    // On the strand, after the answers: these nodes' desired sets may have changed.
    std::function<void(const std::set<core::NodeId>&)> on_sync;
    std::function<void()> on_history;  // on the strand: there is more to read
    // On the strand, after the snapshot that shows it: these attempts have ended.
    std::function<void(std::vector<core::AttemptId>)> on_attempts_ended;
    std::function<void(const Status&)> on_fatal;
  };

  // Takes the leadership (a new epoch), loads the state, and takes LeaderStarted in: after that reads are served from
  // snapshots. No thread runs yet.
  static Result<std::unique_ptr<SchedulerLoop>> Open(Options options, std::unique_ptr<store::Store> store);
  ~SchedulerLoop();

  // Starts the strand's thread. Before it, on_sync and on_history may still be set.
  void Start();
  void set_on_sync(std::function<void(const std::set<core::NodeId>&)> on_sync) {
    options_.on_sync = std::move(on_sync);
  }
  void set_on_history(std::function<void()> on_history) { options_.on_history = std::move(on_history); }
  void set_on_attempts_ended(std::function<void(std::vector<core::AttemptId>)> on_attempts_ended) {
    options_.on_attempts_ended = std::move(on_attempts_ended);
  }
  // Takes nothing more in, finishes what waits in the inbox, joins the thread, closes the store. Idempotent.
  void Stop();

  // Any thread. RESOURCE_EXHAUSTED (reason OVERLOADED) when the inbox is full, UNAVAILABLE when the loop has ended
  // (STOPPING) or the store is away (STORE_UNREACHABLE) or full (STORE_FULL); then `done` is never called. With `audit`
  // the commit has a row of the trail as well, whatever came of the event: "ok", or the reason of its refusal. What
  // takes rights away ends its batch, so that AuditNote::still_allowed of what comes behind it sees that.
  Status Post(Payload what, Done done, std::optional<AuditNote> audit = {});
  // For events of which each sender has at most one in the inbox (agents, operators): no flood of clients may make a
  // node look silent, so they do not count.
  Status PostUnbounded(Payload what, Done done, std::optional<AuditNote> audit = {});
  // Any thread. A row of the trail alone, for what was refused before it was an event: it is written with the next
  // batch, which comes at once. RESOURCE_EXHAUSTED (OVERLOADED): too many wait, as while the store is away; UNAVAILABLE
  // (STOPPING). Nothing that this took is lost at Stop, unless the store is away then.
  Status PostAudit(AuditNote note, std::string outcome);
  // Any thread. Runs `read` on the strand, between two batches: what it asks of the store must be little, for
  // everything else waits. Called once if this returns Ok, else never; RESOURCE_EXHAUSTED (OVERLOADED), UNAVAILABLE
  // (STOPPING, STORE_UNREACHABLE).
  Status Read(std::function<void(store::Store&)> read);
  // As Read, for what is written beside the batches, in a transaction of its own and under epoch(): what a reader may
  // miss for a while. `write` gets null while a batch is held, for that must be the next one that is written.
  Status WriteBeside(std::function<void(store::Store*)> write);
  // Any thread. Decides by this policy from now on; `words` say what has changed, for the history. `done` as of Post.
  // With `accounts`, these changes of users, teams and quotas come first.
  Status SetPolicy(core::Policy policy, std::string words, std::optional<core::ChangeAccounts> accounts, Done done,
                   std::optional<AuditNote> audit = {});
  // The store says that another leader came after us (leader_check.h).
  void FailAsStale(std::uint64_t newer_epoch);

  // Any thread. Never null.
  SnapshotPtr snapshot() const { return snapshot_.load(); }
  std::uint64_t epoch() const { return epoch_; }
  std::shared_ptr<const core::Policy> policy() const { return snapshot()->policy; }
  TimePoint Now() const { return options_.clock(); }
  const char* store_name() const { return store_name_; }
  PassFigures passes() const { return passes_.Read(); }
  // Since when this leader leads, and since when the policy in force counts.
  TimePoint leads_since() const { return leads_since_; }
  TimePoint policy_since() const { return TimePoint{policy_since_ms_.load()}; }
  // Any thread. Events that wait for the next batch.
  std::size_t waiting() const;

 private:
  struct Item {
    Payload what;
    Done done;
    bool counted = false;
    std::optional<AuditNote> audit{};
  };
  // A row of the trail without an event.
  struct Denied {
    AuditNote note;
    std::string outcome;
  };

  // A batch whose commit has not arrived, or not been answered: the store is away.
  struct Held {
    std::vector<core::Mutation> mutations;
    Chronicle chronicle;
    std::vector<store::AuditRow> audit;
    core::DriveResult result;
    std::vector<Item> items;  // agents' alone: clients have been told
    bool membership = false;
    TimePoint now;
    Status why;  // what the store said
  };

  SchedulerLoop(Options options, std::unique_ptr<store::Store> store);
  Status Push(Item item);
  void Drain();
  // Takes up to batch_max items, share_max of a user's; what is left stands first in the next batch. Tells whether
  // TimePassed is due and what agents and operators had posted before that was taken.
  std::vector<Item> Take(TimePoint now, bool* time_passed);
  bool RunBatch(std::vector<Item> items, bool time_passed, TimePoint now);
  void FinishBatch(const core::DriveResult& result, std::vector<Item> items, bool membership, TimePoint now);
  Status Commit(std::vector<core::Mutation> mutations, std::vector<store::AuditRow> audit, TimePoint now);
  void AddStates(const core::Tables& before, std::vector<core::Mutation>* mutations, TimePoint now);
  std::vector<store::AuditRow> AuditRows(std::vector<Item>& items, const core::DriveResult& result, TimePoint now);
  bool AnyDenied();
  void KeepAudit(std::vector<Item>& refused, const Status& why);
  static bool TakesRights(const Payload& what);
  // Takes out the items whose callers may no more, and answers them.
  void RefuseWhoMayNoMore(std::vector<Item>* items);
  void NoteCommitted(const std::vector<core::Mutation>& mutations);
  void HoldBatch(core::DriveResult result, std::vector<Item> items, bool membership, TimePoint now);
  bool RetryHeld();
  void RetryLater();
  void GiveUpHeld();
  void TakePolicy(std::shared_ptr<const core::Policy> policy, std::string words,
                  std::optional<core::ChangeAccounts> accounts, Done done, std::optional<AuditNote> audit);
  void Publish(const core::DriveResult& result, bool membership, TimePoint now);
  Status TellStart();
  void ArmTimer(TimePoint now);
  Status MayLead();
  void PruneHistory(TimePoint now);
  void Fail(const Status& status, std::vector<Item> items);

  Options options_;
  std::unique_ptr<store::Store> store_;
  const char* store_name_;
  std::uint64_t epoch_ = 0;
  std::atomic<SnapshotPtr> snapshot_;
  PassLog passes_;
  TimePoint leads_since_;
  std::atomic<std::int64_t> policy_since_ms_{0};

  // The inbox; everything under mutex_.
  mutable std::mutex mutex_;
  std::deque<Item> inbox_;
  std::size_t counted_ = 0;
  std::uint64_t posted_ = 0;  // of agents and operators: what is not counted
  std::size_t reads_ = 0;
  std::deque<Denied> denied_;
  bool scheduled_ = false;
  bool closed_ = false;
  TimePoint away_since_;  // 0: the store is there
  Status away_why_;       // with it: what the store said

  // The strand's own.
  std::unique_ptr<core::ClusterState> state_;
  std::shared_ptr<const core::Policy> policy_;
  AuditChain chain_;
  std::uint64_t next_seq_ = 1;
  std::uint64_t taken_ = 0;     // of those that posted_ counts
  std::uint64_t due_mark_ = 0;  // posted_ when the wake fell due; 0: not due
  TimePoint wake_at_;
  TimePoint armed_at_;  // what the timer waits for; 0: nothing
  TimePoint last_now_;
  TimePoint liveness_at_;
  TimePoint prune_at_;
  std::int64_t history_grown_ = 0;               // bytes since the last time
  TimePoint whole_at_;                           // when the history is told all states again (state_log.h)
  double commit_seconds_ = 0;                    // in the present batch
  bool has_history_ = false;                     // the present batch wrote some
  std::vector<core::AttemptId> attempts_ended_;  // in the present batch
  std::uint64_t revision_ = 0;
  std::int64_t last_pass_us_ = 0;
  bool failed_ = false;
  bool serving_ = false;  // a store that is away is waited for
  std::optional<Held> held_;

  boost::asio::io_context io_;
  boost::asio::steady_timer timer_{io_};
  boost::asio::steady_timer retry_timer_{io_};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{io_.get_executor()};
  std::thread thread_;
};

}  // namespace glim::server
