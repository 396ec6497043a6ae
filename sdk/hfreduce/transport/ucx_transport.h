// Payloads by one-sided puts into registered memory of the peer, frames by active messages (OpenUCX). One context and
// worker for each transport, so that each has a service level, and with it a traffic class, of its own.
//
// Sources: ucx_transport.cc, ucx_transport_absent.cc (a build without UCX)
#pragma once

#include <memory>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/hfreduce/rendezvous/store.h"
#include "sdk/hfreduce/transport/edges.h"
#include "sdk/hfreduce/transport/transport.h"
#include "sdk/hfreduce/transport/transport_options.h"
#include "sdk/net/deadline.h"

namespace glim::hfreduce {

// Whether this build has UCX.
bool UcxIsBuilt();

// Takes the edges to learn from them that a peer has died, which UCX does not notice on every wire. UNAVAILABLE with
// UCX's own words where a device or transport that the options ask for is not there.
Result<std::unique_ptr<Transport>> MakeUcxTransport(const TransportOptions& options, NodeIndex self,
                                                    std::vector<Edge> edges, Store& store,
                                                    const net::Deadline& deadline);

}  // namespace glim::hfreduce
