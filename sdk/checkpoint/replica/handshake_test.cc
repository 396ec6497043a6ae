// A proof is of one side of one connection; every field counts.
#include "sdk/checkpoint/replica/handshake.h"

#include <gtest/gtest.h>

#include <functional>

namespace glim::checkpoint {
namespace {

Handshake Sample() {
  ReplicaClaims claims;
  claims.cluster = "c1";
  claims.job = 17;
  claims.attempt = 3;
  Handshake handshake = HandshakeOf(claims, MakeNonce(), MakeNonce());
  handshake.service_key = PublicKeyOf(MakeEd25519Seed());
  handshake.client_worker = "client's worker";
  handshake.service_worker = "service's worker";
  return handshake;
}

TEST(Handshake, AProofHoldsForItsOwnFieldsAlone) {
  const Ed25519Seed seed = MakeEd25519Seed();
  const Ed25519Key key = PublicKeyOf(seed);
  const Handshake good = Sample();
  const std::pair<const char*, std::function<void(Handshake&)>> changes[] = {
      {"client's nonce", [](Handshake& h) { h.client[15] ^= std::byte{1}; }},
      {"service's nonce", [](Handshake& h) { h.service[0] ^= std::byte{1}; }},
      {"cluster", [](Handshake& h) { h.cluster = "c2"; }},
      {"job", [](Handshake& h) { h.job = 18; }},
      {"attempt", [](Handshake& h) { h.attempt = 4; }},
      {"only reads", [](Handshake& h) { h.only_reads = true; }},
      {"service's key", [](Handshake& h) { h.service_key[31] ^= std::byte{1}; }},
      {"client's worker", [](Handshake& h) { h.client_worker += '!'; }},
      {"one worker's bytes as the other's", [](Handshake& h) {
         h.service_worker = h.client_worker.substr(1) + h.service_worker;
         h.client_worker.resize(1);
       }}};
  for (const Side side : {Side::kClient, Side::kService}) {
    const Proof proof = Prove(seed, side, good);
    EXPECT_TRUE(IsProof(key, side, good, proof));
    for (const auto& [field, change] : changes) {
      Handshake changed = good;
      change(changed);
      EXPECT_FALSE(IsProof(key, side, changed, proof)) << field;
    }
    EXPECT_FALSE(IsProof(PublicKeyOf(MakeEd25519Seed()), side, good, proof)) << "another's key";
    EXPECT_FALSE(IsProof(key, side == Side::kClient ? Side::kService : Side::kClient, good, proof)) << "the other side";
  }
}

TEST(Handshake, TheServicesProofIsOfBothWorkers) {
  const Ed25519Seed seed = MakeEd25519Seed();
  Handshake handshake = Sample();
  const Proof service = Prove(seed, Side::kService, handshake);
  const Proof client = Prove(seed, Side::kClient, handshake);
  handshake.service_worker = "another's";
  EXPECT_FALSE(IsProof(PublicKeyOf(seed), Side::kService, handshake, service));
  EXPECT_TRUE(IsProof(PublicKeyOf(seed), Side::kClient, handshake, client)) << "made before there is one";
}

TEST(Handshake, NoNonceComesTwice) { EXPECT_NE(MakeNonce(), MakeNonce()); }

}  // namespace
}  // namespace glim::checkpoint
