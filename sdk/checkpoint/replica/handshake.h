// What both sides of a connection sign to show who they are (docs/protocols/replica.md, "Handshake").
//
// The client signs with its attempt's key (sdk/tokens/replica_token.h), the service with a key of its own, which the
// scheduler told the client. Nothing of one connection is of use in another: both nonces are in it, the service's key,
// and where UCX is to reach the two sides. Any thread; nothing is kept.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "sdk/tokens/ed25519.h"
#include "sdk/tokens/replica_token.h"

namespace glim::checkpoint {

using Nonce = std::array<std::byte, 16>;
using Proof = Ed25519Signature;

enum class Side : char { kClient = 'c', kService = 's' };

struct Handshake {
  Nonce client{};
  Nonce service{};
  std::string cluster;
  std::uint64_t job = 0;
  std::uint32_t attempt = 0;
  bool only_reads = false;
  Ed25519Key service_key{};    // whom the client means to speak to
  std::string client_worker;   // UCX's address
  std::string service_worker;  // likewise; not in the client's proof: it is made when that was seen
};

// Of the claims and the two nonces; the rest is for the caller to fill in.
Handshake HandshakeOf(const ReplicaClaims& claims, const Nonce& client, const Nonce& service);

Proof Prove(const Ed25519Seed& seed, Side side, const Handshake& handshake);
bool IsProof(const Ed25519Key& key, Side side, const Handshake& handshake, const Proof& proof);

Nonce MakeNonce();

}  // namespace glim::checkpoint
