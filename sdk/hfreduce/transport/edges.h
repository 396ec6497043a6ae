// One TCP connection to each peer, made and checked. TcpTransport sends everything over it; UcxTransport only learns
// from it that a peer has died.
#pragma once

#include <span>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/hfreduce/rendezvous/store.h"
#include "sdk/hfreduce/transport/transport.h"
#include "sdk/hfreduce/transport/transport_options.h"
#include "sdk/io/unique_fd.h"
#include "sdk/net/deadline.h"

namespace glim::hfreduce {

struct Edge {
  NodeIndex peer = 0;
  UniqueFd socket;  // nonblocking, no delay, hello said both ways
};

// As ConnectTransport says. One edge for each peer, in the order of `peers`.
Result<std::vector<Edge>> ConnectEdges(const TransportOptions& options, NodeIndex self,
                                       std::span<const NodeIndex> peers, Store& store, const net::Deadline& deadline);

}  // namespace glim::hfreduce
