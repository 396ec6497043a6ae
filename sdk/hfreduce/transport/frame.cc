#include "sdk/hfreduce/transport/frame.h"

#include <bit>
#include <cstring>

namespace glim::hfreduce {
namespace {

static_assert(std::endian::native == std::endian::little, "the wire is little endian");

template <typename T>
void Put(FrameBytes& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

template <typename T>
T Take(std::span<const std::byte, kFrameBytes> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::string RuleBroken(const Frame& frame, unsigned stream, unsigned kind) {
  const std::uint32_t bytes = frame.header.bytes;
  if (kind > static_cast<unsigned>(FrameKind::kPlaced)) return "a frame of unknown kind " + std::to_string(kind);
  if (stream >= kStreams) return "a frame of unknown stream " + std::to_string(stream);
  for (const std::uint8_t mask : frame.returned) {
    if (mask >> kCredits != 0) return "a frame that returns a slot that does not exist";
  }
  if (frame.kind == FrameKind::kReturns) {
    return bytes == 0 ? "" : "a frame without a message that announces " + std::to_string(bytes) + " bytes";
  }
  if (frame.slot >= kCredits) return "a message for slot " + std::to_string(frame.slot) + ", which does not exist";
  const bool control = frame.header.stream == Stream::kControl;
  if (control && frame.kind == FrameKind::kPlaced) return "a control message in a slot";
  const std::size_t most = control ? kControlPayloadMax : kTransportMessageBytesMax;
  if (bytes > most) {
    return "a message of " + std::to_string(bytes) + " bytes; at most " + std::to_string(most) + " are allowed";
  }
  return "";
}

}  // namespace

FrameBytes Encode(const Frame& frame) {
  FrameBytes bytes{};
  Put(bytes, 0, frame.header.operation);
  Put(bytes, 8, frame.header.signature);
  Put(bytes, 16, frame.header.chunk);
  Put(bytes, 20, frame.header.bytes);
  Put(bytes, 24,
      static_cast<std::uint8_t>(static_cast<unsigned>(frame.header.stream) | static_cast<unsigned>(frame.kind) << 4));
  Put(bytes, 25, frame.slot);
  Put(bytes, 26, frame.returned);
  Put(bytes, 31, frame.sequence);
  return bytes;
}

std::variant<Frame, std::string> Decode(std::span<const std::byte, kFrameBytes> bytes) {
  const auto stream_and_kind = Take<std::uint8_t>(bytes, 24);
  const unsigned stream = stream_and_kind & 15U;
  const unsigned kind = stream_and_kind >> 4;
  Frame frame;
  frame.header.operation = Take<std::uint64_t>(bytes, 0);
  frame.header.signature = Take<std::uint64_t>(bytes, 8);
  frame.header.chunk = Take<std::uint32_t>(bytes, 16);
  frame.header.bytes = Take<std::uint32_t>(bytes, 20);
  frame.header.stream = static_cast<Stream>(stream);
  frame.kind = static_cast<FrameKind>(kind);
  frame.slot = Take<std::uint8_t>(bytes, 25);
  frame.returned = Take<ReturnedSlots>(bytes, 26);
  frame.sequence = Take<std::uint8_t>(bytes, 31);
  if (std::string broken = RuleBroken(frame, stream, kind); !broken.empty()) return broken;
  return frame;
}

std::optional<std::uint8_t> EdgeCredits::Take(Stream stream) {
  std::uint8_t& free = free_at_peer_[Index(stream)];
  if (free == 0) return std::nullopt;
  // The lowest: a stream that is read at once always uses one slot, which stays in the cache.
  const auto slot = static_cast<std::uint8_t>(std::countr_zero(free));
  free = static_cast<std::uint8_t>(free & (free - 1));
  return slot;
}

bool EdgeCredits::TakeBack(const ReturnedSlots& returned) {
  for (std::size_t i = 0; i < returned.size(); ++i) {
    if ((free_at_peer_[i] & returned[i]) != 0) return false;
    free_at_peer_[i] = static_cast<std::uint8_t>(free_at_peer_[i] | returned[i]);
  }
  return true;
}

const char* EdgeCredits::Accept(const Frame& frame) {
  const std::size_t stream = Index(frame.header.stream);
  if (frame.sequence != accepted_[stream]++) return "a message out of order";
  if (frame.header.stream == Stream::kControl) return nullptr;
  const auto bit = static_cast<std::uint8_t>(1U << frame.slot);
  // A slot whose return has not been sent is not the sender's yet.
  if (((full_[stream] | to_return_[stream]) & bit) != 0) return "a message without a credit";
  full_[stream] = static_cast<std::uint8_t>(full_[stream] | bit);
  return nullptr;
}

void EdgeCredits::Free(Stream stream, std::uint8_t slot) {
  const auto bit = static_cast<std::uint8_t>(1U << slot);
  const std::size_t i = Index(stream);
  full_[i] = static_cast<std::uint8_t>(full_[i] & ~bit);
  to_return_[i] = static_cast<std::uint8_t>(to_return_[i] | bit);
  ++returns_;
}

bool EdgeCredits::ReturnsAreUrgent() const {
  for (std::size_t i = 0; i < to_return_.size(); ++i) {
    if (to_return_[i] == 0) continue;
    const auto not_the_senders = static_cast<std::uint8_t>(to_return_[i] | full_[i]);
    if (std::popcount(not_the_senders) * 2U >= kCredits) return true;
  }
  return false;
}

ReturnedSlots EdgeCredits::TakeReturns() {
  const ReturnedSlots all = to_return_;
  to_return_ = {};
  returns_ = 0;
  return all;
}

}  // namespace glim::hfreduce
