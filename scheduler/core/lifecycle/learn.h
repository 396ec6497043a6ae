// What is kept of work beyond its rows: shares and life tables (learnt_rows.h). They do not go with the jobs.
#pragma once

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// An attempt has ended: what it had counts for its job's user and team.
void LearnShare(Changes& changes, const Attempt& ended);
// A job has ended: how long it took tells of others like it. One that was cancelled tells nothing.
void LearnLife(Changes& changes, const Job& ended);
// A store that was written before there were such rows: what its jobs tell, once.
void LearnFromOldRows(Changes& changes);

}  // namespace glim::core
