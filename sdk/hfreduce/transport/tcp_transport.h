// Frames and payloads over one TCP connection for each peer.
#pragma once

#include <memory>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/hfreduce/transport/edges.h"
#include "sdk/hfreduce/transport/transport.h"

namespace glim::hfreduce {

// UNAVAILABLE: no descriptor is left.
Result<std::unique_ptr<Transport>> MakeTcpTransport(std::vector<Edge> edges);

}  // namespace glim::hfreduce
