// What the nodes of a communicator talk over, from what was asked for and what each of them offers. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/base/status.h"
#include "sdk/hfreduce/transport/verbs_offer.h"

namespace glim::hfreduce {

struct Choice {
  enum class Way : std::uint8_t { kTcp, kUcxTcp, kVerbs };
  Way way = Way::kTcp;
  std::string why;  // not what was hoped for: "node 3: mlx5_0:1 is DOWN"
  Status error;     // what was asked for cannot be had; the field and a fix are named
};

// "auto": verbs where every node offers them, else TCP. "verbs": that or an error. "ucx": verbs, else UCX's own tcp,
// but an error where a node has a port that was named and is of no use. "tcp". `offers` are in the order of nodes.
Choice Choose(const std::string& wanted, const std::vector<VerbsOffer>& offers);

// What is done when a node could not set up or reach its neighbours over verbs; `failure` says which and why.
Choice ChooseWithoutVerbs(const std::string& wanted, const Status& failure);

}  // namespace glim::hfreduce
