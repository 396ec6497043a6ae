// What agents say, checked and turned into events. Pure. A refusal names the field.
#pragma once

#include <string>
#include <vector>

#include "glim/v1/agent_api.pb.h"
#include "scheduler/core/model/event.h"
#include "scheduler/core/model/policy.h"
#include "sdk/base/result.h"

namespace glim::server {

// Sizes, names and words; not who it is (cluster, protocol and epoch are the stream's business).
Result<core::NodeConnected> HelloToEvent(const v1::Hello& hello);

// A node's labels, as an agent or an operator writes them; what is empty is empty, but for the pool.
Result<core::NodeLabels> LabelsFromProto(const v1::NodeLabels& proto);

// What the report says of the node itself, safe to show and bounded: the policy's checkpoint root (of another one it
// says nothing that counts), its faults, a prolog or an epilog that failed, the sockets that tasks reach, what its
// health checks find (health_convert.h).
void NodeToEvent(const v1::NodeReport& report, const core::Policy& policy, core::NodeReported* event);

Result<std::vector<core::ObservedTask>> ReportToTasks(const v1::NodeReport& report);

}  // namespace glim::server
