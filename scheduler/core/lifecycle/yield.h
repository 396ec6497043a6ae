// Attempts that leave by themselves (a yield: `leaving` outside of an open round), and interrupts that lost much: what
// they change for the job's next attempts.
//
//   idle      no step, no save, and over before min_run: the program does nothing but come back. Its job pauses like
//             after a failure: restart.backoff (at least a second), doubled with each in a row, up to ten minutes
//   costly    an interrupt that lost more than a quantum doubles the job's quantum (interrupt_terms.h)
//
// Pure functions of rows and policy.
#pragma once

#include "scheduler/core/model/policy.h"
#include "scheduler/core/model/rows.h"

namespace glim::core {

// Of an ended attempt: it was interrupted, and nobody had asked it to leave.
bool IsYield(const Attempt& ended);
// Of an ended attempt of this job: it made no step and no save, and had not run for min_run.
bool DidNothing(const Policy& policy, const Job& job, const Attempt& ended);
// How long a job pauses after so many idle yields in a row (1 and above).
Duration YieldPause(const JobSpec& spec, std::uint32_t idle_yields);

// Of an ended attempt: an interrupt, other than its user's suspend, lost its quantum or more.
bool LostMoreThanItsQuantum(const Attempt& ended);

}  // namespace glim::core
