// Whose fault a failed start is. Whoever finds the fault says so by the kind of Status; the shim and glim-init hand it
// on as a word, and the agent reports it (docs/protocols/agent-sync.md). Pure.
#pragma once

#include <sys/types.h>

#include <string>

#include "sdk/base/status.h"

namespace glim::nodeagent {

enum class StartFault {
  kNode,         // another node may do better
  kJob,          // no node would: the order itself cannot be carried out
  kPathMissing,  // a path that the job names is not there, or not its user's to use: the job's fault, or the node's
  kDisk,         // the disk of the agent's state folder takes nothing: nobody's, and nothing is counted
};

// "node", "job", "path", "disk".
const char* ToWord(StartFault fault);
StartFault StartFaultOf(const std::string& word);  // kNode for what is none

// INVALID_ARGUMENT is about the order, so the job's fault.
StartFault FaultOf(const Status& status);

// Of a path that is not there on this node; FaultOf tells it from others.
Status PathMissing(const std::string& field, const std::string& path);

// Of a path that the user may not use with whose rights the task runs; counted like one that is not there.
Status PathDenied(const std::string& field, const std::string& path, uid_t uid);

// Of Glim's own folder on storage that is not as it has to be, as `why` says; counted likewise.
Status PathUntrusted(const std::string& field, const std::string& path, const std::string& why);

// A Status that FaultOf finds this fault in.
Status StartFailure(StartFault fault, const std::string& message);

// The message, and after it the fix.
std::string WithFix(const Status& status);

}  // namespace glim::nodeagent
