#include "scheduler/core/lifecycle/reservations.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/lifecycle/agreement_machine.h"
#include "scheduler/core/lifecycle/claims.h"
#include "scheduler/core/lifecycle/job_machine.h"
#include "scheduler/core/lifecycle/reservation_rules.h"
#include "scheduler/core/lifecycle/seen.h"
#include "scheduler/core/model/feasibility.h"

namespace glim::core {
namespace {

constexpr Duration kNowIsWithin = Seconds(30);

std::string ByWhom(const std::string& user) { return " by " + (user.empty() ? "an operator" : user); }

// "r1: 2 nodes of pool a100 reserved for team vision from ... until ... by ann: a deadline"
std::string Sentence(const Reservation& row) {
  return row.name + ": " + ReservedWhat(row) + " " + ReservedInWords(row);
}

void DropClaimsOf(Changes& changes, AttemptId id, const std::string& why) {
  DropClaims(changes, id, why);
  Requeue(changes, id.job, {});
}

// Nobody else waits for what is in force.
void ClearClaims(Changes& changes, const Reservation& row) {
  for (const ReservedNode& reserved : row.nodes) {
    const Node* node = changes.state().FindNode(reserved.id);
    if (!node) continue;
    const std::string why = "node " + node->name + " is " + ReservedInWords(row);
    for (const AttemptId id : {node->claim, node->holder}) {
      const Attempt* attempt = changes.state().FindAttempt(id);
      const bool waits = attempt && attempt->state == AttemptState::kClaimed;
      if (waits && !IsOf(row, changes.job(id.job).team)) DropClaimsOf(changes, id, why);
    }
  }
}

void Begin(Changes& changes, Reservation row) {
  row.begun_at = changes.now();
  changes.Write(row);
  changes.Note(HistoryKind::kReservationBegan, {}, {}, Sentence(row));
  ClearClaims(changes, row);
}

void AskToLeave(Changes& changes, AttemptId id, const Reservation& row) {
  const Attempt& attempt = changes.attempt(id);
  const auto on = std::find_if(attempt.nodes.begin(), attempt.nodes.end(), [&](NodeId n) { return HasNode(row, n); });
  if (on == attempt.nodes.end() || LeavesAnyway(attempt)) return;
  const std::string why = "node " + changes.node(*on).name + " is " + ReservedInWords(row);
  if (attempt.state == AttemptState::kClaimed) return DropClaimsOf(changes, id, why);
  AgreementRequest request;
  if (const Agreement* open = attempt.open_agreement()) request.preemptor = open->preemptor;
  request.reason = why;
  request.moved = request.by_operator = true;
  OpenAgreement(changes, id, request);
}

// `nodes`: as planned; those that were its own stay so since when they were.
void TakeNodes(Changes& changes, Reservation row, std::vector<NodeId> nodes) {
  std::sort(nodes.begin(), nodes.end());
  std::vector<ReservedNode> after;
  for (const NodeId id : nodes) {
    const auto had =
        std::find_if(row.nodes.begin(), row.nodes.end(), [&](const ReservedNode& n) { return n.id == id; });
    if (changes.state().FindNode(id)) after.push_back(had != row.nodes.end() ? *had : ReservedNode{id, changes.now()});
  }
  row.nodes = std::move(after);
  changes.Write(row);
  if (row.begun_at) ClearClaims(changes, row);
}

// What a request leaves out is as it was. Not the team: none is nobody's (reservation_rules.h refuses that).
void KeepUnsaid(const Reservation& before, Reservation& row) {
  if (!row.begins_at) row.begins_at = before.begins_at;
  if (!row.ends_at) row.ends_at = before.ends_at;
  if (row.reason.empty()) row.reason = before.reason;
  if (row.node_names.empty() && row.share == 0 && (row.pool.empty() || before.share > 0)) {
    row.share = before.share;
    row.node_names = before.node_names;
  }
  if (row.share > 0 && row.pool.empty()) row.pool = before.pool;
}

}  // namespace

Reservation ReservationAfter(const Reservation* before, const SetReservation& event, TimePoint now) {
  Reservation row = event.reservation;
  std::sort(row.node_names.begin(), row.node_names.end());
  row.node_names.erase(std::unique(row.node_names.begin(), row.node_names.end()), row.node_names.end());
  if (before) KeepUnsaid(*before, row);
  const bool as_it_was = before && before->begins_at == row.begins_at;
  // Who says "now" has a clock of their own, and the way here takes a moment.
  const bool just_now = row.begins_at < now && row.begins_at + kNowIsWithin >= now;
  if (!row.begins_at || (just_now && !as_it_was)) row.begins_at = now;
  row.made_by = event.by;
  row.made_at = now;
  row.nodes.clear();
  row.begun_at = {};
  // The planner takes away what it has no more; another team's nodes are its own from now on.
  if (before && before->team == row.team && before->pool == row.pool) row.nodes = before->nodes;
  if (before && before->begins_at == row.begins_at) row.begun_at = before->begun_at;
  return row;
}

void ApplySetReservation(Changes& changes, const SetReservation& event) {
  const Reservation* before = changes.state().FindReservation(event.reservation.name);
  if (event.expected && !IsAsSeen(before, *event.expected)) {
    changes.reply().status = ChangedMeanwhile("reservation " + event.reservation.name);
    return;
  }
  const Reservation after = ReservationAfter(before, event, changes.now());
  changes.reply().status = CheckReservation(changes.state(), before, after, changes.now());
  if (!changes.reply().status.ok() || event.dry_run) return;
  changes.Note(HistoryKind::kReservationSet, {}, {}, Sentence(after));
  changes.Write(after);
  TurnReservations(changes);
}

void ApplyRemoveReservation(Changes& changes, const RemoveReservation& event) {
  const Reservation* row = changes.state().FindReservation(event.name);
  if (event.expected && !IsAsSeen(row, *event.expected)) {
    changes.reply().status = ChangedMeanwhile("reservation " + event.name);
    return;
  }
  if (!row) {
    changes.reply().status = Status(StatusCode::kNotFound, "there is no reservation " + event.name.substr(0, 64))
                                 .WithReason("NO_SUCH_RESERVATION")
                                 .WithField("name")
                                 .WithFix("glim admin reserve ls lists them; those that are over go by themselves");
    return;
  }
  if (event.dry_run) return;
  changes.Note(HistoryKind::kReservationRemoved, {}, {}, Sentence(*row) + "; taken back" + ByWhom(event.by));
  changes.EraseReservation(event.name);
}

void TurnReservations(Changes& changes) {
  const auto& turns = changes.state().index().reservation_turns;
  while (!turns.empty() && turns.begin()->first <= changes.now()) {
    const Reservation row = *changes.state().FindReservation(turns.begin()->second);
    if (!row.begun_at) {
      Begin(changes, row);
      continue;
    }
    changes.Note(HistoryKind::kReservationEnded, {}, {}, Sentence(row));
    changes.EraseReservation(row.name);
  }
}

TimePoint NextReservationTurn(const ClusterState& state) {
  const auto& turns = state.index().reservation_turns;
  return turns.empty() ? TimePoint{} : turns.begin()->first;
}

bool IsKeptFrom(const ClusterState& state, NodeId node, const std::string& team) {
  const auto names = state.index().reserved.find(node);
  if (names == state.index().reserved.end()) return false;
  return std::any_of(names->second.begin(), names->second.end(), [&](const std::string& name) {
    const Reservation& reservation = *state.FindReservation(name);
    return reservation.begun_at && KeepsOut(reservation, team, reservation.begins_at);
  });
}

void ApplyReserved(Changes& changes, const Plan& plan) {
  for (const auto& [name, nodes] : plan.reserved) {
    if (const Reservation* row = changes.state().FindReservation(name)) TakeNodes(changes, *row, nodes);
  }
  for (const ReservedLeave& leave : plan.leaves) {
    const Attempt* attempt = changes.state().FindAttempt(leave.attempt);
    const Reservation* row = changes.state().FindReservation(leave.reservation);
    if (!attempt || !row || IsOf(*row, changes.job(leave.attempt.job).team)) continue;
    AskToLeave(changes, leave.attempt, Reservation(*row));
  }
}

}  // namespace glim::core
