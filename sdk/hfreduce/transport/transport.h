// Messages between the leaders of nodes. One thin interface: TCP, UCX, and a simulated one in tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sdk/base/time.h"

namespace glim::hfreduce {

using NodeIndex = std::uint32_t;

// Each (peer, stream) has its messages in order and credits of its own, so that no stream ever waits for another.
enum class Stream : std::uint8_t {
  kUp0 = 0,    // tree 0, towards the root
  kDown0 = 1,  // tree 0, from the root
  kUp1 = 2,
  kDown1 = 3,
  kDirect = 4,   // the latency path and barriers
  kControl = 5,  // abort
};
inline constexpr int kStreams = 6;
inline constexpr std::uint32_t kCredits = 4;  // messages that an edge's stream may have in flight, unread

// 32 bytes on the wire, little endian.
struct MessageHeader {
  std::uint64_t operation = 0;  // the communicator's operations are counted from 1
  std::uint64_t signature = 0;  // of kind, type, op, root, count: the receiver compares it with its own
  std::uint32_t chunk = 0;      // chunk of the stream's half, or step of the latency path
  std::uint32_t bytes = 0;      // of payload
  Stream stream = Stream::kDirect;
};

// A place of the transport that holds a received payload until Release.
using SlotId = std::uint32_t;
inline constexpr SlotId kNoSlot = 0xffffffff;

// Implemented by the engine. Called only from within Transport::Progress, on the thread that calls that.
class Receiver {
 public:
  virtual ~Receiver() = default;
  // Where the payload of this message shall lie (header.bytes of it), or null: in a slot. Not asked for kControl, nor
  // for a message without payload.
  virtual std::byte* Landing(NodeIndex from, const MessageHeader& header) = 0;
  // The payload is whole: in its landing (slot == kNoSlot; nothing to release), or in a slot until Release. That of
  // kControl has kNoSlot and is there during this call alone.
  virtual void Received(NodeIndex from, const MessageHeader& header, std::span<const std::byte> payload,
                        SlotId slot) = 0;
  // The payload of a message that TrySend took may be changed again. In order for each (peer, stream). For kControl,
  // whose payloads are copied: it is on its way.
  virtual void Sent(NodeIndex to, const MessageHeader& header) = 0;
  // At most once for a peer: its connection ended or broke a rule. Nothing more comes from it or goes to it: TrySend
  // returns false, payloads that wait for Sent are free, slots that are full stay until Release.
  virtual void Failed(NodeIndex peer, const std::string& why) = 0;
};

// How long the end of a transport waits for its peers, unless it was told.
inline constexpr Duration kLingerUntold = Seconds(1);

// Not thread-safe: one thread at a time drives it. The payload given to TrySend must stay until Sent (or the transport
// is destroyed). Receiver's functions may call TrySend and Release.
class Transport {
 public:
  // What was reported Sent, and control messages, still reach peers that are alive and take them within kLingerUntold,
  // or what LingerFor said. A peer that takes nothing for longer loses the rest.
  virtual ~Transport() = default;
  // Of one whose node is about to leave and has done its part: a peer that is late needs what was reported Sent. The
  // end waits no longer than until all of it has arrived. (Then come the transport's own farewells, two seconds at
  // most.)
  virtual void LingerFor(Duration at_most) = 0;
  // False: no credit now; ask again after some Progress (a Sent, or a credit that came back, may have changed it).
  // kControl always has credit; its messages are at most 4 KiB and copied. A peer that leaves a thousand of them unread
  // is failed.
  virtual bool TrySend(NodeIndex to, const MessageHeader& header, std::span<const std::byte> payload) = 0;
  virtual void Release(NodeIndex from, Stream stream, SlotId slot) = 0;
  // Does what can be done without waiting. True if anything happened.
  virtual bool Progress(Receiver& receiver) = 0;
  // Readable when Progress has something to do, once Arm has returned true after the last Progress that returned false.
  virtual int EventDescriptor() const = 0;
  virtual bool Arm() = 0;
  // Payload bytes and header bytes sent to a peer so far.
  virtual std::uint64_t BytesSentTo(NodeIndex peer) const = 0;
  virtual const char* Name() const = 0;
  // The largest payload of a message.
  virtual std::size_t MessageBytesMax() const = 0;
};

}  // namespace glim::hfreduce
