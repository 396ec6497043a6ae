// The scheduler's core in three functions. Pure: no clock, no I/O, no randomness, no threads, no wire types.
//
//   events --> Apply --> rows changed, nodes to sync, replies          (lifecycle/: one file an operation)
//                 state marked dirty
//   state, policy, now --> MakePlan --> Plan --> Apply(PlanDecided)    (planning/planner.h: the numbered recipe)
//   a batch of events --> Decide --> ONE commit --> replies and wishes (the loop that everyone runs; Drive is both)
//
// Same events, same binary: same bytes out. Ties break by id, iteration is ordered, decisions use integers.
// CheckInvariants (check/invariants.h) says what holds after every event.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/event.h"
#include "scheduler/core/model/policy.h"
#include "scheduler/core/model/transition.h"
#include "scheduler/core/planning/planner.h"

namespace glim::core {

// Takes one event in. Never fails as a whole: a refusal is in the reply, and then nothing else has changed.
Transition Apply(ClusterState& state, const Policy& policy, const Event& event);

// Reports of nodes that came at one time, taken in together. Each event is a NodeReported.
Transition Apply(ClusterState& state, const Policy& policy, std::span<const Event> reports);

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

// What decides; the simulator compares others with MakePlan.
using PlanFn = Plan (*)(const ClusterState& state, const Policy& policy, TimePoint now);

// Applies a batch, and plans if the state became dirty. `mutations` are the caller's to commit, at once and all or
// none, with what it has to say of the replies.
struct Decided {
  std::vector<Mutation> mutations;
  DriveResult result;
};
Decided Decide(ClusterState& state, const Policy& policy, std::span<const Event> batch, PlanFn make_plan = MakePlan);

// Decides, and commits everything once. Simulator, what-if and tests run this; the server's loop decides and commits.
DriveResult Drive(ClusterState& state, const Policy& policy, std::span<const Event> batch, const CommitFn& commit,
                  PlanFn make_plan = MakePlan);

}  // namespace glim::core
