// One message to every peer and one from each, before anything depends on them: devices that are up may still lead
// nowhere.
#pragma once

#include <span>

#include "sdk/base/result.h"
#include "sdk/hfreduce/transport/transport.h"
#include "sdk/net/deadline.h"

namespace glim::hfreduce {

// Of a size that goes by a put where the transport has puts. All peers call it, right after the transport was made.
// UNAVAILABLE names the peers that were not heard, or what the transport says of them; the transport is of no use then.
Status Probe(Transport& transport, std::span<const NodeIndex> peers, const net::Deadline& deadline);

}  // namespace glim::hfreduce
