#include "sdk/hfreduce/communicator/follower_part.h"

#include <utility>

#include "sdk/hfreduce/communicator/latency_path.h"

namespace glim::hfreduce {

Result<std::unique_ptr<FollowerPart>> FollowerPart::Create(Segment& segment, DeviceStage* device, Topology topology,
                                                           std::uint32_t node, std::size_t latency_path_bytes_max,
                                                           Duration timeout) {
  auto exchange = Exchange::Create(segment, Reducer::kLeader, kHalves, kChunkBytesMax);
  if (!exchange.ok()) return exchange.status();
  if (device != nullptr) (*exchange)->UseDevice(*device);
  const Result<int> bell = segment.bell().Descriptor();
  if (!bell.ok()) return bell.status();
  return std::unique_ptr<FollowerPart>(new FollowerPart(segment, std::move(topology), node, latency_path_bytes_max,
                                                        std::move(exchange.value()), *bell, timeout));
}

void FollowerPart::Begin(const Request& request) {
  follower_.Start(LocalOperationOf(request, topology_, node_), ChunkingOfRequest(request, latency_path_bytes_max_));
}

}  // namespace glim::hfreduce
