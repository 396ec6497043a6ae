// The latency path of an AllReduce or a barrier: a few nodes exchange the whole value, step by step
// (direct_schedule.h).
#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "sdk/hfreduce/engine/operation.h"

namespace glim::hfreduce {

// The chunking must be OneChunk's, and a message must hold it. Narrow types are rounded at each node and at each step.
class DirectOperation final : public Operation {
 public:
  explicit DirectOperation(const OperationSetup& setup);

  void Start(Lanes& lanes) override;
  bool Poll() override;
  std::byte* Landing(NodeIndex from, const MessageHeader& header) override;
  Status Received(NodeIndex from, const Arrival& arrival) override;
  void Sent(NodeIndex to, const MessageHeader& header) override;
  bool done() const override { return done_; }
  bool Needs(NodeIndex peer) const override;
  Waits WaitsFor() const override;

 private:
  const std::vector<DirectStep>& steps() const { return setup_.routes.direct(); }
  bool TakeLocal();
  // True: the step is over.
  bool TakeStep();
  // False: no destination yet, or its memory is still being sent from.
  bool AddPart(const DirectStep& step, const Arrival& part);
  bool TakeResult(const Arrival& result);
  // Memory for the next value, that no message reads; null: not yet.
  std::byte* Room(bool last);
  void ReduceInto(std::byte* to, std::span<const void* const> sources, bool last);

  const OperationSetup setup_;
  const std::size_t bytes_;
  Lanes* lanes_ = nullptr;
  bool local_taken_ = false;
  std::size_t step_ = 0;
  bool step_sent_ = false;  // its message is with the transport
  bool done_ = false;
  const std::byte* value_ = nullptr;

  // Values take turns in two buffers, so that one is filled while the other is on its way out.
  std::unique_ptr<std::byte[]> buffers_;
  std::size_t buffer_ = 0;                // that the next value goes to
  std::map<NodeIndex, Arrival> arrived_;  // not taken yet; every peer sends one message at most
  std::map<NodeIndex, const std::byte*> sending_;
};

}  // namespace glim::hfreduce
