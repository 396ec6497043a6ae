// Makes the transport of a node: finds its peers through the store, connects to them, and proves to each who it is.
#pragma once

#include <memory>
#include <span>

#include "sdk/base/result.h"
#include "sdk/base/time.h"
#include "sdk/hfreduce/rendezvous/store.h"
#include "sdk/hfreduce/transport/transport.h"
#include "sdk/hfreduce/transport/transport_options.h"

namespace glim::hfreduce {

// Connects to `peers` (without `self`, no doubles), the lower index of each pair to the higher. Waits until every edge
// is there or the timeout has passed. Errors: INVALID_ARGUMENT (the field is named), DEADLINE_EXCEEDED (the peers that
// are missing are named), FAILED_PRECONDITION (a peer is of another communicator, version or kind of transport),
// UNIMPLEMENTED (this build has no UCX), those of the store. The store is not used after the return.
Result<std::unique_ptr<Transport>> ConnectTransport(const TransportOptions& options, NodeIndex self,
                                                    std::span<const NodeIndex> peers, Store& store, Duration timeout);

}  // namespace glim::hfreduce
