#include "sdk/hfreduce/rendezvous/store_message.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace glim::hfreduce {
namespace {

constexpr char kStoreMagic[4] = {'G', 'H', 'S', '1'};

}  // namespace

std::string Encode(const StoreMessage& message) {
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

StoreParse Parse(const std::string& text, StoreMessage* message) {
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
