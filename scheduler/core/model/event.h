// Events: everything that can happen to the cluster's state. The shells (server, simulator) make them; Apply takes them
// in. Values only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "scheduler/core/model/accounts.h"
#include "scheduler/core/model/identity.h"
#include "scheduler/core/model/plan.h"
#include "scheduler/core/model/probing.h"
#include "scheduler/core/model/reservation.h"
#include "scheduler/core/model/rows.h"

namespace glim::core {

// A new leader has loaded the state: silence is counted from now.
struct LeaderStarted {};

struct SubmitJobs {
  std::string user;
  std::string team;            // of all the jobs, whoever is in it; empty: their specs and the user say
  std::string request_id;      // empty: no idempotency asked for
  std::vector<JobSpec> specs;  // all or none; ValidateSpec has passed
  bool validate_only = false;
  JobId parent{};  // whose token asked; 0: a user's
};

struct CancelJob {
  JobId job;
  std::string user;
  bool by_right = false;  // an operator, or an admin of the job's team: it need not be theirs
  std::string reason{};   // for people; empty: none
  bool now = false;       // its processes get no time between SIGTERM and SIGKILL
};
struct SuspendJob {
  JobId job;
  std::string user;
  bool by_right = false;  // an operator, or an admin of the job's team: it need not be theirs
  std::string reason{};   // for people; empty: none
};
struct ResumeJob {
  JobId job;
  std::string user;
  bool by_right = false;  // an operator, or an admin of the job's team: it need not be theirs
};

struct NodeConnected {
  std::uint64_t session = 0;  // given by the shell, growing
  std::string name;
  std::string machine_id;
  std::string boot_id;
  NodeLabels labels;
  std::string address;
  std::vector<std::string> defaults;  // of kLabelFields: what nobody told the agent is no word against the store
  std::string agent_version;
  std::string runtime;
  std::string census;
  std::string replica;       // KEY@host:port of its glim-replica (replica.md); empty: none
  std::string save_address;  // host:port of its SaveApi; empty: none
  std::string save_key;
  std::vector<std::string> allowed_folders;
  JobId highest_job;                        // that the node has anything of; 0: none
  std::optional<std::uint32_t> only_uid{};  // as in Node, and the next
  bool needs_uid = false;
  std::shared_ptr<const NodeInventory> inventory{};  // null: an agent of an earlier release
};

// Its agent was not let in, for its protocol or its clock: a sign of life, and no more.
struct NodeRefused {
  std::string name;
  std::string machine_id;
  std::string why;  // and what is to be done, for people
};

struct NodeDisconnected {
  NodeId node;
  std::uint64_t session = 0;
};

struct ObservedTask {
  TaskId id;
  TaskPhase phase = TaskPhase::kStarting;  // never kPending
  std::int32_t exit_code = 0;
  std::string message;
  bool lost = false;
  bool start_failed = false;
  bool job_fault = false;
  bool path_missing = false;
  bool save_missing = false;
  std::int64_t copied_bytes = 0;
  std::int64_t image_bytes = 0;
  Duration copy_time;  // of the whole copy; 0: none, or not over
  TimePoint first_output;
  std::vector<Rank> ranks;
  std::vector<std::int32_t> pids;
  std::string hung_path{};
  bool disk_fault = false;
  bool out_of_memory = false;
  bool receipt = false;           // this cluster's scheduler has launched it on that node: its receipt is good
  TimePoint activity_at{};        // its newest sign of life, by the node's clock; 0: untold
  std::uint32_t evidence_id = 0;  // of the newest evidence that was asked for; 0: none
  std::string evidence{};
  std::uint32_t left_behind = 0;  // as of Task
  std::string left_names{};
  TimePoint gpu_busy_at{};  // one of its GPUs was seen busy, by the node's clock; its start before that; 0: not watched
};

// The whole of what a node's agent sees.
struct NodeReported {
  NodeId node;
  std::uint64_t session = 0;
  bool current = false;  // it answers the desired state of this leader (epoch matches and a set has been taken in)
  std::vector<ObservedTask> tasks;
  std::string root_marker{};  // of the policy's checkpoint root; both empty: it has not looked
  std::string root_error{};
  std::string fault{};       // of the node itself; empty: none
  std::string site_fault{};  // a prolog or an epilog of the operator's failed there: why; empty: none
  std::optional<std::vector<std::string>> exposed_sockets{};  // printable, and bounded; nothing: nobody has looked
  std::string health_boot{};                                  // empty: nobody checks there
  std::vector<HealthReading> health_events{};                 // ascending by seq; the newest of what its checks found
  std::vector<HealthCondition> health_conditions{};           // all that are so; `since` and `verdict` are the core's
  std::vector<ProbeResult> probes{};                          // of the nodes that it was asked to reach; bounded
};

// This leader did not run for a while (a stopped process, a clock that was set): what it did not hear is no silence.
struct Overslept {};

// Nothing but the clock has moved: deadlines are due.
struct TimePassed {};

struct ReturnNode {
  std::string name;
};

// A row as somebody saw it who decided by it; none: it was not there.
template <typename Row>
struct Seen {
  std::optional<Row> row;
};

// No job starts there, from now on (lifecycle/cordon.h). A cordoned node gets the new words.
struct CordonNode {
  std::string name;
  std::string by;
  std::string reason;   // not empty
  Duration lasts{};     // it ends by itself after this; 0: not
  bool drain = false;   // who is there is asked to leave
  Duration deadline{};  // of a drain: who is there still is stopped then; 0: each job's own grace
  bool dry_run = false;
  // How it was when it was looked at: if it is not so any more, ABORTED (CHANGED_MEANWHILE). So below.
  std::optional<Seen<Cordon>> expected{};
};
struct UncordonNode {
  std::string name;
  std::string by;
  bool dry_run = false;
  std::optional<Seen<Cordon>> expected{};
};

// It is measured before its next job (lifecycle/validation_asked.h). A node that is cordoned or away is measured when
// it is back.
struct ValidateNode {
  std::string name;
  std::string by;
  bool full = false;                   // glim-validate --full, whatever the policy says
  std::vector<std::string> folders{};  // whose disks are measured, too; absolute
  bool dry_run = false;
};

// The class of a job that has not ended (lifecycle/operate_jobs.h).
struct SetJobPriority {
  JobId job;
  std::string user;
  bool by_right = false;  // as of CancelJob
  bool unbound = false;   // an operator: whatever the quotas say
  PriorityClass priority = PriorityClass::kNormal;
  std::string reason;
  bool dry_run = false;
};
// Another name, time limit or first moment of a job that has not ended (lifecycle/update_job.h).
struct UpdateJob {
  JobId job;
  std::string user;
  bool by_right = false;  // as of CancelJob
  bool unbound = false;   // an operator: whatever others count on
  std::optional<std::string> name{};
  std::optional<Duration> time_limit{};  // 0: none
  std::optional<TimePoint> start_after{};
  std::string reason{};
  bool dry_run = false;
};
// A running job leaves, and goes on elsewhere.
struct MoveJob {
  JobId job;
  std::string by;
  std::string reason;
  bool dry_run = false;
};
// All unfinished jobs of a user.
struct CancelUserJobs {
  std::string user;
  std::string by;  // has the right to
  std::string reason;
  bool now = false;  // as of CancelJob
  bool dry_run = false;
};

// Nodes for a team, or for nobody (lifecycle/reservations.h). One of the same name gets the new words.
struct SetReservation {
  // Name, team, pool, share, node_names, begins_at (0: now, or as it began), ends_at and reason count.
  Reservation reservation;
  std::string by;
  bool dry_run = false;
  std::optional<Seen<Reservation>> expected{};  // `nodes` and `begun_at` do not count
};
struct RemoveReservation {
  std::string name;
  std::string by;
  bool dry_run = false;
  std::optional<Seen<Reservation>> expected{};
};

// Sets, resets or removes the budget of a team (lifecycle/budgets.h).
struct SetBudget {
  std::string team;
  std::optional<std::int64_t> gpu_ms_max{};  // nullopt: it is taken away
  bool restart = false;                      // reset: what has been used does not count any more
  std::string by;
  bool dry_run = false;
  std::optional<Seen<Budget>> expected{};  // what was booked does not count
};

// The operator takes a node out of the cluster: its row goes, and its name is anybody's.
struct RemoveNode {
  std::string name;
  bool connected = false;  // also one whose agent is connected: that one registers as a new node
};

// The operator knows that the silent will not come back: they are judged lost.
struct ResolveOutage {};

// From this event on the policy that the core is handed is another one; what has changed, in words.
struct PolicyChanged {
  std::string words;
};

// Users, teams, quotas and the layout: all changes or none.
struct ChangeAccounts {
  std::vector<AccountChange> changes;
  std::string by;        // who asked, for the history; empty: the scheduler itself
  bool dry_run = false;  // they are checked alone
  // Not null: all rows as they were looked at. If there are others by now: ABORTED (CHANGED_MEANWHILE).
  std::shared_ptr<const Accounts> expected{};
};

// Tokens, nodes' identities, sealed keys and secrets: all changes or none (model/identity.h). Where a row is not as
// `expected`, or not new: ABORTED (CHANGED_MEANWHILE).
struct ChangeIdentity {
  std::vector<IdentityChange> changes;
  std::string by;  // who asked; empty: the scheduler itself
};

// When tokens were used, by their ids; what is gone meanwhile stays gone, and no time goes back.
struct TokensUsed {
  std::vector<std::pair<std::string, TimePoint>> at;
};

// The fields of a node with an identity: at once where nothing runs, else at the node's release. The reply's `state` is
// "now" or "at_release". FAILED_PRECONDITION (NO_IDENTITY): its agent's own options say.
struct LabelNode {
  std::string name;
  NodeLabels labels;  // only what `fields` names counts
  std::string address;
  std::vector<std::string> fields;  // of kLabelFields
  std::string by;
};

// An agent has removed what these ended jobs had saved (model/save_retention.h).
struct SavesRemoved {
  NodeId node;
  bool shared = false;                               // below the checkpoint root; else in the node's own folder
  std::vector<std::pair<JobId, std::int64_t>> jobs;  // with the bytes of each
};

// Nobody was told, for the policy has no such name any more.
struct NotifySkipped {
  AttemptId attempt;  // number 0: of the job as a whole
  std::string name;
};

struct PlanDecided {
  Plan plan;
};

struct Event {
  std::uint64_t seq = 0;
  TimePoint now;
  std::variant<LeaderStarted, Overslept, SubmitJobs, CancelJob, SuspendJob, ResumeJob, NodeConnected, NodeRefused,
               NodeDisconnected, NodeReported, TimePassed, ReturnNode, RemoveNode, ResolveOutage, PolicyChanged,
               PlanDecided, ChangeAccounts, SavesRemoved, ChangeIdentity, TokensUsed, LabelNode, CordonNode,
               UncordonNode, ValidateNode, SetJobPriority, UpdateJob, MoveJob, CancelUserJobs, NotifySkipped,
               SetReservation, RemoveReservation, SetBudget>
      what;
};

}  // namespace glim::core
