#include "scheduler/core/lifecycle/health_act.h"

#include "scheduler/core/lifecycle/claims.h"
#include "scheduler/core/lifecycle/lemons.h"
#include "scheduler/core/lifecycle/node_loss.h"
#include "scheduler/core/lifecycle/suspicion.h"
#include "scheduler/core/model/cordon.h"
#include "sdk/base/cut_text.h"

namespace glim::core {
namespace {

constexpr std::size_t kReasonBytesMax = 500;  // as of an operator's (model/cordon.cc)

StopCause CauseOf(Outcome ends) {
  switch (ends) {
    case Outcome::kGpuFailure: return StopCause::kGpuFailure;
    case Outcome::kNetwork: return StopCause::kNetwork;
    case Outcome::kHang: return StopCause::kHang;
    default: return StopCause::kNodeFailure;
  }
}

void StopWhoIsThere(Changes& changes, NodeId id, Outcome ends, const std::string& why) {
  if (const AttemptId attempt = RunsOn(changes, id)) StopAttempt(changes, attempt, CauseOf(ends), why);
}

// An operator's cordon in the operator's words; but what is found ends by no clock, and who is there leaves for it. The
// history has the addition alone: what stood there before is in it already.
void KeepOut(Changes& changes, NodeId id, const std::string& reason, bool drain) {
  const bool ends = static_cast<bool>(changes.node(id).cordon->until);
  const bool begins_drain = drain && !changes.node(id).cordon->drain;
  if (!ends && !begins_drain) return;
  const std::string added = (ends ? "it does not end by itself any more: " : "it is drained: ") + reason;
  changes.EditNode(id, [&](Node& node) {
    Cordon& cordon = *node.cordon;
    cordon.drain = cordon.drain || drain;
    cordon.until = {};
    cordon.reason = CutText(cordon.reason.empty() ? added : cordon.reason + "; " + added, kReasonBytesMax);
  });
  Cordon noted = *changes.node(id).cordon;
  noted.reason = added;
  changes.Note(HistoryKind::kNodeCordoned, changes.node(id).holder, id, CordonInWords(noted));
}

void TakeOutByHealth(Changes& changes, NodeId id, const std::string& reason, bool drain) {
  if (changes.node(id).cordon) {
    const Cordon& there = *changes.node(id).cordon;
    if (there.by != kByHealth) return KeepOut(changes, id, reason, drain);
    if (there.drain || !drain) return;
  }
  changes.EditNode(id, [&](Node& node) {
    if (!node.cordon) node.cordon.emplace().since = changes.now();
    node.cordon->by = kByHealth;
    node.cordon->reason = reason;
    node.cordon->drain = drain;
  });
  const std::string words = CordonInWords(*changes.node(id).cordon);
  changes.Note(HistoryKind::kNodeCordoned, changes.node(id).holder, id, words);
  GiveUpClaims(changes, id, "node " + changes.node(id).name + " is " + words);
}

}  // namespace

std::string ReasonOfHealth(const std::string& node, const std::string& evidence, const std::string& repair) {
  const std::string next =
      std::string("; ") + (repair.empty() ? "" : repair + ", then: ") + "glim admin node uncordon " + node;
  const std::size_t room = next.size() < kReasonBytesMax ? kReasonBytesMax - next.size() : 0;
  return CutText(evidence, room) + CutText(next, kReasonBytesMax);
}

AttemptId RunsOn(const Changes& changes, NodeId id) {
  const AttemptId holder = changes.node(id).holder;
  const Attempt* attempt = changes.state().FindAttempt(holder);
  return attempt && attempt->state != AttemptState::kClaimed ? holder : AttemptId{};
}

void CordonByHealth(Changes& changes, NodeId id, const std::string& evidence, const std::string& repair) {
  TakeOutByHealth(changes, id, ReasonOfHealth(changes.node(id).name, evidence, repair), false);
}

void ActOnHealth(Changes& changes, NodeId id, const HealthFinding& found, const HealthJudgement& judged) {
  const std::string name = changes.node(id).name;
  const std::string why = "node " + name + ": " + found.evidence;
  const std::string reason = ReasonOfHealth(name, found.evidence, judged.repair);
  const JobId failed = FailsWith(changes, id);
  switch (judged.verdict) {
    case HealthVerdict::kRecorded:
    case HealthVerdict::kJobsFault: return;
    case HealthVerdict::kRestarted:
      if (!found.told_before) Suspect(changes, id, found.evidence);
      StopWhoIsThere(changes, id, judged.ends, why);
      break;
    case HealthVerdict::kDrained:
      if (judged.ends != Outcome::kNone) StopWhoIsThere(changes, id, judged.ends, why);
      TakeOutByHealth(changes, id, reason, true);
      break;
    case HealthVerdict::kCordoned:
      if (!found.lasts) return TakeOutByHealth(changes, id, reason, false);
      return GiveUpClaims(changes, id, why);
    case HealthVerdict::kOut:
      TakeOutByHealth(changes, id, reason, false);
      Abandon(changes, id, why, CauseOf(judged.ends));
      break;
  }
  if (judged.ends != Outcome::kNone) CountFailure(changes, id, failed, judged.ends, found.device);
}

}  // namespace glim::core
