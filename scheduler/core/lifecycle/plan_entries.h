// What a write changes of that which a planning pass reads: a row whose entry differs from the old one's calls for a
// pass. Entries are compared whole. What only progress changes (steps, saves, costs) is not among it: a pass for each
// report would decide next to nothing.
//
// What is missing here, the simulator finds (World::CheckNoPassIsMissing). An entry points into its row.
#pragma once

#include <optional>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/feasibility.h"
#include "scheduler/core/model/planted.h"

namespace glim::core {

// To a plan, what starts and what runs are alike: each start would otherwise cost a pass more.
template <typename State>
constexpr State AsPlanned(State state) {
  return state == State::kStarting ? State::kRunning : state;
}

// A pointer that is compared by what it points to.
template <typename T>
struct ByValue {
  const T* value;
  friend bool operator==(const ByValue& a, const ByValue& b) { return *a.value == *b.value; }
};

struct JobToPlan {
  explicit JobToPlan(const Job& row)
      : state(AsPlanned(row.state)),
        not_before(row.not_before),
        waits_for_save(row.waits_for_save),
        hung_on{&row.hung_on},
        moved_off{&row.moved_off} {}
  JobState state;
  TimePoint not_before;
  NodeId waits_for_save;
  ByValue<decltype(Job::hung_on)> hung_on;
  ByValue<decltype(Job::moved_off)> moved_off;
  friend bool operator==(const JobToPlan&, const JobToPlan&) = default;
};

struct AttemptToPlan {
  explicit AttemptToPlan(const Attempt& row)
      : state(AsPlanned(row.state)),
        stops(row.stop != StopCause::kNone),
        agreements(row.agreements.size()),
        leaves(row.open_agreement() != nullptr),
        goes_on_first(leaves && (row.open_agreement()->swap_aborted || row.open_agreement()->moved)),
        place_kept_until(leaves && GoesOnElsewhere(row) && !Planted(PlantedBug::kPlaceForgotten)
                             ? row.open_agreement()->deadline
                             : TimePoint{}),
        elsewhere(leaves && row.open_agreement()->elsewhere),
        leaves_anyway(leaves && LeavesAnyway(row)),
        gives_link_up(row.zones.size() == 2 && LeavesItsLink(row)) {}
  AttemptState state;
  bool stops;
  std::size_t agreements;
  bool leaves;
  bool goes_on_first;          // it has the first claim on its nodes
  TimePoint place_kept_until;  // others may run there until then
  bool elsewhere;
  bool leaves_anyway;
  bool gives_link_up;
  friend bool operator==(const AttemptToPlan&, const AttemptToPlan&) = default;
};

struct NodeToPlan {
  explicit NodeToPlan(const Node& row)
      : state(row.state),
        usable(IsUsable(row)),
        may_be_measured(MayBeMeasured(row)),
        suspect_until(row.suspect_until),
        suspicion(row.validation.need == ValidationNeed::kSuspicion),
        lemon(row.lemon),
        holder(row.holder),
        claim(row.claim),
        labels{&row.labels},
        allowed_folders{&row.allowed_folders},
        only_uid(row.only_uid),
        needs_uid(row.needs_uid),
        cordon{&row.cordon} {}
  NodeState state;
  bool usable;
  bool may_be_measured;
  TimePoint suspect_until;  // left out while others fit, as with the next two: what is kept for a job moves
  bool suspicion;
  bool lemon;
  AttemptId holder;
  AttemptId claim;
  ByValue<NodeLabels> labels;
  ByValue<decltype(Node::allowed_folders)> allowed_folders;
  decltype(Node::only_uid) only_uid;
  decltype(Node::needs_uid) needs_uid;
  ByValue<decltype(Node::cordon)> cordon;
  friend bool operator==(const NodeToPlan&, const NodeToPlan&) = default;
};

// `old`: null for a new row.
template <typename Entry, typename Row>
bool CallsForAPass(const Row* old, const Row& row) {
  return old == nullptr || !(Entry(*old) == Entry(row));
}

}  // namespace glim::core
