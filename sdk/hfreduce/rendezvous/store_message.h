// What a TcpStore's caller and server say to each other: one request and one answer on a connection. Little endian.
//
//   0 magic[4]  4 kind or code  5 zero[3]  8 wait_ms  12 bytes of key  16 bytes of value  20 key, value
#pragma once

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "sdk/hfreduce/rendezvous/tcp_store.h"

namespace glim::hfreduce {

enum class StoreRequest : std::uint8_t { kSet = 1, kGet = 2 };

struct StoreMessage {
  std::uint8_t kind = 0;  // a StoreRequest, or a StatusCode in an answer
  std::uint32_t wait_ms = 0;
  std::string key;
  std::string value;  // an answer's text if its code is an error
};

inline constexpr char kStoreMagic[4] = {'G', 'H', 'S', '1'};
inline constexpr std::size_t kStoreHeadBytes = 20;

// Of a read or write of either side: there is more to come.
inline bool WouldBlock(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

inline std::string Encode(const StoreMessage& message) {
  static_assert(std::endian::native == std::endian::little);
  std::string text(kStoreHeadBytes, '\0');
  const auto key_bytes = static_cast<std::uint32_t>(message.key.size());
  const auto value_bytes = static_cast<std::uint32_t>(message.value.size());
  std::memcpy(text.data(), kStoreMagic, 4);
  std::memcpy(text.data() + 4, &message.kind, 1);
  std::memcpy(text.data() + 8, &message.wait_ms, 4);
  std::memcpy(text.data() + 12, &key_bytes, 4);
  std::memcpy(text.data() + 16, &value_bytes, 4);
  return text + message.key + message.value;
}

enum class StoreParse { kWhole, kPartial, kRefused };

// Of what has arrived so far. Refused: not this protocol, or longer than is allowed.
inline StoreParse Parse(const std::string& text, StoreMessage* message) {
  std::uint32_t key_bytes = 0;
  std::uint32_t value_bytes = 0;
  if (text.compare(0, 4, kStoreMagic, std::min<std::size_t>(4, text.size())) != 0) return StoreParse::kRefused;
  if (text.size() < kStoreHeadBytes) return StoreParse::kPartial;
  std::memcpy(&key_bytes, text.data() + 12, 4);
  std::memcpy(&value_bytes, text.data() + 16, 4);
  if (key_bytes > kStoreKeyBytesMax || value_bytes > kStoreValueBytesMax) return StoreParse::kRefused;
  const std::size_t whole = kStoreHeadBytes + key_bytes + value_bytes;
  if (text.size() < whole) return StoreParse::kPartial;
  if (text.size() > whole) return StoreParse::kRefused;
  std::memcpy(&message->kind, text.data() + 4, 1);
  std::memcpy(&message->wait_ms, text.data() + 8, 4);
  message->key = text.substr(kStoreHeadBytes, key_bytes);
  message->value = text.substr(kStoreHeadBytes + key_bytes);
  return StoreParse::kWhole;
}

}  // namespace glim::hfreduce
