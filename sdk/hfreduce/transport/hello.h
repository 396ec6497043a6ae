// The first words on a connection, both ways: 128 bytes, little endian. The lower index of a pair asks, the higher one
// answers with a verdict. A stranger learns nothing but that it was refused. With a secret both prove before that they
// have it (rendezvous/proof.h).
//
//   0 magic[8]  8 version  12 transport  13 is answer  14 verdict  15 length of id  16 from  20 to  24 id[96]
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sdk/hfreduce/transport/transport.h"
#include "sdk/hfreduce/transport/transport_options.h"

namespace glim::hfreduce {

inline constexpr std::size_t kHelloBytes = 128;
inline constexpr std::size_t kIdBytesMax = 96;
inline constexpr std::uint32_t kWireVersion = 1;

enum class Verdict : std::uint8_t {
  kAccepted = 0,
  kOtherVersion = 1,
  kOtherId = 2,
  kOtherTransport = 3,
  kUnexpectedNode = 4,  // not a peer of this node, or not meant for it
  kWithoutSecret = 5,   // it said hello without the proof that comes before (rendezvous/proof.h)
};

struct Hello {
  std::uint32_t version = kWireVersion;
  TransportKind transport = TransportKind::kTcp;
  bool is_answer = false;
  Verdict verdict = Verdict::kAccepted;
  NodeIndex from = 0;
  NodeIndex to = 0;
  std::string id;  // empty in a refusal
};

using HelloBytes = std::array<std::byte, kHelloBytes>;

HelloBytes Encode(const Hello& hello);
// None: somebody else's protocol.
std::optional<Hello> DecodeHello(std::span<const std::byte, kHelloBytes> bytes);
std::string_view TextOf(Verdict verdict);

}  // namespace glim::hfreduce
