#include "sdk/hfreduce/node/segment_side.h"

namespace glim::hfreduce {

std::span<const void* const> SegmentSide::Sources(int half, std::uint32_t chunk) {
  return exchange_.delivery().Sources(half, chunk);
}

void SegmentSide::SourcesRead(int half, std::uint32_t chunk) {
  if (chunk + 1 <= read_[half]) return;
  read_[half] = chunk + 1;
  exchange_.results().PublishReduced(half, read_[half]);
}

void SegmentSide::Done(int half, std::uint32_t chunk) {
  SourcesRead(half, chunk);
  exchange_.results().Publish(half, chunk);
  exchange_.results().TakeNext(half);
}

bool SegmentFollower::Progress() {
  const bool took = exchange_.results().TakeOne();
  const bool delivered = exchange_.delivery().DeliverOne();
  return took || delivered;
}

Status SegmentFollower::Wait(Duration timeout) {
  return exchange_.Drive([this] { return Progress(); }, [this] { return Ended(); }, timeout);
}

}  // namespace glim::hfreduce
