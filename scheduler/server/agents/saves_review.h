// SavesReview: answers agents who ask which of the saves that they hold may go (core/model/save_retention.h). Any
// thread, from the newest snapshot; what was removed becomes an event. What they found is kept for reports
// (held_saves.h).
#pragma once

#include <string>

#include "glim/v1/agent_api.pb.h"
#include "scheduler/server/agents/held_saves.h"
#include "scheduler/server/limits/caller_limits.h"
#include "scheduler/server/loop/scheduler_loop.h"
#include "scheduler/server/nodes/agent_gate.h"

namespace glim::server {

class SavesReview {
 public:
  // Loop, limits, gate and what is held outlive it.
  SavesReview(SchedulerLoop* loop, std::string cluster_id, CallerLimits* limits, const AgentGate* gate, HeldSaves* held)
      : loop_(loop), cluster_id_(std::move(cluster_id)), limits_(limits), gate_(gate), held_(held) {}

  // Refused: too much at once, another cluster, no such node, another machine of its name, a state that is stale, and
  // what AgentGate::CheckNode refuses. `peer`: PeerHost.
  Status Answer(const AgentPeer& agent, const std::string& peer, const v1::SavesHeld& held,
                v1::SavesVerdict* verdict) const;

 private:
  void Keep(core::NodeId node, const v1::SavesHeld& held) const;

  SchedulerLoop* const loop_;
  const std::string cluster_id_;
  CallerLimits* const limits_;
  const AgentGate* const gate_;
  HeldSaves* const held_;
};

}  // namespace glim::server
