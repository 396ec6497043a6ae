// Snapshots of the workdirs of jobs that are about to be submitted: packed, and laid where every node of the cluster
// sees them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "glim/v1/client_api.pb.h"
#include "sdk/base/result.h"

namespace glim::cli {

struct SnapshotPlace {
  std::string root;    // the cluster's checkpoint root; empty: it has none
  std::string marker;  // name of the file in it by which it is known
};

// Fills in the snapshot of each spec that has one (set, and empty: as the spec's reader leaves it). Specs of one
// workdir share one archive. `write`: the archives are laid below the root; otherwise all is only checked. `note` gets
// a line for each archive. INVALID_ARGUMENT, field `code`: a workdir that cannot be packed, or no root, or one that
// this host does not see; nothing is half written.
Status TakeSnapshots(const SnapshotPlace& place, bool write, const std::function<void(const std::string&)>& note,
                     std::vector<glim::v1::JobSpec>* specs);

}  // namespace glim::cli
