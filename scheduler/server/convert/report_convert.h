// What agents say, checked and turned into events. Pure. A refusal names the field.
#pragma once

#include <vector>

#include "glim/v1/agent_api.pb.h"
#include "scheduler/core/model/event.h"
#include "sdk/base/result.h"

namespace glim::server {

// Sizes, names and words; not who it is (cluster, protocol and epoch are the stream's business).
Result<core::NodeConnected> HelloToEvent(const v1::Hello& hello);

// What the report says of the policy's checkpoint root; of another one it says nothing that counts.
void RootToEvent(const v1::NodeReport& report, const core::Policy& policy, core::NodeReported* event);

Result<std::vector<core::ObservedTask>> ReportToTasks(const v1::NodeReport& report);

}  // namespace glim::server
