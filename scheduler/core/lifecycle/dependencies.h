// What jobs wait for of other jobs (`after` of the spec).
//
//   submitted:   what is fulfilled already is left out of Job::waits_for
//   a job ends:  its dependants drop what that end fulfils, and are planned when nothing is left
//   otherwise:   the job fails, and its message names the dependency and how that ended. With `keep` (812:ok:keep) it
//                stays in waits_for: the job is blocked for good, counts as unfinished, and the blocker says how to go
//                on
//
// Only jobs that are there may be named, and a job's number is given at its submission: so there are no cycles.
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

enum class DependencyStanding : std::uint8_t { kPending, kFulfilled, kBroken };

// Of a dependency that was in a job's waits_for. `other` null: the job is forgotten, which can only be said of one that
// did not end as asked, for else it would not be waited for any more.
DependencyStanding StandingOf(const Job* other, DependencyKind when);

// Refuses jobs that are not known: kFailedPrecondition, reason NO_SUCH_JOB, field after[i].
Status CheckDependencies(const ClusterState& state, const JobSpec& spec);

// What of the spec's `after` a job that is submitted now waits for.
std::vector<Dependency> Unfulfilled(const ClusterState& state, const JobSpec& spec);

// A job that fails because of a dependency, and the words for people.
struct BrokenDependant {
  JobId job;
  std::string message;
};

// The job is over: its dependants are told. Those are returned that are to fail by it.
std::vector<BrokenDependant> TellDependants(Changes& changes, JobId ended);

// The job itself, if a dependency of it is broken already and not to be kept; else nothing.
std::vector<BrokenDependant> BrokenBy(const ClusterState& state, const Job& job);

// One for each of the job's waits_for; those that are broken first.
std::vector<Blocker> DependencyBlockers(const Tables& tables, const Job& job);

}  // namespace glim::core
