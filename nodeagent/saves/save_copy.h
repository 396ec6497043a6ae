// Copies a job's save from other nodes into this node's own checkpoint folder: published whole, or not at all.
//
//   STATE_DIR/checkpoints/.copy-JOB-N/   half a copy, private to the agent; what a crash leaves goes at the next copy
//                                        of that job and at the agent's start
//   STATE_DIR/checkpoints/JOB/LOCAL      the copy, once every byte has been checked and synced
//   STATE_DIR/copies/JOB-HASH            which save that copy is, and what its files looked like
//
// A path that is there says little: a program may write each save to the same one, and a gang's node has a part of it.
// So what is there counts as the save only when it is our own copy of that very save, untouched. Otherwise it is
// replaced in one step; of a save in parts, this node's own files stay beside those that came.
// Stateless functions that block; two of one job never at once (SaveCopier sees to that).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nodeagent/saves/save_source.h"
#include "nodeagent/task/task_user.h"
#include "sdk/base/status.h"

namespace glim::nodeagent {

struct CopyPlace {
  std::string state_dir;
  std::string node;                         // this node's name
  std::chrono::milliseconds stall{20'000};  // a source that sends nothing for so long is given up
  std::chrono::milliseconds busy{600'000};  // so long busy sources are asked again
};

struct CopyOrder {
  std::uint64_t job = 0;
  std::string local;
  std::string identity;                // tells this save from another at the same path: its attempt and step
  std::vector<SaveSource> sources;     // empty: this node has it
  bool parts = false;                  // each source has a part, and all are needed; else any one will do
  std::optional<TaskUser> owner = {};  // who the copy belongs to; none: the agent's own user
};

// The message names the save, each source and its cause. CANCELLED when `progress` says so.
Status CopySave(const CopyPlace& place, const CopyOrder& order, CopyProgress& progress);

// At the agent's start: removes half copies, and notes of copies that are gone.
void SweepCopies(const std::string& state_dir);

}  // namespace glim::nodeagent
