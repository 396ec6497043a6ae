#include "sdk/hfreduce/communicator/follower_part.h"

#include <utility>

#include "sdk/hfreduce/communicator/latency_path.h"

namespace glim::hfreduce {

Result<std::unique_ptr<FollowerPart>> FollowerPart::Create(Segment& segment, Topology topology, std::uint32_t node,
                                                           std::size_t latency_path_bytes_max, Duration timeout) {
  auto exchange = Exchange::Create(segment, Reducer::kLeader, kHalves, kChunkBytesMax);
  if (!exchange.ok()) return exchange.status();
  const Result<int> bell = segment.bell().Descriptor();
  if (!bell.ok()) return bell.status();
  return std::unique_ptr<FollowerPart>(new FollowerPart(segment, std::move(topology), node, latency_path_bytes_max,
                                                        std::make_unique<Exchange>(std::move(exchange.value())),
                                                        *bell, timeout));
}

bool FollowerPart::Step() {
  if (requests_.empty()) return false;
  if (segment_.failed()) return FinishFirst(segment_.failure());
  const Request& request = requests_.front();
  if (!begun_) {
    follower_.Start(LocalOperationOf(request, topology_, node_), ChunkingOfRequest(request, latency_path_bytes_max_));
    begun_ = true;
  }
  const bool any = follower_.Progress();
  return follower_.Ended() ? FinishFirst(Status::Ok()) : any;
}

bool FollowerPart::FinishFirst(const Status& status) {
  const Request request = std::move(requests_.front());
  requests_.pop_front();
  begun_ = false;
  request.completion->Finish(status);
  return true;
}

void FollowerPart::Leave() {
  if (!requests_.empty()) Abort(segment_.NameOf(segment_.local_rank()) + " has left");
}

bool FollowerPart::BeginSleep() {
  segment_.bell().PrepareDescriptor();
  return !Step();
}

}  // namespace glim::hfreduce
