// `glim-agent enrol`: makes this machine a node. The token of the invitation comes on standard input; the scheduler is
// known by the fingerprint of its authority, which the invitation tells as well; the key is made here and stays here.
#pragma once

#include <string>

#include "nodeagent/options/command_line.h"
#include "sdk/base/result.h"

namespace glim::nodeagent {

struct Enrolled {
  std::string node, cluster_id, listen_agents;
  bool login = false;
};

// Blocks, at most a minute. The identity that was there stays unless all is well; that there is room for the new one is
// known before the invitation is used. INVALID_ARGUMENT names the option; else what the probe, the scheduler or the
// files say.
Result<Enrolled> Enrol(const EnrolOrder& order, const std::string& token);

}  // namespace glim::nodeagent
