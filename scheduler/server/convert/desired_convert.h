// What a node should be running, as the message its agent gets. Pure: `now` is handed in.
#pragma once

#include <map>

#include "glim/v1/agent_api.pb.h"
#include "scheduler/core/model/policy.h"
#include "scheduler/server/loop/snapshot.h"
#include "sdk/task_environment/task_environment.h"

namespace glim::server {

// What all tasks of one attempt share in their environment. A gang of a thousand nodes is told to a thousand agents:
// whoever builds several sets from the same snapshot keeps one cache for them. Not for several threads, and not for
// longer than the snapshot.
class GangCache {
 public:
  const GangEnvironment& For(const Snapshot& snapshot, const core::Attempt& attempt);

 private:
  std::map<core::AttemptId, GangEnvironment> gangs_;
};

v1::DesiredState BuildDesiredState(const Snapshot& snapshot, core::NodeId node, const core::Policy& policy,
                                   TimePoint now, GangCache* cache);

}  // namespace glim::server
