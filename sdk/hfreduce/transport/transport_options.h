// How the leaders of nodes are to talk to each other.
#pragma once

#include <cstdint>
#include <string>

#include "sdk/base/time.h"
#include "sdk/hfreduce/rendezvous/secret.h"

namespace glim::hfreduce {

enum class TransportKind : std::uint8_t { kTcp = 0, kUcx = 1 };

// A value.
struct TransportOptions {
  TransportKind kind = TransportKind::kTcp;
  // Of the communicator, 1 to 96 bytes, the same on every node and unlike that of any other: whoever does not say it is
  // refused.
  std::string id;
  // Of this node, as its peers reach it; a free port is picked.
  std::string listen_address = "127.0.0.1";
  // A peer that acknowledges nothing for this long, its machine or link gone, counts as dead.
  Duration peer_timeout = Seconds(30);
  std::string congestion;       // tcp(7) TCP_CONGESTION; empty: the system's
  int socket_buffer_bytes = 0;  // each way; 0: the system's, which grow as needed
  std::string ucx_tls = "tcp";  // UCX_TLS: "rc" where there is an RDMA device, "shm" on one host
  std::string ucx_net_devices;  // UCX_NET_DEVICES, such as "mlx5_0:1"; empty: what the environment's says, else all
  int service_level = -1;       // InfiniBand's, 0 to 15; -1: the device's default
  Secret secret;  // the same on every node: who does not have it is no peer; empty: nobody is asked for it
};

}  // namespace glim::hfreduce
