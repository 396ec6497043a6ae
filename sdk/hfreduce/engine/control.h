// What leaders tell each other beside the data, on Stream::kControl.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sdk/base/status.h"
#include "sdk/hfreduce/transport/transport.h"

namespace glim::hfreduce {

// In the header's `chunk`. Values are part of the wire format.
enum class ControlKind : std::uint32_t {
  kAbort = 1,    // `signature`: the status code; payload: its message
  kGoodbye = 2,  // this node's communicator is destroyed, with nothing in flight
  kAsk = 3,      // `operation` and `signature` of what waits for the receiver
  kAnswer = 4,   // `signature`: 1 if the node waits for its own processes, 0 if for other nodes
};

inline constexpr std::size_t kControlBytesMax = 4096;

MessageHeader ControlHeader(ControlKind kind, std::uint64_t operation, std::uint64_t signature, std::size_t bytes);

// What an abort says, or UNAVAILABLE where its code is none that a failure has.
Status StatusOfAbort(const MessageHeader& header, std::span<const std::byte> payload);

}  // namespace glim::hfreduce
