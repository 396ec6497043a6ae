// What a node is made of, and what its health checks found: parts of NodeText. Pure: the present is handed in.
#pragma once

#include <string>

#include "glim/v1/node.pb.h"
#include "sdk/base/time.h"

namespace glim::cli {

// Empty: the scheduler has not been told. GPUs, cards and disks are tables.
std::string HardwareText(const glim::v1::Node& node, bool colour);

// What is so now, then what happened, the newest first. Empty: the scheduler has not been told of the node's hardware,
// and nothing was found.
std::string HealthText(const glim::v1::Node& node, TimePoint now, bool colour);

// Attempts that ended by the node's fault, a line each, the newest first. Empty: none did.
std::string FailuresText(const glim::v1::Node& node, TimePoint now);
// What that comes to, for its note; empty: nothing.
std::string LemonText(const glim::v1::Node& node);

// How its labels are made to fit what its agent found; empty: they do.
std::string MendLabelsText(const glim::v1::Node& node);

}  // namespace glim::cli
