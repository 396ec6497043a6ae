#include "scheduler/core/lifecycle/cordon.h"

#include <algorithm>
#include <string>
#include <vector>

#include "scheduler/core/lifecycle/agreement_machine.h"
#include "scheduler/core/lifecycle/claims.h"
#include "scheduler/core/lifecycle/health_act.h"
#include "scheduler/core/lifecycle/heard.h"
#include "scheduler/core/lifecycle/lemons.h"
#include "scheduler/core/lifecycle/node_loss.h"
#include "scheduler/core/lifecycle/node_remove.h"
#include "scheduler/core/lifecycle/seen.h"
#include "scheduler/core/lifecycle/validation_need.h"
#include "scheduler/core/model/cordon.h"

namespace glim::core {
namespace {

// Longer is as good as for ever, and sums with a moment.
constexpr Duration kCordonLongest = Hours(24 * 366 * 10);

// The node that the event names; none with the refusal in the reply.
NodeId NodeNamed(Changes& changes, const std::string& name) {
  const auto known = changes.state().index().node_by_name.find(name);
  if (known != changes.state().index().node_by_name.end()) return known->second;
  changes.reply().status = NoSuchNode(name);
  return {};
}

bool CheckSeen(Changes& changes, NodeId id, const std::optional<Seen<Cordon>>& seen) {
  const Node& node = changes.node(id);
  if (!seen || IsAsSeen(node.cordon, *seen)) return true;
  changes.reply().status = ChangedMeanwhile("node " + node.name);
  return false;
}

void EndCordon(Changes& changes, NodeId id, const std::string& why) {
  const Node& before = changes.node(id);
  const bool was_bad = before.cordon->by == kByHealth || !before.validation.bad.empty();
  changes.EditNode(id, [](Node& node) { node.cordon.reset(); });
  changes.Note(HistoryKind::kNodeUncordoned, {}, id, why);
  if (!was_bad || !changes.policy().health.validate.after_repair) return;
  ToBeMeasured(changes, id, ValidationNeed::kRepair, "it was out by health: it takes no job before it was found good");
}

std::string GivenBackBy(const UncordonNode& event) { return "by " + (event.by.empty() ? "an operator" : event.by); }

// Who gives back what is not taken out, but waits to be measured, wants it as it is.
void TakeUnmeasured(Changes& changes, NodeId id, const UncordonNode& event) {
  changes.reply().node = id;
  if (event.dry_run) return;
  NotToBeMeasured(changes, id, "not any more, " + GivenBackBy(event) + ": it takes jobs as it is");
}

// Nobody may be there: no task, and nothing that might be one.
bool IsEmpty(const Node& node) {
  return !node.holder && node.stale_tasks.empty() && node.orphans.empty() && node.unproven.empty();
}

// Who holds claims alone has nothing there that could leave.
bool IsJudgedNow(const Changes& changes, const Attempt& attempt, TimePoint due) {
  return attempt.state == AttemptState::kClaimed || AreHeardAt(changes.state(), changes.policy(), attempt, due);
}

void AdvanceDrain(Changes& changes, NodeId id) {
  const Node& node = changes.node(id);
  const Cordon cordon = *node.cordon;
  if (IsEmpty(node)) {
    changes.EditNode(id, [](Node& row) { row.cordon->drained = true; });
    changes.Note(HistoryKind::kNodeDrained, {}, id, CordonInWords(*changes.node(id).cordon));
    return;
  }
  const AttemptId holder = node.holder;
  if (!holder) return;
  const Attempt& attempt = changes.attempt(holder);
  if (attempt.state == AttemptState::kEnded || attempt.stop != StopCause::kNone) return;
  const Agreement* open = attempt.open_agreement();
  const bool sooner = open && cordon.deadline && open->deadline > cordon.deadline;
  if (!open || !open->by_operator || sooner) {
    AgreementRequest request;
    if (open) request.preemptor = open->preemptor;
    request.reason = "node " + node.name + " is " + CordonInWords(cordon);
    request.moved = request.by_operator = true;
    OpenAgreement(changes, holder, request);
  }
  const bool is_due = cordon.deadline && changes.now() >= cordon.deadline;
  const Attempt& asked = changes.attempt(holder);
  if (is_due && asked.stop == StopCause::kNone && IsJudgedNow(changes, asked, cordon.deadline)) {
    StopAttempt(changes, holder, StopCause::kDeadline, "did not leave until the deadline of the drain");
  }
}

}  // namespace

Status CheckCordon(const CordonNode& event) {
  if (event.reason.empty()) return InvalidArgument("reason", "is missing", "say why, for those who ask for the node");
  if (Status reason = CheckReason(event.reason); !reason.ok()) return reason;
  if (event.lasts.ms < 0 || event.lasts > kCordonLongest) {
    return InvalidArgument("for_ms", "is not between 0 and ten years", "say how long, or leave it out");
  }
  if (event.deadline.ms < 0 || event.deadline > kCordonLongest) {
    return InvalidArgument("deadline_ms", "is not between 0 and ten years", "say until when, or leave it out");
  }
  if (event.drain && event.lasts.ms > 0 && event.deadline > event.lasts) {
    return InvalidArgument("deadline_ms", "lies behind the end of the drain",
                           "let it last as long as its deadline at least, or leave one of the two out");
  }
  return Status::Ok();
}

Cordon CordonAfter(const Node& node, const CordonNode& event, TimePoint now) {
  Cordon cordon;
  if (node.cordon) {
    cordon.since = node.cordon->since;
    cordon.drain = node.cordon->drain;
    cordon.drained = node.cordon->drained;
    cordon.deadline = node.cordon->deadline;
  } else {
    cordon.since = now;
  }
  cordon.by = event.by;
  cordon.reason = event.reason;
  if (event.lasts.ms > 0) cordon.until = now + event.lasts;
  if (!event.drain) return cordon;
  cordon.drain = true;
  cordon.deadline = event.deadline.ms > 0 ? now + event.deadline : TimePoint{};
  return cordon;
}

void ApplyCordon(Changes& changes, const CordonNode& event) {
  changes.reply().status = CheckCordon(event);
  if (!changes.reply().status.ok()) return;
  const NodeId id = NodeNamed(changes, event.name);
  if (!id) return;
  changes.reply().node = id;
  if (!CheckSeen(changes, id, event.expected) || event.dry_run) return;
  const Cordon cordon = CordonAfter(changes.node(id), event, changes.now());
  changes.EditNode(id, [&](Node& node) { node.cordon = cordon; });
  changes.Note(HistoryKind::kNodeCordoned, changes.node(id).holder, id, CordonInWords(cordon));
  GiveUpClaims(changes, id, "node " + event.name + " is " + CordonInWords(cordon));
}

void ApplyUncordon(Changes& changes, const UncordonNode& event) {
  const NodeId id = NodeNamed(changes, event.name);
  if (!id || !CheckSeen(changes, id, event.expected)) return;
  if (!changes.node(id).cordon && WaitsToBeMeasured(changes.node(id))) return TakeUnmeasured(changes, id, event);
  if (!changes.node(id).cordon) {
    changes.reply().status = Status(StatusCode::kFailedPrecondition, "node " + event.name + " is not cordoned")
                                 .WithReason("NOT_CORDONED")
                                 .WithField("node")
                                 .WithFix("a quarantined node comes back with: glim admin node return " + event.name);
    return;
  }
  changes.reply().node = id;
  if (event.dry_run) return;
  EndCordon(changes, id, GivenBackBy(event));
  GiveBackLemon(changes, id);
}

void AdvanceDrains(Changes& changes) {
  const std::set<NodeId>& draining = changes.state().index().draining;
  if (draining.empty()) return;
  for (const NodeId id : std::vector<NodeId>(draining.begin(), draining.end())) AdvanceDrain(changes, id);
}

void EndCordons(Changes& changes) {
  const auto& ends = changes.state().index().cordon_ends;
  while (!ends.empty() && ends.begin()->first <= changes.now()) {
    const NodeId id = ends.begin()->second;
    EndCordon(changes, id, "by itself: its time is over; it was " + CordonInWords(*changes.node(id).cordon));
  }
}

TimePoint NextCordonTimer(const ClusterState& state, const Policy& policy) {
  TimePoint wake;
  const auto earliest = [&](TimePoint at) {
    if (at && (!wake || at < wake)) wake = at;
  };
  if (!state.index().cordon_ends.empty()) earliest(state.index().cordon_ends.begin()->first);
  for (const NodeId id : state.index().draining) {
    const Node& node = *state.FindNode(id);
    const Attempt* holder = state.FindAttempt(node.holder);
    if (!holder || holder->stop != StopCause::kNone || !node.cordon->deadline) continue;
    earliest(JudgedAt(state, policy, *holder, node.cordon->deadline));
  }
  return wake;
}

}  // namespace glim::core
