#include "sdk/hfreduce/engine/control.h"

#include <algorithm>

namespace glim::hfreduce {

MessageHeader ControlHeader(ControlKind kind, std::uint64_t operation, std::uint64_t signature, std::size_t bytes) {
  return {.operation = operation,
          .signature = signature,
          .chunk = static_cast<std::uint32_t>(kind),
          .bytes = static_cast<std::uint32_t>(bytes),
          .stream = Stream::kControl};
}

Status StatusOfAbort(const MessageHeader& header, std::span<const std::byte> payload) {
  const auto code = static_cast<StatusCode>(std::min<std::uint64_t>(header.signature, 1000));
  const bool known = code == StatusCode::kInvalidArgument || code == StatusCode::kAborted;
  const std::size_t bytes = std::min(payload.size(), kControlBytesMax);
  return Status(known ? code : StatusCode::kUnavailable,
                std::string(reinterpret_cast<const char*>(payload.data()), bytes));
}

}  // namespace glim::hfreduce
