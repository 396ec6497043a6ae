#include "sdk/hfreduce/communicator/local_operation.h"

namespace glim::hfreduce {
NodeOperation LocalOperationOf(const Request& request, const Topology& topology, std::uint32_t node) {
  const Signature& signature = request.signature;
  NodeOperation operation{.signature = signature,
                          .in = request.in,
                          .out = request.out,
                          .one_result = request.one_result,
                          .on_device = request.on_device};
  if (!HasRoot(signature.kind)) return operation;
  const bool here = topology.NodeOf(signature.root) == node;
  const std::uint64_t root = here ? std::uint64_t{1} << (signature.root - topology.FirstRankOf(node)) : 0;
  if (signature.kind == Collective::kReduce) {
    operation.takes = root;
  } else {
    operation.delivers = root;
    operation.takes = ~root;
  }
  return operation;
}

void LocalWatch::Tick(TimePoint now, bool patient) {
  const std::uint64_t beats = exchange_.counters().Beats();
  if (beats != beats_ || !moved_) moved_ = now;
  beats_ = beats;
  if (exchange_.segment().failed() || exchange_.Ended()) return;
  const bool stalled = !patient && now - moved_ >= timeout_;
  if (Status status = exchange_.watch().CheckPeers(stalled); !status.ok()) exchange_.segment().Fail(status);
}

}  // namespace glim::hfreduce
