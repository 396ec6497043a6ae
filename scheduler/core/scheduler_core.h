// The scheduler's core in four functions. Pure: no clock, no I/O, no randomness, no threads, no wire types.
//
//   events --> Apply --> rows changed, nodes to sync, replies          (apply.cc dispatches; one file an operation)
//                 state marked dirty
//   state, policy, now --> MakePlan --> Plan --> Apply(PlanDecided)    (planner.h: the numbered recipe)
//   a batch of events --> Drive --> ONE commit --> replies and wishes  (drive.h: the loop that everyone runs)
//
// Same events, same binary: same bytes out. Ties break by id, iteration is ordered, decisions use integers.
// CheckInvariants (invariants.h) says what holds after every event.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "scheduler/core/cluster_state.h"
#include "scheduler/core/event.h"
#include "scheduler/core/policy.h"
#include "scheduler/core/transition.h"

namespace glim::core {

// Takes one event in. Never fails as a whole: a refusal is in the reply, and then nothing else has changed.
Transition Apply(ClusterState& state, const Policy& policy, const Event& event);

// Reports of nodes that came at one time, taken in together. Each event is a NodeReported.
Transition Apply(ClusterState& state, const Policy& policy, std::span<const Event> reports);

Plan MakePlan(const ClusterState& state, const Policy& policy, TimePoint now);

// Makes the mutations durable, all or none. On failure the caller of Drive must stop using the state: it is ahead of
// the store, and only a fresh Load brings them together again.
using CommitFn = std::function<Status(const std::vector<Mutation>&)>;

struct DriveResult {
  Status commit;               // replies and wishes are only valid if ok
  std::vector<Reply> replies;  // one an event, in order
  std::set<NodeId> sync;
  TimePoint wake_at;  // when TimePassed must come at the latest; 0: not needed
  bool planned = false;
  std::size_t mutations = 0;
};

// Applies a batch, plans if the state became dirty, and commits everything once. Server, simulator, what-if and tests
// all run this.
DriveResult Drive(ClusterState& state, const Policy& policy, std::span<const Event> batch, const CommitFn& commit);

// When the next deadline falls due; 0: none.
TimePoint NextWake(const ClusterState& state, const Policy& policy);

// What a node should be running: pure function of the rows (desired.cc).
struct DesiredTask {
  TaskId id;
  bool launch = false;       // the agent has not reported it yet
  const Job* job = nullptr;  // valid as long as the tables it was made from
  const Attempt* attempt = nullptr;
  bool interrupt = false;  // the attempt's last round is in force (or withdrawn, see its state)
  bool stop = false;
  std::string stop_reason;
};
std::vector<DesiredTask> DesiredFor(const Tables& tables, NodeId node);

}  // namespace glim::core
