// Policy: the numbers that the planner and the state machines decide by. Data, handed in; never read from anywhere by
// the core. Durations in milliseconds of the injected clock.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "scheduler/core/model/layout.h"
#include "scheduler/core/model/rows.h"
#include "scheduler/core/model/spec.h"
#include "sdk/base/time.h"

namespace glim::core {

inline constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();

// Nodes by class, as a policy file has them; quota_bounds.h says what they mean.
struct Quota {
  std::map<PriorityClass, std::uint32_t> nodes;
};

// A duration for each class.
struct ClassDurations {
  Duration others;  // of the classes that are not named
  std::map<PriorityClass, Duration> by_class;
  Duration For(PriorityClass c) const {
    const auto it = by_class.find(c);
    return it == by_class.end() ? others : it->second;
  }
};

// How long what ended jobs saved stays, where Glim itself chose the folder (save_retention.h).
struct SaveRetention {
  bool forever = false;                 // nothing is removed
  Duration succeeded = Hours(24) * 30;  // since the job's end, or the last change of its saves
  Duration failed = Hours(24) * 90;     // what is left of a failed job may be all that there is of its work
  Duration cancelled = Hours(24) * 90;
  std::int64_t bytes_max = 0;  // of ended jobs together, in a node's own folder or in the checkpoint root; 0: no bound
  Duration every = Hours(1);   // how often a node's agent asks
  friend bool operator==(const SaveRetention&, const SaveRetention&) = default;
};

// What reports reckon GPU-time at (glim admin report usage).
struct Price {
  std::string unit;                           // shown with each sum; empty: there is no price
  std::int64_t per_gpu_hour_milli = 0;        // in thousandths of the unit
  std::map<std::string, std::int64_t> pools;  // likewise, of those that are not as all others
  friend bool operator==(const Price&, const Price&) = default;
};

// Ids below 1000 are the system's: tasks have those alone that are listed (task_user.h).
struct TaskUsersPolicy {
  std::vector<std::uint32_t> allow_uids;
  std::vector<std::uint32_t> allow_gids;  // as a gid, and among the groups
  friend bool operator==(const TaskUsersPolicy&, const TaskUsersPolicy&) = default;
};

// Where notifications go, by the names that jobs' specs give (job-spec.md, notify).
struct NotifyWebhook {
  std::string url;          // https, or http to loopback
  std::string secret_file;  // signs what is sent; on the scheduler's machine
  friend bool operator==(const NotifyWebhook&, const NotifyWebhook&) = default;
};
struct NotifyCommand {
  std::string path;  // a program on the scheduler's machine
  std::string user;  // a name or a uid there
  friend bool operator==(const NotifyCommand&, const NotifyCommand&) = default;
};
struct NotifyPolicy {
  std::map<std::string, NotifyWebhook> webhooks;
  std::map<std::string, NotifyCommand> commands;  // no name is in both
  bool empty() const { return webhooks.empty() && commands.empty(); }
  bool Has(const std::string& name) const { return webhooks.contains(name) || commands.contains(name); }
  friend bool operator==(const NotifyPolicy&, const NotifyPolicy&) = default;
};

// What is done about what nodes' health checks find: one row (lifecycle/health.h).
struct HealthRule {
  std::string check{};
  std::vector<std::int64_t> codes{};  // of check xid; empty: any that no other row names
  HealthVerdict verdict = HealthVerdict::kRecorded;
  // How an attempt there ends, at once where the verdict is restarted, drained or out. Others leave it alone: it ends
  // so if one of its ranks fails soon afterwards. kNone: the row does not say.
  Outcome ends = Outcome::kNone;
  std::uint32_t times = 1;      // it counts at the times-th on one device,
  std::uint32_t users = 1;      // where jobs of so many users were there,
  Duration within = Hours(24);  // within this long
  std::string repair{};         // what an operator does then, for people
  friend bool operator==(const HealthRule&, const HealthRule&) = default;
};
// What nodes of one kind have, typically: the median of a fleet.
struct NodeBaseline {
  std::string pool{}, gpu_type{};            // whose; empty: of any
  std::map<std::string, double> expected{};  // by names of measures.h, in glim-validate's units
  friend bool operator==(const NodeBaseline&, const NodeBaseline&) = default;
};
// When nodes are measured by themselves (lifecycle/validation.h).
struct ValidatePolicy {
  bool on_join = false;      // a node that joins takes no job before it has been measured, and was found good
  bool after_repair = true;  // likewise one that health had taken out, once an operator gives it back
  bool suspects = true;      // one where a job stood still: it is left out until it was found good
  Duration every{};          // of idle nodes, at least so often; 0: not by itself
  bool full = false;         // glim-validate --full; else --quick
  // The first one that is the node's counts; without one a node is compared with itself.
  std::vector<NodeBaseline> baselines{};
  friend bool operator==(const ValidatePolicy&, const ValidatePolicy&) = default;
};
// Nodes in which jobs fail again and again, each time by something else (lifecycle/lemons.h).
struct LemonPolicy {
  Duration within = Hours(24) * 30;
  std::uint32_t avoid_times = 2;   // after so many failures it is left out for large jobs, while others fit; 0: never
  std::uint32_t large_nodes = 8;   // jobs of so many nodes or more
  std::uint32_t cordon_times = 4;  // after so many nobody comes until an operator gives it back; 0: never
  friend bool operator==(const LemonPolicy&, const LemonPolicy&) = default;
};
// Running attempts whose GPUs nobody uses (lifecycle/idle_gpus.h).
struct IdleGpusPolicy {
  Duration warn_after = Hours(1);  // 0: nobody is warned, nor suspended
  Duration suspend_after{};        // after the warning; 0: never
  friend bool operator==(const IdleGpusPolicy&, const IdleGpusPolicy&) = default;
};
struct HealthPolicy {
  std::vector<HealthRule> rules;           // before the default ones (health_rules.h)
  Duration blame_window = Minutes(5);      // a rank that fails that long after a fault of hardware failed by it
  Duration no_progress_min = Minutes(30);  // an attempt without a sign of life stands still not before that,
  std::uint32_t no_progress_gaps = 20;     // and not before so many times its longest gap (watchdog.h)
  ValidatePolicy validate{};
  LemonPolicy lemons{};
  IdleGpusPolicy idle_gpus{};
  friend bool operator==(const HealthPolicy&, const HealthPolicy&) = default;
};

struct Policy {
  // What the policy file's `quotas:` say. The planner does not read them: they become rows (policy_accounts.h), and the
  // rows decide (quota_bounds.h).
  Quota default_user_quota;  // of a user who has no row of their own and whose team sets none
  std::map<std::string, Quota> user_quota;
  std::map<std::string, Quota> team_user_quota;  // of each user of the team who has no row of their own
  std::map<std::string, Quota> team_quota;       // of all the team's users together
  std::map<std::string, Quota> pool_quota;       // of everybody in that pool together
  // A team's share grows with its weight: its service counts as service / weight.
  std::map<std::string, std::uint32_t> team_weight;  // 100 where none is given
  // What the file's `links:` say; they become rows likewise (layout.h).
  std::vector<ZoneLink> links;
  std::uint32_t cross_zone_nodes_min = 16;  // smaller jobs cross only if no zone is large enough for them

  // Time slicing inside a class (job_order.h).
  Duration quantum_min = Minutes(15);         // an attempt that began is left alone by its class for that long
  Duration quantum_max = Hours(4);            // at most; that long where a starved job is likely to end within it
  Duration starvation_bound = Hours(24);      // whoever waited that long comes before all of its class
  Duration switch_cost = Minutes(5);          // what starting a job is charged when it is weighed against one that runs
  std::int64_t preempt_gain_permille = 2000;  // a running job gives way to one whose index is that much better
  std::int64_t size_weight_permille = 700;    // how much a job's nodes count against it: 1000 is in proportion
  std::int64_t age_weight_permille = 100;     // how much attained service counts against it, beside the index
  Duration replan_interval = Seconds(30);     // while jobs wait, running ones are weighed again this often at most
  bool enforce_time_limits = true;
  std::map<std::string, Duration> time_max;  // by pool: the longest limits.time, and that of a job that has none

  // Moving one running job so that another fits (planner_move.h).
  std::int64_t move_gain_permille =
      20'000;  // what that one gets in its quantum, over the preemption cost; 0: nobody is moved

  // Interrupts.
  Duration save_wait_max = Seconds(30);  // a victim whose periodic save is due within that is interrupted after it
  Duration agree_max = Seconds(10);      // and at most a quarter of the grace
  // The most that interrupt.grace and interrupt.max_grace may be, by the class of the job that is asked to leave
  // (interrupt_terms.h). A cap of max_grace below that of grace counts as that.
  ClassDurations grace_cap{Minutes(5), {}};
  ClassDurations max_grace_cap{Minutes(5), {}};
  std::int64_t min_run_factor = 10;                // min_run = factor x (save + restore),
  Duration min_run_max = Minutes(10);              // at most; also what a restore counts as in the choice of victims
  Duration default_save_cost = Milliseconds(500);  // until something has been measured
  Duration default_restore_cost = Milliseconds(500);
  Duration median_checkpoint_interval = Minutes(5);  // the cap of age, for ordering victims only
  Duration kill_after_term = Seconds(5);
  Duration release_max = Seconds(60);  // after the kill; then the node is quarantined
  Duration start_max = Minutes(5);     // for every task to be seen running
  std::uint32_t start_failures_max = 3;
  Duration start_backoff = Seconds(1);

  // Saves (save_place.h).
  std::string checkpoint_root;                  // a folder that all nodes share; empty: there is none
  std::int64_t copy_bytes_per_s = 200'000'000;  // of a save between two nodes, until it has been measured
  Duration restore_backoff = Seconds(1);        // after a save that could not be had; doubles up to the next
  Duration restore_backoff_max = Minutes(5);
  SaveRetention checkpoint_retention;

  // Logs.
  std::string logs_root;  // a folder to which agents copy the logs of what has ended; empty: there is none

  // Nodes.
  Duration node_lost_after = Seconds(60);
  Duration oversleep_max = Seconds(5);     // a wake that is later than this was not slept through by choice
  std::uint32_t outage_percent = 20;       // more than this share silent at once: an outage, nobody is lost
  Duration leaf_lost_after = Minutes(10);  // in an outage, a leaf of which nobody is heard, while another leaf is
  Duration suspect_for = Hours(1);         // a suspect node is left out for that long, while others fit

  // Only the cluster's own users are on the nodes' network, and they trust each other: replica services that write over
  // tcp hold copies of several users' jobs at a time (docs/protocols/replica.md).
  bool fabric_private = false;

  // Users of tasks.
  TaskUsersPolicy task_users;

  // Hardware.
  HealthPolicy health;

  // Reports.
  Price price;

  // Notifications.
  NotifyPolicy notify;

  // Bounds.
  std::uint32_t unfinished_jobs_max = 200'000;
  std::uint32_t unfinished_jobs_per_user_max = 50'000;
  // What unfinished jobs take in bytes (spec_bytes.h). Rows of ended jobs may take a quarter of that beside them.
  std::int64_t unfinished_spec_bytes_max = std::int64_t{1} << 30;
  std::int64_t unfinished_spec_bytes_per_user_max = std::int64_t{32} << 20;
  std::uint32_t finished_jobs_kept = 20'000;
  Duration backfill_hold_after = Minutes(10);  // a job that waited this long holds back what it waits for
  std::uint16_t master_port_first = 20'000;
  std::uint16_t master_port_last = 29'999;
};

}  // namespace glim::core
