// The newest desired state that the agent has taken in, kept in STATE_DIR/desired.pb (private: launches hold the jobs'
// environment), and the cluster to which the folder belongs. Not thread-safe.
#pragma once

#include <string>

#include "glim/v1/agent_api.pb.h"
#include "sdk/base/result.h"

namespace glim::nodeagent {

class DesiredStore {
 public:
  explicit DesiredStore(std::string state_dir) : state_dir_(std::move(state_dir)) {}

  // The cluster that the folder belongs to from now on. An empty `cluster_id` asks for the one it was claimed for
  // before. FAILED_PRECONDITION when it belongs to another cluster: its tasks are not this one's.
  Result<std::string> Claim(const std::string& cluster_id);
  // An empty set when nothing was ever saved.
  Result<v1::DesiredState> Load();
  // `durable`: it is on the disk, not only in the page cache, when this returns.
  Status Save(const v1::DesiredState& set, bool durable);

 private:
  const std::string state_dir_;
};

}  // namespace glim::nodeagent
