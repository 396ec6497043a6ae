// One half of an operation's data on its way through one tree, on one node.
//
//   up:   children's messages ─┐
//         local sources ───────┴─ one Reduce ──> destination ── message to the parent, or at the root the result
//   down: parent's message ──> destination ──> messages to the children ──> LocalSide::Done
//
// Chunks go through each stage in order, and the stages run beside each other. AllReduce is both, Reduce goes up alone,
// Broadcast down alone; these two hang the tree up at their root. Section IV.B and algorithm 2 of the Fire-Flyer paper.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "sdk/hfreduce/engine/operation.h"

namespace glim::hfreduce {

// Not thread-safe. As Operation, for the streams of this half's tree.
class TreeHalf {
 public:
  TreeHalf(const OperationSetup& setup, int half);

  void Start(Lanes& lanes);
  bool Poll();
  // Of messages on the streams that this node receives in this half.
  std::byte* Landing(NodeIndex from, const MessageHeader& header);
  Status Received(NodeIndex from, const Arrival& arrival);
  void Sent(NodeIndex to, const MessageHeader& header);
  bool done() const { return done_ == chunks_; }
  bool Needs(NodeIndex peer) const;
  // None: it is done.
  std::optional<Waits> WaitsFor() const;

 private:
  // A neighbour away from the root, and the number of chunks at each stage.
  struct Child {
    TreeEdge edge;
    std::deque<Arrival> arrived;  // not added yet
    std::uint32_t received = 0;
    std::uint32_t taken = 0;  // of results that it is sent: by the transport
    std::uint32_t sent = 0;
  };

  bool root() const { return !toward_.has_value(); }
  bool results_come() const { return spreads_ && !root(); }
  std::size_t BytesOf(std::uint32_t chunk) const;
  MessageHeader HeaderOf(std::uint32_t chunk, Stream stream) const;
  // The only local source goes up from where it lies.
  bool sends_source() const { return single_source_ && children_.empty() && !root(); }

  bool ReduceOne();
  bool AllArrived() const;
  bool SendUp();
  bool TakeResults();
  bool SendDown();
  bool Finish();

  const OperationSetup setup_;
  const int half_;
  const std::uint32_t chunks_;
  const bool reduces_;  // parts go up
  const bool spreads_;  // results go down
  Lanes* lanes_ = nullptr;
  std::optional<TreeEdge> toward_;
  std::vector<Child> children_;
  bool single_source_ = false;
  std::vector<const void*> sources_;  // of one Reduce call

  // Chunks that have passed each stage.
  std::uint32_t reduced_ = 0;  // this node's part of the sum is whole
  std::uint32_t raised_ = 0;   // ... and with the transport
  std::uint32_t raised_sent_ = 0;
  std::uint32_t received_ = 0;  // from the root's side
  std::uint32_t results_ = 0;   // the result lies in the destination
  std::uint32_t done_ = 0;
  std::deque<Arrival> results_arrived_;  // not in the destination for sure
};

}  // namespace glim::hfreduce
