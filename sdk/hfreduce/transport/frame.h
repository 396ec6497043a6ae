// What goes over an edge: a frame of 32 bytes, then the payload where its kind has one. Little endian. Shared by the
// TCP and the UCX transport, so that both have one set of rules to check what a peer says.
//
//   0 operation  8 signature  16 chunk  20 bytes  24 stream and kind  25 slot  26 returned[5]  31 sequence
//
// A credit is the right to use one of kCredits slots that the receiver keeps for a (peer, stream). The sender picks the
// slot and names it; the receiver gives it back as a bit of `returned` in whatever frame it sends next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "sdk/hfreduce/transport/transport.h"

namespace glim::hfreduce {

inline constexpr std::size_t kFrameBytes = 32;
inline constexpr std::size_t kTransportMessageBytesMax = std::size_t{1} << 20;
inline constexpr std::size_t kControlPayloadMax = 4096;
inline constexpr std::size_t kControlQueueMax = 1024;  // messages of a peer that does not read
inline constexpr int kCreditStreams = kStreams - 1;    // all but kControl, the last
static_assert(static_cast<int>(Stream::kControl) == kCreditStreams && kCredits <= 8);

using FrameBytes = std::array<std::byte, kFrameBytes>;
using ReturnedSlots = std::array<std::uint8_t, kCreditStreams>;  // by stream, a bit for each slot

enum class FrameKind : std::uint8_t {
  kMessage = 0,  // the payload follows
  kReturns = 1,  // `returned` alone
  kPlaced = 2,   // the payload was written into the slot from afar
};

struct Frame {
  MessageHeader header;
  FrameKind kind = FrameKind::kMessage;
  std::uint8_t slot = 0;
  std::uint8_t sequence = 0;  // of the stream's messages, from 0, modulo 256
  ReturnedSlots returned{};
};

FrameBytes Encode(const Frame& frame);
// The frame, or the rule that it breaks ("a message of 5000000 bytes; at most 1048576 are allowed").
std::variant<Frame, std::string> Decode(std::span<const std::byte, kFrameBytes> bytes);

// Both sides' credits of one edge. Not thread-safe.
class EdgeCredits {
 public:
  // --- as a sender
  // A slot of the peer's that is free, now taken; none: no credit.
  std::optional<std::uint8_t> Take(Stream stream);
  std::uint8_t NextSequence(Stream stream) { return sent_[Index(stream)]++; }
  // False: the peer returned a slot that was not taken.
  bool TakeBack(const ReturnedSlots& returned);

  // --- as a receiver
  // What is wrong with this message's slot and sequence, or null. Its slot counts as full from now on.
  const char* Accept(const Frame& frame);
  void Free(Stream stream, std::uint8_t slot);
  bool Full(Stream stream, SlotId slot) const { return (full_[Index(stream)] >> slot & 1U) != 0; }
  bool HasReturns() const { return returns_ != 0; }
  // So many of a stream's credits are here, in full slots too, that the peer may run dry. Others wait for a message
  // that carries them: between two small messages that answer each other a frame for a credit would cost as much as
  // one.
  bool ReturnsAreUrgent() const;
  ReturnedSlots TakeReturns();

 private:
  static std::size_t Index(Stream stream) { return static_cast<std::size_t>(stream); }
  static constexpr std::uint8_t kAll = (1U << kCredits) - 1;
  static constexpr ReturnedSlots AllFree() {
    ReturnedSlots all{};
    for (std::uint8_t& mask : all) mask = kAll;
    return all;
  }

  ReturnedSlots free_at_peer_ = AllFree();
  ReturnedSlots full_{};       // arrived, not yet freed
  ReturnedSlots to_return_{};  // freed, the peer does not know yet
  std::array<std::uint8_t, kStreams> sent_{};
  std::array<std::uint8_t, kStreams> accepted_{};
  int returns_ = 0;
};

}  // namespace glim::hfreduce
