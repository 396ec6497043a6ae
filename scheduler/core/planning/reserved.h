// What reservations mean for a pass: whose nodes are which's, who has to leave for them, which nodes a job may have.
//
// Nodes    named ones are a reservation's from the moment it is made. A share gets its nodes when it comes near: the
//          policy's longest grace and two starts before. They are its team's, free ones (most of one zone), emptying
//          ones, then those of the cheapest victims. It keeps them, and one that goes out is replaced while there are
//          others. Before that it counts for the nodes that it would get by what is free now.
// Leave    an attempt of another team is asked so long before the begin as it is known to take: half as much again as
//          its interrupts took on average, and 5 s; its grace where it was not interrupted yet, and never more.
// Start    a job of another team starts there before the begin if its time limit is over by then, or if it can be
//          there for twice (restore + save) and its grace: half of what it does there is useful. Where it is not known
//          to be over by then it takes other free nodes first.
//
// Pure. Private to the planner and to advice. Costs nothing where there are no reservations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/plan.h"
#include "scheduler/core/model/policy.h"

namespace glim::core {

// What a reservation is to a job, or a node with its reservations: the first that holds, from the end.
enum class ReservedFor : std::uint8_t {
  kOpen,    // nothing
  kOwn,     // in force for its team
  kAvoid,   // it may begin while the job is there: other free nodes come first
  kClosed,  // the job does not start there now
};

struct PassReservation {
  const Reservation* row = nullptr;
  std::vector<NodeId> nodes;  // ascending; as long as it has none of its own, those that it would get
};

class Reserved {
 public:
  // All are lent and outlive it.
  Reserved(const ClusterState& state, const Policy& policy, TimePoint now);
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;

  bool empty() const { return all_.empty(); }
  const std::vector<PassReservation>& all() const { return all_; }  // by begin, then name

  // For the plan. `look_again`: when somebody is to be asked, or nodes are to be chosen; 0: never.
  const std::vector<std::pair<std::string, std::vector<NodeId>>>& changed() const { return changed_; }
  const std::vector<ReservedLeave>& leaves() const { return leaves_; }
  TimePoint look_again() const { return look_again_; }

  // What each of these is to a job that would start now.
  std::vector<ReservedFor> StandingOf(const std::vector<const Reservation*>& rows, const Job& job) const;

 private:
  void Choose();
  void ChooseLeaves();
  void AskAt(AttemptId attempt, const Reservation& row, TimePoint at);
  Duration LeadOf(const Job& job, const Attempt& attempt, const Reservation& row) const;
  std::vector<NodeId> Named(const Reservation& row) const;
  std::vector<NodeId> Share(const Reservation& row, bool exact) const;
  std::set<NodeId> TakenBeside(const Reservation& row) const;
  ReservedFor StandingOf(const Reservation& row, const Job& job) const;
  void LookAgain(TimePoint at);

  const ClusterState& state_;
  const Policy& policy_;
  const TimePoint now_;
  std::vector<PassReservation> all_;
  std::vector<std::pair<std::string, std::vector<NodeId>>> changed_;
  std::vector<ReservedLeave> leaves_;
  std::set<AttemptId> leaving_;
  TimePoint look_again_;
};

// Of a node: `reserved` has of each node which of the rows that StandingOf was asked about it is of.
ReservedFor StandingAt(const std::vector<std::vector<std::uint32_t>>& reserved,
                       const std::vector<ReservedFor>& standing, std::uint32_t node);

// How long before a begin an attempt of that job is asked to leave.
Duration LeaveLead(const Policy& policy, const Job& job);
// Less is no use to it: it would be restored, and save again.
Duration UsefulRun(const Policy& policy, const Job& job);
// How long before its begin a share's nodes are chosen.
Duration ChoiceLead(const Policy& policy);

}  // namespace glim::core
