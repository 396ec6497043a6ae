#include "scheduler/core/lifecycle/time_away.h"

#include <algorithm>

#include "scheduler/core/lifecycle/agreement_machine.h"
#include "scheduler/core/lifecycle/heard.h"
#include "scheduler/core/model/planted.h"

namespace glim::core {
namespace {

// What began at `since`, and a node whose last word was heard then: an order that it may not have heard does not count
// at all, another one as long as no report was overdue.
TimePoint UnheardFrom(const Policy& policy, TimePoint since, TimePoint heard) {
  return since >= heard ? since : heard + ReportEvery(policy);
}

// What of the time since then nobody has counted yet: while another node is away, that one's return counts it.
Duration Unheard(const Changes& changes, const Attempt& attempt, NodeId id, Duration away, TimePoint since) {
  TimePoint until = changes.now();
  for (const NodeId other : attempt.nodes) {
    if (other == id || !IsThere(changes.state(), attempt, other) || Speaks(changes.state(), other)) continue;
    until = std::min(until, UnheardFrom(changes.policy(), since, SpokeAt(changes.state(), other)));
  }
  const TimePoint from = UnheardFrom(changes.policy(), since, changes.now() - away);
  return std::max(Duration{}, until - from);
}

}  // namespace

void GiveTimeAway(Changes& changes, NodeId id, Duration away, bool returns) {
  const Attempt* attempt = changes.state().FindAttempt(changes.node(id).holder);
  if (!attempt || attempt->state == AttemptState::kClaimed || attempt->state == AttemptState::kEnded) return;
  // Half a period more is an agent that is late, and no cut.
  if (!returns && (NeedsNoReports(changes.policy()) || away <= ReportEvery(changes.policy()) * 3 / 2)) return;
  const TimePoint leader = changes.state().leader_since;
  if (attempt->stop != StopCause::kNone) {
    const Duration unheard = Unheard(changes, *attempt, id, away, std::max(attempt->stop_at, leader));
    changes.EditAttempt(attempt->id,
                        [&](Attempt& row) { row.stop_at = std::min(changes.now(), row.stop_at + unheard); });
    if (Planted(PlantedBug::kStopBeginsAgain)) {
      changes.EditAttempt(attempt->id, [&](Attempt& row) { row.stop_at = changes.now(); });
    }
    return;
  }
  if (attempt->state == AttemptState::kStarting) {
    const TimePoint began = std::max(attempt->started_at, leader);
    const TimePoint moved = StartSince(changes.state(), *attempt) + Unheard(changes, *attempt, id, away, began);
    changes.watch().attempts[attempt->id].last = std::min(changes.now(), moved);
  }
  if (const Agreement* open = attempt->open_agreement(); open && !Planted(PlantedBug::kTimeAwayCounts)) {
    // The order is the request, and the step for those that wait for it. A cut that began between the two counts from
    // its beginning.
    const auto unheard = [&](TimePoint since) { return Unheard(changes, *attempt, id, away, std::max(since, leader)); };
    const TimePoint last = std::max(open->requested_at, open->agreed_at);
    ExtendAgreement(changes, attempt->id, std::max(unheard(open->requested_at), unheard(last)));
  }
}

}  // namespace glim::core
