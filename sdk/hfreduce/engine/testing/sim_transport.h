// A network of nodes in one thread, for tests: everything that may happen next happens in an order drawn from a seed.
//
// Messages of one (sender, receiver, stream) stay in order; between streams, Sent, credits that come back and the end
// of a connection they do not. A payload is read when it arrives, not when it is sent, and a landing is filled with
// rubbish before it is filled with the payload: who touches memory at the wrong time gets a wrong result.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sdk/base/rng.h"
#include "sdk/hfreduce/transport/transport.h"

namespace glim::hfreduce {

class SimTransport;

// Not thread-safe.
class SimNetwork {
 public:
  // `neighbours[node]`: to whom it is connected.
  SimNetwork(std::vector<std::vector<NodeIndex>> neighbours, std::uint64_t seed);
  ~SimNetwork();

  Transport& transport(NodeIndex node);
  // The node is gone: its neighbours hear of it, some of its messages still come. Drive it no more.
  void Kill(NodeIndex node, const std::string& why);
  // The node's engine has closed: its control messages still come, what it gave up does not.
  void Disconnect(NodeIndex node);
  // While it is true of a message, its credit does not come back.
  void WithholdCredits(std::function<bool(NodeIndex from, NodeIndex to, Stream)> withheld) {
    withheld_ = std::move(withheld);
  }

  // Payload from one node to another so far, without kControl.
  std::uint64_t PayloadBytes(NodeIndex from, NodeIndex to) const;
  // The most messages that a (sender, receiver, stream) had in flight or unread, without kControl.
  std::uint32_t most_in_flight() const { return most_in_flight_; }

 private:
  friend class SimTransport;
  using Lane = std::tuple<NodeIndex, NodeIndex, Stream>;  // from, to

  Rng rng_;
  std::vector<std::unique_ptr<SimTransport>> transports_;
  std::map<Lane, std::uint32_t> in_flight_;
  std::map<std::pair<NodeIndex, NodeIndex>, std::uint64_t> payload_bytes_;
  std::uint32_t most_in_flight_ = 0;
  std::function<bool(NodeIndex, NodeIndex, Stream)> withheld_ = [](NodeIndex, NodeIndex, Stream) { return false; };
};

}  // namespace glim::hfreduce
