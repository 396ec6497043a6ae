// A start that failed because storage did not answer: a path that the job names hung on a node. That is nobody's fault
// as far as one can tell. The job is tried again after a pause that doubles, as often as it takes: nothing is counted
// against it, and no node is suspected. Nodes where it hung are left out for this job while others fit. When the job
// runs elsewhere, the path answers there, and the nodes where it hung are suspected like after any failed start.
#pragma once

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// After such a start (StartVerdict::blameless): how long the job waits before the next try.
Duration NoteHungStorage(Changes& changes, const Attempt& ended);

// Every task of the attempt runs.
void StorageAnswers(Changes& changes, AttemptId running);

}  // namespace glim::core
