// What a TcpStore's caller and server say to each other: one request and one answer on a connection. Little endian.
//
//   0 magic[4]  4 kind or code  5 zero[3]  8 wait_ms  12 bytes of key  16 bytes of value  20 key, value
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sdk/net/framed_stream.h"

namespace glim::hfreduce {

inline constexpr std::size_t kStoreKeyBytesMax = 256;
inline constexpr std::size_t kStoreValueBytesMax = std::size_t{64} << 10;
inline constexpr std::size_t kStoreHeadBytes = 20;
inline constexpr std::size_t kStoreMessageBytesMax = kStoreHeadBytes + kStoreKeyBytesMax + kStoreValueBytesMax;
// One byte more than a message, so that one that is too long shows.
inline constexpr net::FramedStream::Bounds kStoreBounds{.input = kStoreMessageBytesMax + 1,
                                                        .output = kStoreMessageBytesMax};

enum class StoreRequest : std::uint8_t { kSet = 1, kGet = 2 };

// A value.
struct StoreMessage {
  std::uint8_t kind = 0;  // a StoreRequest, or a StatusCode in an answer
  std::uint32_t wait_ms = 0;
  std::string key;
  std::string value;  // an answer's text if its code is an error
};

std::string Encode(const StoreMessage& message);

enum class StoreParse { kWhole, kPartial, kRefused };

// Of what has arrived so far. Refused: not this protocol, or longer than is allowed.
StoreParse Parse(const std::string& text, StoreMessage* message);

}  // namespace glim::hfreduce
