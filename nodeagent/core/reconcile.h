// What a node's agent has to do next: a pure function of what the scheduler wants and what is there.
//
// No clock, no I/O, no protobuf: the agent hands in plain values and carries out the actions. Everything is a level:
// the same inputs give the same actions, an action that was carried out changes the observation so that it is not
// asked for again, and a repeated or lost message changes nothing.
//
//            launch                      all ranks ended            shim gone, nobody left, GPU memory free
//   (none) ---------> STARTING/RUNNING ------------------> EXITED -----------------------------------------> RELEASED
//                           |    SIGTERM at once, SIGKILL at kill_at, again every kKillRepeat                    |
//                           +---------------------------------------------------------------------> unlisted: forgotten
//
// Rules: sets are compared by (epoch, revision); absence never kills, and in a set that was read back from disk it
// means nothing; nothing is started twice; a stop that began completes, whether or not the scheduler is still there;
// the agent has no grace deadline of its own.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sdk/base/time.h"

namespace glim::nodeagent {

struct TaskKey {
  std::uint64_t job = 0;
  std::uint32_t attempt = 0;
  std::uint32_t index = 0;
  friend auto operator<=>(const TaskKey&, const TaskKey&) = default;
};

// "job.attempt.index", as in GLIM_TASK.
std::string ToString(const TaskKey& key);

struct Revision {
  std::uint64_t epoch = 0;
  std::uint64_t revision = 0;
  friend auto operator<=>(const Revision&, const Revision&) = default;
};

// An interrupt as a level. `deadline` is on the agent's own clock: the grace left when the order came, added to that
// moment. It is told to the ranks, and nothing here acts on it.
struct Interrupt {
  std::uint32_t agreement = 0;
  std::string reason;
  std::string preemptor;
  TimePoint deadline;
  std::int64_t stop_step = -1;  // -1: not agreed yet
  bool no_agreement = false;
  bool withdrawn = false;
  std::string signal;       // empty unless the job wants a signal
  bool signal_all = false;  // to every process of the task; else to its programs (asked_processes.h)
};

struct Stop {
  std::string reason;
  std::int64_t term_ms = 0;  // 0: SIGKILL at once
};

struct DesiredTask {
  TaskKey key;
  bool launch = false;
  std::optional<Interrupt> interrupt;
  std::optional<Stop> stop;
};

struct Desired {
  Revision revision;
  // False for a set that was read back from disk after the agent's restart: its stops go on, but whether its launches
  // still hold only the scheduler can say.
  bool confirmed = false;
  std::vector<DesiredTask> tasks;
};

enum class Phase { kStarting, kRunning, kExited, kReleased };

struct ObservedTask {
  TaskKey key;
  Phase phase = Phase::kStarting;
  bool controllable = false;              // signals can reach it: its supervisor is known, or known to be gone
  bool orphan = false;                    // as last marked
  std::optional<Interrupt> raised;        // as last told to the ranks
  std::uint32_t signalled_agreement = 0;  // the newest agreement whose signal was sent
  bool terminated = false;                // a stop began
  TimePoint kill_at;                      // set as soon as a stop began
  TimePoint killed_at;                    // the newest SIGKILL
};

struct Observed {
  Revision accepted;
  std::vector<ObservedTask> tasks;
};

enum class ActionKind {
  kLaunch,
  kUpdateInterrupt,  // tell the ranks `interrupt`
  kSendSignal,       // signal-mode: send `interrupt.signal` once, note the agreement first
  kTerminate,        // SIGTERM; note kill_at
  kKill,             // SIGKILL; note kill_at and killed_at = now
  kForget,           // drop the record
  kReportLost,       // make a record: lost, released
  kMarkOrphan,       // for the log: listed no more, left alone
  kClearOrphan,
};

struct Action {
  ActionKind kind = ActionKind::kLaunch;
  TaskKey key;
  std::optional<Interrupt> interrupt;  // kUpdateInterrupt, kSendSignal
  TimePoint kill_at;                   // kTerminate, kKill
  std::string reason;                  // kTerminate, kKill, when an order asks for it
};

// How often SIGKILL is repeated for a task that does not go.
inline constexpr Duration kKillRepeat = Milliseconds(200);
// A deadline that moved by less than this is not told to the ranks again.
inline constexpr Duration kDeadlineSlack = Milliseconds(1000);

// Whether a set that came in replaces the one accepted: it does unless it is older.
bool Accepts(const Revision& accepted, const Revision& incoming);

// `now` and every TimePoint are on one clock that does not jump and outlives the agent (boot time). A desired state
// older than `observed.accepted` asks for nothing new; stops that began go on even then. Actions come in key order,
// those of one task in the order in which they are to be carried out.
std::vector<Action> Reconcile(const Desired& desired, const Observed& observed, TimePoint now);

// When Reconcile has to be asked again though nothing has happened; 0: no need.
TimePoint NextWake(const Observed& observed);

}  // namespace glim::nodeagent
