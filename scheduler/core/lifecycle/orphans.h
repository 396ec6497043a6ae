// Orphans: attempts that nodes run and the store does not know. They come with an older store, as one that was put back
// from a backup, or with a new one. Nobody can stop an orphan rightly: it may be all that is left of a job's work. So
// it is left running, its node gets no job, and its number goes to no job and no attempt of this store.
//
// Anybody with a node's key can say that something runs there. What touches jobs is therefore an orphan with a receipt
// alone: the scheduler gave it to the node at the launch, and can tell it from one that was made up (the shell says
// which: ObservedTask::receipt). Nor does one touch its job that was there by the store's own rows and is over: its
// node was away for so long that the job went on without it, and receipts are kept. Without a receipt (an agent of an
// earlier release, a lie), or of what is over, the node takes itself out, and that is all.
//
//   the store's job with an orphan
//     waits ------------------> it starts when the orphan has ended, or its node is lost or removed: SettleSave
//     is about to run, or runs
//       and has lost nothing by it but its start (no step, no save, not for min_run and node_lost_after)
//                            -> it makes way for the orphan, and waits: two would write the same saves
//       else ----------------> it runs on: the orphan's node was lost, or unheard for long
//
// Pure.
#pragma once

#include <vector>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// All that the node runs and the store does not know, as its agent has just told: with and without a receipt.
struct OrphansSeen {
  std::vector<AttemptId> proven, unproven;
};
void SeeOrphans(Changes& changes, NodeId node, const OrphansSeen& seen);

}  // namespace glim::core
