// How a job is asked to leave, how long it has for that, and how long it is left alone: what the spec says, under the
// policy's caps. Pure functions of rows and policy.
#pragma once

#include <string>

#include "scheduler/core/model/policy.h"
#include "scheduler/core/model/rows.h"
#include "sdk/base/status.h"
#include "sdk/base/time.h"

namespace glim::core {

// By its signal at the request; else by the flag on the task socket. With interrupt.mode auto: until a rank of one of
// its attempts has said hello.
bool IsAskedBySignal(const Job& job);

struct GraceTerms {
  Duration grace;
  Duration max_grace;  // not less
};

// The spec's, cut to what the policy gives the class in force: of what is borrowed, low. A round has the terms of the
// policy at its opening.
GraceTerms GraceOf(const Policy& policy, const JobSpec& spec, PriorityClass in_force);
// No class has a longer grace.
Duration LongestGraceCap(const Policy& policy);

// Refuses a grace above the class' cap. What the spec need not say (60 s, 300 s) is never refused: GraceOf cuts it.
Status CheckGrace(const Policy& policy, const JobSpec& spec);

// What a restore of the job counts as, for its protection and for the choice of victims. The job itself says how long
// its restores take: the policy bounds how much that shelters it.
Duration RestoreCostOf(const Policy& policy, const Job& job);

// How long an attempt that began may run, whoever asks: min_run_factor x (save + restore), at most min_run_max. What is
// borrowed has no more than a job that nothing is known of.
Duration MinRunOf(const Policy& policy, const Job& job, bool borrowed = false);
// Of a job that nothing is known of.
Duration DefaultMinRun(const Policy& policy);
// No attempt's is longer.
Duration LongestMinRun(const Policy& policy);

// `base` doubled so often, up to a day: for a job whose interrupts lost more than a quantum each.
Duration DoubledQuantum(Duration base, std::uint32_t doublings);
// More change nothing.
inline constexpr std::uint32_t kQuantumDoublingsMax = 11;
// Of a quantum that is doubled: a policy may give none at all.
inline constexpr Duration kQuantumLeast = Minutes(1);

// For people: "SIGTERM, until the SDK or glim-task says hello; grace 60s".
std::string AskedInWords(const Policy& policy, const Job& job);
// Why its class leaves its attempts alone for longer than others'; empty: it does not.
std::string ProtectionInWords(const Policy& policy, const Job& job);

}  // namespace glim::core
