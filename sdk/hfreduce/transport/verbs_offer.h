// Whether this node can talk over verbs, and over which of its ports. Pure: the ports and the environment are told.
#pragma once

#include <string>
#include <vector>

#include "sdk/net/rdma.h"

namespace glim::hfreduce {

// What was asked for on this node. A value.
struct VerbsWish {
  std::string devices = "";  // of the options; empty: the environment's, else every usable port
  net::UcxVariables variables = {};
  bool stays_here = false;  // all peers are reached by the loopback interface
  bool built = true;        // with UCX
};

struct VerbsOffer {
  std::string tls;      // for UCX_TLS, such as "rc"; empty: no verbs
  std::string devices;  // for UCX_NET_DEVICES
  std::string why_not;  // "mlx5_0:1 is DOWN"
  // Somebody named a port that cannot be used: more than that there is none.
  bool named = false;

  bool possible() const { return !tls.empty(); }
};

VerbsOffer OfferVerbs(const VerbsWish& wish, const std::vector<net::RdmaPort>& ports);

// For UCX's own tcp: the devices that were asked for without RDMA ports, which it cannot use; "all": none are left.
std::string InterfacesAmong(const VerbsWish& wish, const std::vector<net::RdmaPort>& ports);

}  // namespace glim::hfreduce
