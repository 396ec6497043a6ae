// A node of several processes in operations between nodes: the leader (local rank 0) reduces what all have delivered
// and drives the network, the others deliver and take (algorithm 2 of the Fire-Flyer paper, section IV.B).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sdk/base/result.h"
#include "sdk/base/time.h"
#include "sdk/hfreduce/node/exchange.h"
#include "sdk/hfreduce/node/local_side.h"
#include "sdk/hfreduce/node/segment.h"
#include "sdk/hfreduce/tree/chunking.h"

namespace glim::hfreduce {

// Areas of the segment for chunks of kChunkBytesMax in two halves: 4 staged by each process, and 16 results, which are
// held as long as a chunk is on its way to the root and back.
inline constexpr std::size_t kLeaderStageBytes = kHalves * 4 * kChunkBytesMax;
inline constexpr std::size_t kLeaderResultBytes = kHalves * 16 * kChunkBytesMax;

// The leader's. Results are put into its `out` if that lies in the segment, or else into a ring of slots. When it says
// no, somebody rings Segment::bell once it may say yes; PeerWatch::CheckPeers is to be asked from time to time.
class SegmentSide final : public LocalSide {
 public:
  // Of the operation that the exchange (Reducer::kLeader) has begun. Both must outlive it.
  explicit SegmentSide(Exchange& exchange) : exchange_(exchange) {}

  // False also once the segment has failed.
  bool Delivered(int half, std::uint32_t chunk) override { return exchange_.delivery().Arrived(half, chunk); }
  std::span<const void* const> Sources(int half, std::uint32_t chunk) override;
  void SourcesRead(int half, std::uint32_t chunk) override;
  std::byte* Destination(int half, std::uint32_t chunk) override { return exchange_.results().Place(half, chunk); }
  void Done(int half, std::uint32_t chunk) override;

 private:
  Exchange& exchange_;
  std::uint32_t read_[kHalves] = {};
};

// One of the others'. Not thread-safe. As NodeReduce: Start, then Progress until Ended, or Wait.
class SegmentFollower {
 public:
  // The exchange (Reducer::kLeader) must outlive it.
  explicit SegmentFollower(Exchange& exchange) : exchange_(exchange) {}

  void Start(const NodeOperation& operation, const Chunking& chunking) { exchange_.Begin(operation, chunking, false); }
  bool Progress();
  bool Ended() { return exchange_.Ended(); }
  // `timeout`: without any progress of any process of the node. Longer than the network's, or the leader is accused of
  // what a peer of it does.
  Status Wait(Duration timeout);

 private:
  Exchange& exchange_;
};

}  // namespace glim::hfreduce
