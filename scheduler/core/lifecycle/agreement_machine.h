// One agreement on the step to stop at: docs/protocols/interrupt.md. At most one is open in an attempt.
//
//                 every rank acknowledged: S = max(hold)
//   NOTIFYING ------------------------------------------> AGREED --------+
//     |     |                                                            |
//     |     +--- agree_by passes ---> NO_AGREEMENT ----------------------+--> ENDED (with the attempt)
//     |                                                                  |
//     v  the preemptor went away                    SIGNALLED -----------+
//   WITHDRAWN                                       (jobs that are asked by a signal, interrupt_terms.h; a
//                                                    hello in such a round changes the next one)
//
// S never changes once committed. Withdrawal is possible in NOTIFYING alone, and before any rank has acted on it (left,
// or ended); later, the attempt leaves all the same and counts as swap_aborted. A rank that left while its agreement
// was being withdrawn, or for one that a restored store does not have, opens another one. The deadline (request +
// grace, moved by the job's wish up to max_grace) stops the attempt. It and agree_by are judged while every node of the
// attempt is heard, and the time in which one is not does not count (heard.h).
#pragma once

#include <string>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

struct AgreementRequest {
  AttemptId preemptor;  // none: a suspend, a time limit, or an operator
  std::string reason;
  bool suspend = false;
  bool time_limit = false;
  bool moved = false;        // it is to go on elsewhere: a place is kept for it, and it comes first in its class
  bool by_operator = false;  // a drain or a move
  bool elsewhere = false;    // with `moved`: its nodes are left out while others fit
};

// Raises the flag in every task. An attempt that has an open agreement keeps it (the new preemptor is noted). Where one
// of its nodes is drained until a deadline, nobody is told of more time than that, now and by what follows.
void OpenAgreement(Changes& changes, AttemptId attempt, const AgreementRequest& request);

// Acknowledgements, extensions, deadlines. Idempotent; called after every report and when time passes.
void AdvanceAgreement(Changes& changes, AttemptId attempt);

// The nodes will go to this attempt instead.
void ChangePreemptor(Changes& changes, AttemptId attempt, AttemptId preemptor);

// The preemptor is gone. If somebody else waits for one of the nodes, the agreement goes on for them.
void WithdrawAgreement(Changes& changes, AttemptId attempt);

// Notes that the attempt has left, if it had not by `was`, its last agreement as of before. For the end of an attempt.
void NoteLeft(Changes& changes, const Attempt& attempt, const Agreement& was);

// That much of its time was not heard by the scheduler: it gets it again, its full time from now at most. The deadline
// of a drain moves with it.
void ExtendAgreement(Changes& changes, AttemptId attempt, Duration by);

// A new leader begins: nobody is killed for the time in which no leader was there.
void GrantLeaderChange(Changes& changes, AttemptId attempt);

}  // namespace glim::core
