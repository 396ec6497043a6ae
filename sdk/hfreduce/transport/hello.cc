#include "sdk/hfreduce/transport/hello.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace glim::hfreduce {
namespace {

constexpr char kMagic[8] = {'G', 'L', 'I', 'M', 'H', 'F', 'R', '\0'};

template <typename T>
void Put(HelloBytes& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

template <typename T>
T Take(std::span<const std::byte, kHelloBytes> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

HelloBytes Encode(const Hello& hello) {
  HelloBytes bytes{};
  const std::size_t length = std::min(hello.id.size(), kIdBytesMax);
  std::memcpy(bytes.data(), kMagic, sizeof kMagic);
  Put(bytes, 8, hello.version);
  Put(bytes, 12, static_cast<std::uint8_t>(hello.transport));
  Put(bytes, 13, static_cast<std::uint8_t>(hello.is_answer));
  Put(bytes, 14, static_cast<std::uint8_t>(hello.verdict));
  Put(bytes, 15, static_cast<std::uint8_t>(length));
  Put(bytes, 16, hello.from);
  Put(bytes, 20, hello.to);
  std::memcpy(bytes.data() + 24, hello.id.data(), length);
  return bytes;
}

std::optional<Hello> DecodeHello(std::span<const std::byte, kHelloBytes> bytes) {
  if (std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) return std::nullopt;
  const std::size_t length = Take<std::uint8_t>(bytes, 15);
  const auto verdict = Take<std::uint8_t>(bytes, 14);
  if (length > kIdBytesMax || verdict > static_cast<std::uint8_t>(Verdict::kWithoutSecret)) return std::nullopt;
  Hello hello;
  hello.version = Take<std::uint32_t>(bytes, 8);
  hello.transport = static_cast<TransportKind>(Take<std::uint8_t>(bytes, 12));
  hello.is_answer = Take<std::uint8_t>(bytes, 13) != 0;
  hello.verdict = static_cast<Verdict>(verdict);
  hello.from = Take<std::uint32_t>(bytes, 16);
  hello.to = Take<std::uint32_t>(bytes, 20);
  hello.id.assign(reinterpret_cast<const char*>(bytes.data()) + 24, length);
  return hello;
}

std::string_view TextOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAccepted: return "accepted";
    case Verdict::kOtherVersion: return "it speaks another version of the protocol";
    case Verdict::kOtherId: return "it belongs to another communicator";
    case Verdict::kOtherTransport: return "it uses another kind of transport";
    case Verdict::kWithoutSecret:
      return "it asks for the attempt's secret, and this process has none (GLIM_ATTEMPT_SECRET_FILE)";
    case Verdict::kUnexpectedNode: return "it does not count this node among its peers";
  }
  return "";
}

}  // namespace glim::hfreduce
