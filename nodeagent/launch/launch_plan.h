// From the scheduler's launch order to what the shim runs. Pure but for what is handed in.
#pragma once

#include <string>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/core/reconcile.h"
#include "nodeagent/images/image_order.h"
#include "nodeagent/options/agent_options.h"
#include "nodeagent/task/task_files.h"
#include "sdk/base/result.h"
#include "sdk/task_environment/task_environment.h"

namespace glim::nodeagent {

// Whether it runs in another system than the node's own.
bool NamesImage(const v1::TaskLaunch& launch);

// `base`: BaseVariables. `image`: that of the launch, once it is here.
// INVALID_ARGUMENT with the field when the order cannot be carried out; that is a failed start,
// not a broken agent.
Result<LaunchSpec> PlanLaunch(const AgentOptions& options, const TaskVariables& base, const TaskKey& key,
                              const std::string& task_folder, const v1::TaskLaunch& launch,
                              const ImageAnswer* image = nullptr);

}  // namespace glim::nodeagent
