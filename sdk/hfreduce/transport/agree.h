// Connects the nodes of a communicator over what all of them can talk over. They agree through the store: each says
// what it offers, node 0 chooses for all, and verbs are kept only when every node has reached its neighbours.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "sdk/base/result.h"
#include "sdk/base/time.h"
#include "sdk/hfreduce/rendezvous/store.h"
#include "sdk/hfreduce/transport/transport.h"
#include "sdk/hfreduce/transport/transport_options.h"
#include "sdk/net/rdma.h"

namespace glim::hfreduce {

struct AgreeOptions {
  std::string wanted = "auto";  // auto, tcp, ucx, verbs (choice.h): the same on every node
  // As for ConnectTransport; `ucx_net_devices` is what was asked for here. `kind` and `ucx_tls` are chosen.
  TransportOptions transport;
  std::string rdma_folder = net::kRdmaFolder;  // another one in tests
};

struct Agreed {
  std::unique_ptr<Transport> transport;
  // For the log, where there was something to choose: "2 nodes talk over TCP; node 1: mlx5_0:1 is DOWN".
  std::string line;
};

// Every node of 0 to `nodes` - 1 calls it. Every node gets the same choice, or the same error but for what it has seen
// itself: FAILED_PRECONDITION (what was asked for cannot be had: node, device and state are named), RESOURCE_EXHAUSTED
// (memory cannot be registered), those of ConnectTransport. Takes `timeout` at most, verbs that fail half of that.
Result<Agreed> ConnectAgreed(const AgreeOptions& options, NodeIndex self, NodeIndex nodes,
                             std::span<const NodeIndex> peers, Store& store, Duration timeout);

// In the place of ConnectAgreed, on a node that cannot take part: all others get this error, too.
void RefuseToAgree(const std::string& id, NodeIndex self, Store& store, const Status& why);

}  // namespace glim::hfreduce
