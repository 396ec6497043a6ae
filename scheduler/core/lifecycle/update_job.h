// Changes of a job's spec after its submission: its name, its time limit, and from when on it may start. The rest of a
// spec is what ranks run by, and stays.
//
// A backfill hold (planner.h, 7) counts on the time limit of a job that has nodes. So that limit may be lowered, and
// only an operator may raise it. Of the strand, as all operations; a refusal is in the reply, and changes nothing.
#pragma once

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/event.h"

namespace glim::core {

void ApplyUpdate(Changes& changes, const UpdateJob& event);

}  // namespace glim::core
