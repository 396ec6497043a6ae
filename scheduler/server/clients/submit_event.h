// What Submit and PlanJob make of a request. Pure.
#pragma once

#include <string>

#include "glim/v1/client_api.pb.h"
#include "scheduler/core/model/event.h"
#include "sdk/base/result.h"

namespace glim::server {

inline constexpr int kSpecsMax = 2'000;  // in one Submit; the message size has room for them

// Every spec is checked. INVALID_ARGUMENT names the field, in a batch with the number of its spec.
Result<core::SubmitJobs> SubmitEvent(std::string user, const v1::SubmitRequest& request);

}  // namespace glim::server
