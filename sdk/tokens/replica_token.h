// Who may write and read an attempt's copies in other nodes' memory (docs/protocols/replica.md).
//
// The scheduler has a signing key, whose public half every service knows. For each attempt it derives a key pair and
// signs claims: whose the attempt is, and its public key. Task and service hold against each other what is signed; a
// service has nothing by which it could make a token, and a token is of no use for another attempt.
//
// Certificate: claims, signature (64). Claims: version (1), cluster text, job (8), attempt (4), user text, uid (4), key
// (32). A text is preceded by its length (1); integers are little endian. Token: "glimr_", and certificate and the
// attempt's seed (32) in lower-case hexadecimal digits. Any thread; nothing is kept.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sdk/base/result.h"
#include "sdk/tokens/ed25519.h"

namespace glim {

inline constexpr std::size_t kClaimTextBytesMax = 128;
inline constexpr std::size_t kReplicaCertificateBytesMax =
    1 + 1 + kClaimTextBytesMax + 8 + 4 + 1 + kClaimTextBytesMax + 4 + 32 + 64;
inline constexpr std::size_t kReplicaTokenBytesMax = 6 + 2 * (kReplicaCertificateBytesMax + 32);
inline constexpr std::uint32_t kNoUid = std::numeric_limits<std::uint32_t>::max();

struct ReplicaClaims {
  std::string cluster;
  std::uint64_t job = 0;
  std::uint32_t attempt = 0;
  std::string user;
  std::uint32_t uid = kNoUid;  // kNoUid: the registry has none
  Ed25519Key key{};            // the attempt's
  friend bool operator==(const ReplicaClaims&, const ReplicaClaims&) = default;
};

struct ReplicaToken {
  std::string certificate;
  ReplicaClaims claims;  // what stands in it; nobody has looked who signed it
  Ed25519Seed seed{};    // the attempt's private key
};

// --- who issues

// The token of this attempt, always the same; `claims.key` is filled in. Texts are of 1 to kClaimTextBytesMax bytes
// (CHECK).
std::string MakeReplicaToken(const Ed25519Seed& issuer, ReplicaClaims claims);

// --- who has one

// UNAUTHENTICATED (BAD_TOKEN): it is none, or key and claims do not belong together. Quotes nothing of it.
Result<ReplicaToken> ParseReplicaToken(std::string_view text);

// --- who checks

// What is signed by one of the keys. UNAUTHENTICATED (BAD_TOKEN).
Result<ReplicaClaims> CheckReplicaCertificate(std::string_view certificate, std::span<const Ed25519Key> issuers);

// A public key as 64 lower-case hexadecimal digits.
std::string KeyText(const Ed25519Key& key);
std::optional<Ed25519Key> ParseKey(std::string_view text);

}  // namespace glim
