#include "sdk/hfreduce/communicator/node_part.h"

#include <utility>

namespace glim::hfreduce {

Result<std::unique_ptr<NodePart>> NodePart::Create(Segment& segment, DeviceStage* device, Topology topology,
                                                   Duration timeout) {
  auto reduce = NodeReduce::Create(segment, {.timeout = timeout});
  if (!reduce.ok()) return reduce.status();
  if (device != nullptr) (*reduce)->exchange().UseDevice(*device);
  const Result<int> bell = segment.bell().Descriptor();
  if (!bell.ok()) return bell.status();
  return std::unique_ptr<NodePart>(
      new NodePart(segment, std::move(topology), std::move(reduce.value()), *bell, timeout));
}

void NodePart::Finishing(const Request& request) {
  if (request.result == nullptr) return;
  Exchange& exchange = reduce_->exchange();
  const auto offset = exchange.results().Offset();
  if (offset) *request.result = {exchange.segment().At(*offset, request.signature.bytes()), request.signature.bytes()};
}

}  // namespace glim::hfreduce
