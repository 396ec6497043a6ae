// Whether an address that an operator wrote can be one. Nobody is asked: a name that does not resolve is a name. Pure.
#pragma once

#include <string>

#include "sdk/base/status.h"

namespace glim::nodeagent {

// A host name, an IPv4 address or an IPv6 address, with brackets or without: no port. The refusal names `option`.
Status CheckHost(const std::string& option, const std::string& host);

// Where the scheduler listens: HOST:PORT, or what gRPC takes for a socket's path (unix:PATH).
Status CheckTarget(const std::string& option, const std::string& target);

// Whether only this machine is reached by it: 127.0.0.0/8, ::1, localhost, a Unix socket.
bool IsLoopbackTarget(const std::string& target);

}  // namespace glim::nodeagent
