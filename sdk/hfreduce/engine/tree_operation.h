// AllReduce, Reduce and Broadcast along the two trees: two halves beside each other.
#pragma once

#include <array>

#include "sdk/hfreduce/engine/operation.h"
#include "sdk/hfreduce/engine/tree_half.h"

namespace glim::hfreduce {

class TreeOperation final : public Operation {
 public:
  // The signature's kind is one of these three.
  explicit TreeOperation(const OperationSetup& setup);

  void Start(Lanes& lanes) override;
  bool Poll() override;
  std::byte* Landing(NodeIndex from, const MessageHeader& header) override;
  Status Received(NodeIndex from, const Arrival& arrival) override;
  void Sent(NodeIndex to, const MessageHeader& header) override;
  bool done() const override { return halves_[0].done() && halves_[1].done(); }
  bool Needs(NodeIndex peer) const override { return halves_[0].Needs(peer) || halves_[1].Needs(peer); }
  Waits WaitsFor() const override;

 private:
  std::array<TreeHalf, kTrees> halves_;
};

}  // namespace glim::hfreduce
