// What a service and its transfer process say to each other: packets on a socket pair, between two runs of one program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sdk/base/result.h"
#include "sdk/net/socket.h"

namespace glim::checkpoint {

inline constexpr std::size_t kPacketTextBytesMax = std::size_t{32} << 10;

struct TransferPacket {
  enum class Kind : std::uint64_t { kConnect, kMap, kForget, kAnswer, kFailed };

  Kind kind = Kind::kAnswer;
  std::uint64_t number = 0;  // of a region; in an answer, an address
  std::uint64_t bytes = 0;   // of a region
  std::string text;
  UniqueFd file;  // with kMap
};

// UNAVAILABLE: the other side has ended.
Status SendPacket(int socket, const TransferPacket& packet);
Result<TransferPacket> ReceivePacket(int socket);

}  // namespace glim::checkpoint
