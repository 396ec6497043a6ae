// The rows of the cluster's state: what the store keeps and what a snapshot shows. Plain values; the state machines
// that move them are drawn in job_machine.h, attempt_machine.h, agreement_machine.h and node_machine.h.
//
// Sources: names.cc (the words of the rows)
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/core/model/agreement.h"
#include "scheduler/core/model/health.h"
#include "scheduler/core/model/ids.h"
#include "scheduler/core/model/kept_attempts.h"
#include "scheduler/core/model/spec.h"
#include "scheduler/core/model/task_ids.h"
#include "sdk/base/time.h"

namespace glim::core {

// Where a GPU-millisecond went (design: Ledger).
enum class Use : std::uint8_t { kFree, kClaimed, kUnavailable, kStarting, kRestoring, kProductive, kStopping, kLost };
inline constexpr std::size_t kUses = 8;
using UseTotals = std::array<std::int64_t, kUses>;  // GPU-milliseconds by Use
const char* ToString(Use use);

// A durable save: every shard's owner has reported it.
struct Checkpoint {
  std::int64_t step = -1;  // the last step that it contains; -1: there is none
  std::string path;
  std::int64_t bytes = 0;
  std::uint32_t attempt = 0;  // who wrote it
  TimePoint at;
  // Where it lies in nodes' own checkpoint folders (save_place.h); all empty: every node sees `path`.
  std::string local{};           // its path in the job's folder there
  std::vector<NodeId> parts{};   // each has a part of it, ascending; all are needed. One: that node has it whole
  std::vector<NodeId> copies{};  // each has it whole, ascending
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

enum class JobState : std::uint8_t {
  kQueued,
  kStarting,
  kRunning,
  kInterrupting,
  kCancelling,
  kSuspending,
  kHeld,
  kSucceeded,
  kFailed,
  kCancelled
};
const char* ToString(JobState state);
inline bool IsTerminal(JobState s) {
  return s == JobState::kSucceeded || s == JobState::kFailed || s == JobState::kCancelled;
}

struct Job {
  JobId id;
  std::string user;
  std::string team;
  std::string request_id;
  std::uint32_t request_index = 0;  // its place in the request's specs
  std::uint32_t request_size = 1;
  std::shared_ptr<const JobSpec> spec;  // never null
  JobState state = JobState::kQueued;
  PriorityClass priority = PriorityClass::kNormal;  // the class in force
  TimePoint submitted_at;
  TimePoint queued_at;   // of the present wait; claims that are dropped do not end it
  TimePoint not_before;  // its spec's start_after, or a backoff; 0: none
  TimePoint ended_at;
  std::uint32_t attempts = 0;  // dispatched so far: the newest attempt's number
  std::uint32_t interrupts = 0;
  std::uint32_t restarts = 0;        // after failures that are not the program's
  std::uint32_t start_failures = 0;  // in a row
  bool swap_aborted = false;  // it left for a preemptor that went away, or was moved: it comes first in its class
  std::string
      checkpoint_root;  // of the policy at its submission: where its saves lie unless its spec says; empty: none
  Checkpoint durable;   // the newest over all attempts
  std::vector<Checkpoint>
      older;  // that may still be had, newest first; of saves that all nodes see, the one before alone
  // It waits for this node, none: for no node. Either the node has what it goes on from, and must be heard again; or an
  // attempt of it runs there that the store does not know, and must end (orphans.h).
  NodeId waits_for_save;
  bool save_in_memory = false;  // every node that has its newest save is lost, but neighbours may hold copies in memory
  std::uint32_t restore_failures = 0;  // in a row: its save could not be had
  std::int64_t steps_lost = 0;
  Duration save_cost;   // the mean of its saves_done; 0: unknown
  Duration leave_time;  // the mean of its `leaves`: from an interrupt's request to the release of all nodes
  std::uint32_t leaves = 0;
  Duration restore_cost;  // measured at its last resume; 0: unknown
  std::uint32_t saves_asked = 0;
  std::uint32_t saves_done = 0;
  std::string message;                // why it ended, or what happened last, for people
  UseTotals ledger{};                 // GPU-milliseconds, attempts included
  Duration service;                   // that its ended attempts had all their nodes
  EarlierAttempts earlier;            // before those that are rows
  std::vector<Dependency> waits_for;  // what is not fulfilled of its spec's `after`
  bool cooperative = false;  // a rank of one of its attempts has said hello: interrupt.mode auto asks by the flag now
  std::uint32_t restarts_since_save = 0;  // since its newest durable save: what restart.max bounds
  std::uint32_t idle_yields = 0;          // in a row: attempts that left by themselves and had done nothing
  std::uint32_t quantum_doublings = 0;    // interrupts that lost more than a quantum
  std::uint32_t storage_failures = 0;     // in a row: a path that it names did not answer where it was to start
  std::vector<NodeId> hung_on;            // where that was, ascending: left out for this job while other nodes fit
  JobId parent{};                         // whose token submitted it; 0: a user's
  bool priority_set = false;              // its spec has another class by now than the one it was submitted with
  bool updated = false;                   // likewise another name, time limit or first moment
  // An operator moved it off these, or its save could not be had there, ascending: left out while other nodes fit.
  std::vector<NodeId> moved_off{};
  TimePoint hardware_failed_at;         // its newest attempt that hardware ended; 0: none has been
  std::uint32_t hardware_failures = 0;  // of those, in a row within an hour of each other
  bool ended_unrun = false;             // it ended before it ever ran, by its own `after` or by a cancel
  Duration longest_gap{};  // between two signs of life of its attempts; kept where the watchdog waits longer for it
  NodeId validates{};  // a job of the cluster's own that measures this node (lifecycle/validation.h); none: a user's
  std::uint32_t orphan_attempts = 0;  // of its attempts that nodes ran, unknown here, the highest number
  friend bool operator==(const Job&, const Job&) = default;
};

enum class AttemptState : std::uint8_t { kClaimed, kStarting, kRunning, kStopping, kEnded };
const char* ToString(AttemptState state);

enum class Outcome : std::uint8_t {
  kNone,
  kSucceeded,
  kFailed,
  kInterrupted,
  kStartFailed,
  kNodeFailure,
  kHang,
  kTimeout,
  kCancelled,
  kClaimDropped,
  kRestoreFailed,
  kGpuFailure,
  kNetwork,
  kOutOfMemory
};
const char* ToString(Outcome outcome);

// How an interrupted attempt left.
enum class SaveResult : std::uint8_t { kNone, kSaved, kLeftUnsaved, kKilled };
const char* ToString(SaveResult result);

// Why an attempt is being stopped; kNone while it is not. An interrupt is an agreement, until its deadline makes it a
// stop.
enum class StopCause : std::uint8_t {
  kNone,
  kCancel,
  kSuspend,
  kRankFailed,
  kDeadline,
  kStartTimeout,
  kNodeFailure,
  kFinished,
  kGpuFailure,
  kNetwork,
  kHang
};
const char* ToString(StopCause cause);

// A save that a rank could not make, in its own words.
struct SaveFailure {
  std::int64_t step = -1;
  std::string why;          // bounded
  std::uint32_t count = 0;  // how often since the last save that it made; 0: the last one was made
  friend bool operator==(const SaveFailure&, const SaveFailure&) = default;
};

struct Attempt {
  AttemptId id;
  AttemptState state = AttemptState::kClaimed;
  std::vector<NodeId> nodes;            // by node rank; contiguous by zone
  std::vector<std::string> zones;       // distinct, in rank order
  std::vector<std::uint32_t> gateways;  // node ranks, one a zone; empty unless it crosses
  std::vector<NodeId> replicas;         // by node rank: whose memory takes the copy of its shards; empty: nobody's
  PriorityClass charged = PriorityClass::kNormal;
  bool borrowed = false;  // beyond a quota at the last pass: it counts as class low, and gives back first
  std::uint32_t nodes_held = 0;
  Duration quantum;  // from its start; its own class does not interrupt it before
  std::uint16_t master_port = 0;
  Checkpoint base;      // what it goes on from; step -1: from the beginning
  TimePoint queued_at;  // when the wait that it ended began
  TimePoint claimed_at;
  TimePoint started_at;  // all nodes held
  TimePoint running_at;  // every task seen running
  TimePoint ended_at;
  StopCause stop = StopCause::kNone;
  TimePoint stop_at;                  // when the stop was ordered
  std::vector<Agreement> agreements;  // the newest kAgreementsKept; at most the last is open
  Outcome outcome = Outcome::kNone;
  SaveResult save = SaveResult::kNone;
  std::int32_t exit_code = 0;
  std::int32_t failed_rank = -1;  // that failed first; -1: none
  std::string message;
  std::int64_t last_step = -1;     // highest reported complete; progress (progress.h)
  TimePoint progress_at;           // when that was stored for its own sake
  std::int64_t durable_step = -1;  // highest durable save of this attempt
  TimePoint durable_at;
  Duration save_interval;  // between its last two durable saves; 0: unknown
  std::int64_t steps_lost = 0;
  std::vector<AttemptId> victims;       // whose agreements made room for it
  std::optional<TaskUser> task_user{};  // of the registry as it stood at its start; nothing: the user had no uid
  bool stop_now = false;                // with `stop`: its processes get no time between SIGTERM and SIGKILL
  TimePoint stalled_since{};            // it stands still: its last sign of life; 0: it does not (watchdog.h)
  std::uint32_t evidence_asked = 0;     // how often its tasks were asked what they do
  std::string evidence{};       // what they answered last, a line for each rank that was told, then stacks; bounded
  TimePoint gpus_idle_since{};  // its user was warned that nobody uses its GPUs since then; 0: not (idle_gpus.h)
  SaveFailure save_failure{};   // the newest save of this attempt, where that failed
  std::vector<EndedTasks> ended_tasks{};  // once its tasks are no rows any more
  friend bool operator==(const Attempt&, const Attempt&) = default;

  Agreement* open_agreement();
  const Agreement* open_agreement() const;
};

enum class TaskPhase : std::uint8_t { kPending, kStarting, kRunning, kExited, kReleased };
const char* ToString(TaskPhase phase);

struct SavedShard {
  std::int64_t step = -1;
  std::string path;
  std::int64_t bytes = 0;
  std::uint32_t shard = 0;
  std::uint32_t shards = 1;
  Duration took;
  std::string local{};  // its path in the job's checkpoint folder, where that is the node's own; empty: it is not
  friend bool operator==(const SavedShard&, const SavedShard&) = default;
};

struct Rank {
  std::uint32_t rank = 0;  // global
  bool connected = false;
  bool greeted = false;    // it has said hello: it speaks the task socket's protocol
  std::int64_t step = -1;  // progress (progress.h), like the next
  Duration step_time;      // median
  std::uint32_t acked_agreement = 0;
  std::int64_t hold = -1;
  bool finished = false;
  std::vector<SavedShard> saves;  // the newest few
  bool leaving = false;
  Duration extend;
  bool yielded = false;
  bool exited = false;
  std::int32_t exit_code = 0;
  std::int64_t restored_step = -1;
  Duration restore_time;
  TimePoint exited_at;
  std::string cause;           // of a failure: the last line of its first traceback, or of its output
  std::string restore_failed;  // why it could not go on from the save that it was given
  SaveFailure save_failure{};  // its newest save, where that failed
  friend bool operator==(const Rank&, const Rank&) = default;
};

struct Task {
  TaskId id;
  NodeId node;
  TaskPhase phase = TaskPhase::kPending;
  std::int32_t exit_code = 0;
  std::string message;
  bool lost = false;  // nobody vouches for its ranks, which may live: it is stopped, and holds its node until released
  bool start_failed = false;
  bool job_fault = false;         // with start_failed: no node would do better
  bool path_missing = false;      // with start_failed: a path that the job names is not there on its node
  bool save_missing = false;      // with start_failed: its save could not be had
  std::int64_t copied_bytes = 0;  // of the save that it goes on from, so far
  TimePoint copied_at;            // when that number, or image_bytes, was last seen to grow
  Duration copy_time;             // of the whole copy; 0: none, or not over
  TimePoint first_output;
  TimePoint released_at;
  std::int64_t at_risk_gpu_ms = 0;  // of its node, at the release: lost if the attempt turns out to lose it
  std::vector<Rank> ranks;
  std::string hung_path;    // with start_failed: a path that the job names and that did not answer; nobody's fault
  bool disk_fault = false;  // with start_failed: the disk of its node's agent took nothing; nobody's fault
  std::vector<std::int32_t> pids;  // of a stopped one: what is still there of it, as its agent says; bounded
  bool out_of_memory = false;      // the kernel killed a process of it for its limit of memory
  std::uint32_t left_behind = 0;   // processes that its ranks had left when they ended: stopped with it
  std::string left_names{};        // what those are called, a few of them; bounded
  std::int64_t image_bytes = 0;    // of its image, while that is fetched and unpacked, so far
  friend bool operator==(const Task&, const Task&) = default;
};

// kRefused: its agent is there, and speaks another protocol or has a clock far behind; message says what to do.
enum class NodeState : std::uint8_t { kReady, kSilent, kLost, kQuarantined, kRefused };
const char* ToString(NodeState state);

struct NodeLabels {
  std::string pool = "default";
  std::string zone;
  std::string leaf;
  std::string gpu_type;
  std::uint32_t gpu_count = 0;
  NvLink nvlink = NvLink::kNone;
  std::string nic;
  bool simulated_gpus = false;
  friend bool operator==(const NodeLabels&, const NodeLabels&) = default;
};

// An operator takes a node out: cordon.h.
struct Cordon {
  std::string by;  // user
  std::string reason;
  TimePoint since;
  TimePoint until;  // it ends by itself then; 0: not
  bool drain = false;
  TimePoint deadline;    // of a drain: who is there still is stopped then; 0: each job's own grace
  bool drained = false;  // of a drain: no task was there any more
  friend bool operator==(const Cordon&, const Cordon&) = default;
};

struct Node {
  NodeId id;
  std::string name;
  std::string machine_id;
  std::string boot_id;
  NodeLabels labels;
  std::string address;
  std::string agent_version;
  std::string runtime;
  std::string census;        // how its agent knows who is in a task: groups, best_effort; empty: untold
  std::string replica;       // KEY@host:port of its glim-replica (replica.md); empty: none
  std::string save_address;  // host:port of its agent's SaveApi; empty: saves cannot be copied from there
  std::string save_key;      // of that API's tokens: shown to nobody
  std::vector<std::string> allowed_folders;  // what jobs may name; empty: anything
  std::string root_marker;                   // what the checkpoint root's marker holds there; empty: see root_error
  std::string root_error;                    // why that could not be read
  std::string site_fault;                    // of a prolog or epilog, as the agent told it last: one quarantine each
  std::int64_t copy_bytes_per_s = 0;         // measured, of saves copied to it; 0: nothing yet
  NodeState state = NodeState::kReady;
  std::string message;              // the evidence of a quarantine, for people
  AttemptId holder;                 // who has it; at most one
  AttemptId claim;                  // who gets it at its release; at most one
  std::vector<TaskId> stale_tasks;  // written off, to be stopped when the agent is heard again
  // Reported and unknown: left running, the node is not used. The second are said without a receipt of this cluster's,
  // or are over (lifecycle/orphans.h): no job is touched for them.
  std::vector<AttemptId> orphans, unproven;
  // What its agent says of itself that does not hold yet: of a held node it holds from the next release on, and fewer
  // GPUs than labelled are no label.
  bool relabelled = false;
  NodeLabels next_labels;     // with relabelled
  std::uint32_t suspect = 0;  // start failures and losses; chosen last
  TimePoint suspect_until;    // left out until then while others fit; 0: not
  // Ledger: the use since `use_since`, and what has been booked before.
  Use use = Use::kFree;
  TimePoint use_since;
  std::int64_t at_risk_gpu_ms = 0;            // productive since the holder's last durable save
  TimePoint registered_at;                    // with this number of GPUs
  std::int64_t registered_gpu_ms_before = 0;  // with another number
  UseTotals ledger{};                         // GPU-milliseconds
  std::string fault;        // what its agent finds wrong with the node itself: no job starts there until that is over
  std::string suspect_why;  // with suspect_until: what went wrong there last
  std::vector<TaskId> stuck_tasks;          // for which alone it is quarantined: it is ready again when they are gone
  std::optional<std::uint32_t> only_uid{};  // it runs jobs of this uid's user alone; nothing: of anybody
  bool needs_uid = false;                   // it runs no job whose user has no uid in the registry
  std::vector<std::string> exposed_sockets{};        // abstract ones of root's programs, which tasks reach; printable
  std::optional<Cordon> cordon{};                    // nothing: no operator has taken it out
  std::string health_boot{};                         // of the newest event of its health checks that was taken in,
  std::uint64_t health_seq = 0;                      // and its number
  std::vector<HealthEvent> health_events{};          // the newest kHealthEventsKept, the newest last
  std::vector<HealthCondition> health_conditions{};  // as its agent told them last
  std::string hardware_differs{};   // its labels from what its agent found: no job starts there; empty: they do not
  std::string hardware_accepted{};  // the difference that an operator has accepted
  NodeValidation validation{};
  std::vector<NodeFailure> failures{};  // the newest kNodeFailuresKept, the newest last
  bool lemon = false;                   // left out for large jobs while others fit (lifecycle/lemons.h)
  friend bool operator==(const Node&, const Node&) = default;
};

}  // namespace glim::core
