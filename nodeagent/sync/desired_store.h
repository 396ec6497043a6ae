// The newest desired state that the agent has taken in, kept in STATE_DIR/desired.pb (private: launches hold the jobs'
// environment), and the cluster to which the folder belongs. Not thread-safe.
#pragma once

#include <string>

#include "glim/v1/agent_api.pb.h"
#include "sdk/base/result.h"
#include "sdk/io/spare_file.h"

namespace glim::nodeagent {

class DesiredStore {
 public:
  explicit DesiredStore(std::string state_dir) : state_dir_(std::move(state_dir)) {}

  // The cluster that the folder belongs to from now on. An empty `cluster_id` asks for the one it was claimed for
  // before. Where the file that says so cannot be used, that is set aside and the folder claimed anew.
  // FAILED_PRECONDITION when it belongs to another cluster: its tasks are not this one's.
  Result<std::string> Claim(const std::string& cluster_id);
  struct Kept {
    v1::DesiredState set;
    std::string boot_id;  // of the machine's life in which it was saved; empty: an earlier version did not note it
  };
  // An empty set when nothing was ever saved, and when what was saved cannot be used: that is set aside, and logged.
  Kept Load();
  // `durable`: it is on the disk, not only in the page cache, when this returns.
  // `spare`: in the same folder, for a full disk.
  Status Save(const v1::DesiredState& set, const std::string& boot_id, bool durable, SpareFile& spare);

 private:
  std::string ReadOwner(const std::string& path);

  const std::string state_dir_;
};

}  // namespace glim::nodeagent
