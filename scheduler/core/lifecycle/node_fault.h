// What an agent finds wrong with its own node, such as a full disk. As long as the agent says so, the node is given to
// no job (IsUsable); what runs there runs on.
#pragma once

#include <string>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// `fault`: as reported; empty: there is none. The history has its beginning and its end, once each.
void SeeNodeFault(Changes& changes, NodeId node, const std::string& fault);

}  // namespace glim::core
