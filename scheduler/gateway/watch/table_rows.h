// The rows that pages show of nodes and of the queue, as JSON in the one dialect: whole, or what changed between two
// snapshots. A changed row has its key and the fields that are not as they were; the reader lays them over what it has.
//
// Jobs are shown by what everybody may see of them: one text serves all readers. Of nodes operators see more.
// Pure functions; the snapshots are immutable.
#pragma once

#include <string>
#include <vector>

#include "scheduler/server/loop/snapshot.h"

namespace glim::gateway {

// {"version":2,"reset":true,"jobs":[...]}, then {"version":2,"jobs":[...]} where there are many.
std::vector<std::string> QueueState(const server::Snapshot& snapshot);
// {"version":2,"removed":[812],"jobs":[...]}; empty: nothing of the queue changed. Jobs that have ended are removed.
std::string QueueChanges(const server::Snapshot& before, const server::Snapshot& after);

// Likewise, with "nodes" and the names of those that were removed. When a node was last heard of is not among the
// fields: it changes all the time, and `state` says what follows from it.
std::vector<std::string> NodesState(const server::Snapshot& snapshot, bool whole);
std::string NodesChanges(const server::Snapshot& before, const server::Snapshot& after, bool whole);

}  // namespace glim::gateway
