// Keeps the messages of each (peer, stream) in the order of operations, however many are in flight.
//
// Why: a message of a later operation may lie unread in the peer's slots until the peer starts that operation, and
// holds a credit so long. If it went ahead of an earlier operation's on the same stream, these could wait for that
// credit while the peer waits for them. In order, the oldest operation always finds its way free.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <utility>

#include "sdk/hfreduce/transport/transport.h"

namespace glim::hfreduce {

// Not thread-safe. The transport must outlive it.
class Lanes {
 public:
  explicit Lanes(Transport& transport) : transport_(transport) {}

  // The operation will send that many messages. In order of operations; before its first TrySend.
  void Claim(std::uint64_t operation, NodeIndex to, Stream stream, std::uint32_t messages);
  // False: no credit, or an earlier operation has messages to send there.
  bool TrySend(NodeIndex to, const MessageHeader& header, std::span<const std::byte> payload);
  void Release(NodeIndex from, Stream stream, SlotId slot) { transport_.Release(from, stream, slot); }

 private:
  struct Turn {
    std::uint64_t operation = 0;
    std::uint32_t messages = 0;  // left to send
  };

  Transport& transport_;
  std::map<std::pair<NodeIndex, Stream>, std::deque<Turn>> turns_;
};

}  // namespace glim::hfreduce
