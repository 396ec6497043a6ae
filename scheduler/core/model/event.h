// Events: everything that can happen to the cluster's state. The shells (server, simulator) make them; Apply takes them
// in. Values only.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "scheduler/core/model/accounts.h"
#include "scheduler/core/model/plan.h"
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
};

struct CancelJob {
  JobId job;
  std::string user;
};
struct SuspendJob {
  JobId job;
  std::string user;
};
struct ResumeJob {
  JobId job;
  std::string user;
};

struct NodeConnected {
  std::uint64_t session = 0;  // given by the shell, growing
  std::string name;
  std::string machine_id;
  std::string boot_id;
  NodeLabels labels;
  std::string address;
  std::string agent_version;
  std::string runtime;
  std::string replica;       // host:port of its glim-replica; empty: none
  std::string save_address;  // host:port of its SaveApi; empty: none
  std::string save_key;
  std::vector<std::string> allowed_folders;
  JobId highest_job;  // that the node has anything of; 0: none
};

// Its agent was not let in, for it speaks another protocol: a sign of life, and no more.
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
  Duration copy_time;  // of the whole copy; 0: none, or not over
  TimePoint first_output;
  std::vector<Rank> ranks;
  std::vector<std::int32_t> pids;
};

// The whole of what a node's agent sees.
struct NodeReported {
  NodeId node;
  std::uint64_t session = 0;
  bool current = false;  // it answers the desired state of this leader (epoch matches and a set has been taken in)
  std::vector<ObservedTask> tasks;
  std::string root_marker{};  // of the policy's checkpoint root; both empty: it has not looked
  std::string root_error{};
};

// This leader did not run for a while (a stopped process, a clock that was set): what it did not hear is no silence.
struct Overslept {};

// Nothing but the clock has moved: deadlines are due.
struct TimePassed {};

struct ReturnNode {
  std::string name;
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

// Users, teams and quotas: all changes or none.
struct ChangeAccounts {
  std::vector<AccountChange> changes;
  std::string by;  // who asked, for the history; empty: the scheduler itself
};

struct PlanDecided {
  Plan plan;
};

struct Event {
  std::uint64_t seq = 0;
  TimePoint now;
  std::variant<LeaderStarted, Overslept, SubmitJobs, CancelJob, SuspendJob, ResumeJob, NodeConnected, NodeRefused,
               NodeDisconnected, NodeReported, TimePassed, ReturnNode, RemoveNode, ResolveOutage, PolicyChanged,
               PlanDecided, ChangeAccounts>
      what;
};

}  // namespace glim::core
