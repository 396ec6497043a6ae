#include "scheduler/core/lifecycle/claims.h"

#include "scheduler/core/lifecycle/agreement_machine.h"
#include "scheduler/core/lifecycle/attempt_stop.h"
#include "sdk/base/check.h"

namespace glim::core {

void StopAttempt(Changes& changes, AttemptId id, StopCause cause, const std::string& message) {
  if (changes.attempt(id).state == AttemptState::kClaimed) return DropClaims(changes, id, message);
  StopTasks(changes, id, cause, message);
}

void DropClaims(Changes& changes, AttemptId id, const std::string& why) {
  const Attempt before = changes.attempt(id);
  GLIM_CHECK(before.state == AttemptState::kClaimed, "only a claimed attempt has claims to drop");
  changes.EditAttempt(id, [&](Attempt& attempt) {
    attempt.state = AttemptState::kEnded;
    attempt.outcome = Outcome::kClaimDropped;
    attempt.message = why;
    attempt.ended_at = changes.now();
    attempt.nodes_held = 0;
  });
  for (const NodeId node : before.nodes) {
    changes.EditNode(node, [&](Node& row) {
      if (row.claim == id) row.claim = {};
      if (row.holder == id) row.holder = {};
    });
  }
  for (const AttemptId victim : before.victims) {
    const Attempt* attempt = changes.state().FindAttempt(victim);
    if (attempt && attempt->open_agreement() && attempt->open_agreement()->preemptor == id)
      WithdrawAgreement(changes, victim);
  }
  changes.Note("claim_dropped", id, {}, why);
}

}  // namespace glim::core
