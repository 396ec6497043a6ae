// One operation between nodes, as the engine of a node's leader drives it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sdk/base/status.h"
#include "sdk/hfreduce/engine/lanes.h"
#include "sdk/hfreduce/engine/routes.h"
#include "sdk/hfreduce/kernels/reduce.h"
#include "sdk/hfreduce/node/local_side.h"
#include "sdk/hfreduce/signature/signature.h"
#include "sdk/hfreduce/transport/transport.h"
#include "sdk/hfreduce/tree/chunking.h"

namespace glim::hfreduce {

// What is referred to must outlive the operation.
struct OperationSetup {
  const Routes& routes;
  const Chunking& chunking;
  LocalSide& local;
  std::uint64_t number = 0;  // the communicator's operations are counted from 1
  Signature signature;
  // Type, op and stream as every Reduce call gets them. The divisor is applied where the last part is added.
  // A broadcast moves elements of `type`.
  ReduceArgs args;
};

// A message that has come: its payload is where Landing said, or in a slot to be released.
struct Arrival {
  MessageHeader header;
  std::span<const std::byte> payload;
  SlotId slot = kNoSlot;
};

// Whom the oldest unfinished part waits for.
struct Waits {
  bool local = false;  // the processes of this node
  std::vector<NodeIndex> nodes;
};

// Not thread-safe. Calls come in the order Start, then any of the others until done. Messages reach it with its own
// number and signature only; it checks everything else about them.
class Operation {
 public:
  explicit Operation(const OperationSetup& setup) : number_(setup.number), signature_(setup.signature) {}
  virtual ~Operation() = default;

  std::uint64_t number() const { return number_; }
  const Signature& signature() const { return signature_; }

  // `lanes` is used until the end.
  virtual void Start(Lanes& lanes) = 0;
  // Does what has become possible (chunks delivered, messages here, credits back), in small portions. True if anything.
  virtual bool Poll() = 0;
  // As Receiver's. An error: a message that a peer on the same terms would not send.
  virtual std::byte* Landing(NodeIndex from, const MessageHeader& header) = 0;
  virtual Status Received(NodeIndex from, const Arrival& arrival) = 0;
  virtual void Sent(NodeIndex to, const MessageHeader& header) = 0;
  // Everything is received, sent and no longer read.
  virtual bool done() const = 0;
  // Whether it has to hear from the peer or to send to it.
  virtual bool Needs(NodeIndex peer) const = 0;
  virtual Waits WaitsFor() const = 0;

 private:
  std::uint64_t number_;
  Signature signature_;
};

}  // namespace glim::hfreduce
