// What a node should be running, as the message its agent gets. Pure: `now` is handed in.
#pragma once

#include <map>
#include <string>

#include "glim/v1/agent_api.pb.h"
#include "scheduler/core/model/policy.h"
#include "scheduler/server/loop/snapshot.h"

namespace glim::server {

// What all tasks of one attempt share in their environment. A gang of a thousand nodes is told to a thousand agents:
// whoever builds several sets from the same snapshot keeps one cache for them. Not for several threads, and not for
// longer than the snapshot.
class GangCache {
 public:
  struct Gang {
    std::string hosts;  // comma separated, by node rank
    std::string zones;
    std::string gateways;         // node ranks
    std::string replica_sources;  // comma separated, each once
    std::string master_addr;
  };
  const Gang& For(const Snapshot& snapshot, const core::Attempt& attempt);

 private:
  std::map<core::AttemptId, Gang> gangs_;
};

v1::DesiredState BuildDesiredState(const Snapshot& snapshot, core::NodeId node, const core::Policy& policy,
                                   TimePoint now, GangCache* cache);

}  // namespace glim::server
