// What an agent removed of ended jobs' saves is told to the history: the jobs' own rows may be gone by then.
#pragma once

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/event.h"

namespace glim::core {

void NoteSavesRemoved(Changes& changes, const SavesRemoved& event);

}  // namespace glim::core
