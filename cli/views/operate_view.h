// What a change by an operator comes to, for the one who is asked whether it is to be done. Pure.
#pragma once

#include <string>
#include <vector>

#include "glim/v1/operate_api.pb.h"
#include "sdk/base/time.h"

namespace glim::cli {

glim::v1::ListNodesRequest ListRequestFor(const std::string& node);
// Not there: a node without a name.
glim::v1::Node NodeOf(const glim::v1::ListNodesResponse& list, const std::string& name);

// What becomes of the node, and who is there.
std::string NodeChangeText(const glim::v1::Node& before, const glim::v1::CordonNodeResponse& after, TimePoint now,
                           bool colour);
std::string NodeChangeText(const glim::v1::Node& before, const glim::v1::DrainNodeResponse& after, TimePoint now,
                           bool colour);
std::string NodeChangeText(const glim::v1::Node& before, const glim::v1::UncordonNodeResponse& after, TimePoint now,
                           bool colour);

// The jobs as they are.
std::string JobsText(const std::vector<glim::v1::Job>& jobs, bool colour);
// The jobs, with what they lose if they are stopped without a save.
std::string JobsHitText(const std::vector<glim::v1::Job>& jobs, const glim::v1::WeighJobsResponse& risk, bool colour);
std::string PriorityChangeText(const glim::v1::SetJobPriorityRequest& request,
                               const glim::v1::SetJobPriorityResponse& answer, bool colour);
std::string MoveText(const glim::v1::MoveJobRequest& request, const glim::v1::MoveJobResponse& answer, bool colour);
std::string KillUserText(const glim::v1::CancelUserJobsRequest& request, const glim::v1::CancelUserJobsResponse& answer,
                         const glim::v1::WeighJobsResponse& risk, bool colour);

}  // namespace glim::cli
