// Options about who this node is, and whom it believes. Pure, but for the working folder.
#pragma once

#include "nodeagent/options/agent_options.h"

namespace glim::nodeagent {

// Who lets anybody give it orders must not make containers, which is root's work: INVALID_ARGUMENT for an agent with
// containers, without identity, whose scheduler is not on this machine.
Status CheckIdentityOptions(const AgentOptions& options);

// Of a host where users log in: what it needs of CompleteOptions.
Status CompleteLoginOptions(AgentOptions* options);

}  // namespace glim::nodeagent
