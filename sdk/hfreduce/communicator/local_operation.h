// A request as the processes of one node see it.
#pragma once

#include "sdk/base/time.h"
#include "sdk/hfreduce/communicator/request.h"
#include "sdk/hfreduce/node/exchange.h"
#include "sdk/hfreduce/tree/topology.h"

namespace glim::hfreduce {

// `delivers` and `takes` say who of `node` has a part in it; on a node without one nobody does.
NodeOperation LocalOperationOf(const Request& request, const Topology& topology, std::uint32_t node);

// Tells when the processes of a node have done nothing for too long.
class LocalWatch {
 public:
  LocalWatch(Exchange& exchange, Duration timeout) : exchange_(exchange), timeout_(timeout) {}
  // Fails the segment if a process is gone or behind. `patient`: what they wait for is not on this node.
  void Tick(TimePoint now, bool patient);

 private:
  Exchange& exchange_;
  Duration timeout_;
  std::uint64_t beats_ = 0;
  TimePoint moved_;
};

}  // namespace glim::hfreduce
