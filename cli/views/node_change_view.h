// What becomes of a node by `glim admin node return`, remove, label, invite and revoke, and of all silent ones by
// `glim admin outage resolve`, for the one who is asked whether it is to be done. Pure.
#pragma once

#include <string>

#include "glim/v1/admin_api.pb.h"
#include "glim/v1/client_api.pb.h"

namespace glim::cli {

// `node` is as it is now; without a state: no agent of its name has registered.
std::string NodeReturnText(const glim::v1::Node& node);
std::string NodeRemoveText(const glim::v1::Node& node, bool connected);
std::string NodeRevokeText(const glim::v1::Node& node);
std::string NodeLabelText(const glim::v1::Node& node, const glim::v1::LabelNodeRequest& request);
std::string NodeInviteText(const glim::v1::Node& node, const glim::v1::InviteNodeRequest& request);

// `silent`: those that would be judged lost.
std::string OutageEndText(const glim::v1::ListNodesResponse& silent);

}  // namespace glim::cli
