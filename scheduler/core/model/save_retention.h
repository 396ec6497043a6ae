// Whose saves may go: how long ended jobs' saves stay where Glim itself chose the folder (a node's own, and
// CHECKPOINT_ROOT/jobs). Pure.
//
// A job that has not ended (it waits, runs, is interrupted, suspended or held) is never asked about: all that it has
// stays, whatever the bounds say. A folder that a user named (checkpoint.dir) is the user's. What some job that has not
// ended names (its `after`, workdir, mounts, checkpoint.dir, environment or command) stays as long as that job has not.
//
//   ended ---- age of its outcome, from its end or the last change of its saves ----> may go
//     |
//     +------- ended jobs' saves in that folder are more than bytes_max: successes first, oldest first ----> may go
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/policy.h"

namespace glim::core {

// What an agent found of a job: one folder.
struct HeldSaves {
  JobId job;
  std::int64_t bytes = 0;
  TimePoint changed_at;  // the newest of all that lies there; users may set it, also ahead of the clock
  bool noted = false;    // an earlier verdict has said of it that its job had ended, and that the folder is Glim's
};

enum class SavesIn { kOwnFolder, kSharedRoot };

struct SavesVerdict {
  std::vector<JobId> remove;  // ascending
  // Ended and Glim's, ascending: to be noted beside the folder, so that it can go when nobody knows the job any more.
  std::vector<JobId> note;
};

SavesVerdict JudgeSaves(const Tables& tables, const Policy& policy, TimePoint now, SavesIn where,
                        const std::vector<HeldSaves>& held);

// Until when an ended job's saves stay at least, as far as age goes; 0: for good, or not said, since they are a user's,
// lie below another root, or the job has not ended.
TimePoint SavesKeptUntil(const Policy& policy, const Job& job);

// The one node that looks through the checkpoint root: of those that see it, the one with the lowest id. None: there is
// no root, or nobody sees it.
NodeId RootCollector(const Tables& tables, const Policy& policy);

}  // namespace glim::core
