// Attempts that leave by themselves (a yield: `leaving` outside of an open round), and interrupts that lost much or
// were for nothing: what they change for the job's next attempts.
//
//   idle      nothing durable was made, and it was over before min_run, whatever it reported: the program does nothing
//             but come back. Its job pauses like after a failure: restart.backoff (at least a second), doubled with
//             each in a row, up to ten minutes
//   in a row  two yields before min_run, though each has saved: the next attempt begins a min_run after the last one
//             began. A save is the job's own word, and so bounds nothing
//   costly    an interrupt that lost more than a quantum doubles the job's quantum (interrupt_terms.h)
//   aborted   its preemptor went away when it was too late to take the interrupt back: the job goes on where it was. It
//             comes first in its class, unless its user has done that to themselves, and what was left of its quantum
//             is its next attempt's: an interrupt that came to nothing renews none
//
// Pure functions of rows and policy.
#pragma once

#include "scheduler/core/model/policy.h"
#include "scheduler/core/model/rows.h"

namespace glim::core {

// The agreement by which an ended attempt left; null: it left by itself. One that was withdrawn asks nobody to leave,
// and one that was opened because a rank left unasked is the job's own doing.
const Agreement* LeftBy(const Attempt& ended);

// Of an ended attempt: it was interrupted, and nobody had asked it to leave.
bool IsYield(const Attempt& ended);
// Of an ended attempt of this job: it was over before it had run for min_run, and at least a second.
bool WasShort(const Policy& policy, const Job& job, const Attempt& ended);
// ... and made nothing durable.
bool DidNothing(const Policy& policy, const Job& job, const Attempt& ended);
// The job's message in a pause of the second kind; how long that is follows.
inline constexpr char kLeftAgain[] = "left by itself soon after its start, again: the next attempt waits for ";
// How long a job pauses after so many idle yields in a row (1 and above).
Duration YieldPause(const JobSpec& spec, std::uint32_t idle_yields);
// Of yields that were not idle: when the next attempt may begin; 0: at once. `before`: the attempt before; null: none.
TimePoint NextAfterYield(const Policy& policy, const Job& job, const Attempt& ended, const Attempt* before);

// Of an ended attempt of this job: an interrupt, other than its user's suspend, lost a quantum or more.
bool LostMoreThanItsQuantum(const Policy& policy, const Job& job, const Attempt& ended);

// Of an ended attempt of this job: it left for nobody in the end, or to go on elsewhere.
bool ComesFirst(const Job& job, const Attempt& ended);
// Of an attempt that starts now with `quantum`, if nothing was left of another one. `last`: the attempt before; null:
// none.
Duration QuantumLeft(const Policy& policy, const Attempt* last, Duration quantum, TimePoint now);

}  // namespace glim::core
