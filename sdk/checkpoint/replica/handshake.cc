#include "sdk/checkpoint/replica/handshake.h"

#include <string_view>

#include "sdk/base/little_endian.h"
#include "sdk/io/random_bytes.h"

namespace glim::checkpoint {
namespace {

template <typename Bytes>
std::string_view View(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Each text is preceded by its length: nothing can be read in two ways.
std::string Signed(Side side, const Handshake& h) {
  std::string text = "glim replica handshake 2\n";
  const auto append = [&text](std::string_view part) {
    AppendLittleEndian(text, static_cast<std::uint32_t>(part.size()));
    text += part;
  };
  text += static_cast<char>(side);
  text += View(h.client);
  text += View(h.service);
  append(h.cluster);
  AppendLittleEndian(text, h.job);
  AppendLittleEndian(text, h.attempt);
  text += h.only_reads ? '\1' : '\0';
  text += View(h.service_key);
  append(h.client_worker);
  if (side == Side::kService) append(h.service_worker);
  return text;
}

}  // namespace

Handshake HandshakeOf(const ReplicaClaims& claims, const Nonce& client, const Nonce& service) {
  Handshake handshake;
  handshake.client = client;
  handshake.service = service;
  handshake.cluster = claims.cluster;
  handshake.job = claims.job;
  handshake.attempt = claims.attempt;
  return handshake;
}

Proof Prove(const Ed25519Seed& seed, Side side, const Handshake& handshake) {
  return Sign(seed, Signed(side, handshake));
}

bool IsProof(const Ed25519Key& key, Side side, const Handshake& handshake, const Proof& proof) {
  return IsSignedBy(key, Signed(side, handshake), proof);
}

Nonce MakeNonce() {
  Nonce nonce;
  FillRandomly(nonce);
  return nonce;
}

}  // namespace glim::checkpoint
