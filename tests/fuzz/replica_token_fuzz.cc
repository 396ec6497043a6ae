// Any bytes as a replica token and as a certificate: what is read is what was written, and no signature is made up.
#include <cstddef>
#include <cstdint>
#include <string>

#include "sdk/tokens/replica_token.h"
#include "tests/fuzz/holds.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using glim::fuzz::Holds;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto token = glim::ParseReplicaToken(text);
  if (token.ok()) {
    Holds(glim::PublicKeyOf(token->seed) == token->claims.key, "key and claims belong together", text);
    Holds(token->claims.attempt != 0 && !token->claims.cluster.empty() && !token->claims.user.empty(), "claims", text);
    Holds(token->certificate.size() <= glim::kReplicaCertificateBytesMax, "size", text);
  } else {
    Holds(token.status().reason() == "BAD_TOKEN", "one refusal for all");
  }
  // Nobody has the key of these bytes: what one input is signed with, another's is not.
  glim::Ed25519Seed seed;
  seed.fill(std::byte{1});
  const glim::Ed25519Key issuer = glim::PublicKeyOf(seed);
  const std::string& certificate = token.ok() ? token->certificate : text;
  const auto claims = glim::CheckReplicaCertificate(certificate, {&issuer, 1});
  if (claims.ok()) Holds(certificate.size() > 64, "a signature", text);
  glim::Ed25519Key other = issuer;
  other[0] ^= std::byte{1};
  Holds(!glim::CheckReplicaCertificate(certificate, {&other, 1}).ok(), "another key's signature", text);
  if (const auto key = glim::ParseKey(text)) Holds(glim::KeyText(*key) == text, "a key has one form", text);
  return 0;
}
