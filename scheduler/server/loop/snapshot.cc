#include "scheduler/server/loop/snapshot.h"

namespace glim::server {

core::ClusterState CopyOfState(const Snapshot& snapshot) {
  core::ClusterState state = core::ClusterState::Of(snapshot.tables);
  state.verdicts = snapshot.verdicts;
  state.liveness = *snapshot.liveness;
  state.leader_since = snapshot.leader_since;
  state.outage = snapshot.outage;
  return state;
}

}  // namespace glim::server
