// A token is of one attempt of one cluster, and whoever has no key of the scheduler's makes none.
#include "sdk/tokens/replica_token.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace glim {
namespace {

Ed25519Seed SeedOf(int byte) {
  Ed25519Seed seed;
  seed.fill(static_cast<std::byte>(byte));
  return seed;
}

ReplicaClaims Claims() {
  ReplicaClaims claims;
  claims.cluster = "4f1c2d";
  claims.job = 17;
  claims.attempt = 3;
  claims.user = "kim";
  claims.uid = 1000;
  return claims;
}

TEST(Ed25519, SignsAsTheStandardSays) {
  // RFC 8032, 7.1, TEST 2.
  const char seed_text[] = "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb";
  const Ed25519Seed seed = *ParseKey(seed_text);
  EXPECT_EQ(KeyText(PublicKeyOf(seed)), "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  const Ed25519Signature signature = Sign(seed, "\x72");
  EXPECT_EQ(static_cast<unsigned>(signature[0]), 0x92U);
  EXPECT_EQ(static_cast<unsigned>(signature[63]), 0x00U);
  EXPECT_TRUE(IsSignedBy(PublicKeyOf(seed), "\x72", signature));
  EXPECT_FALSE(IsSignedBy(PublicKeyOf(seed), "\x73", signature));
  EXPECT_FALSE(IsSignedBy(PublicKeyOf(SeedOf(1)), "\x72", signature));
  EXPECT_NE(MakeEd25519Seed(), MakeEd25519Seed());
}

TEST(ReplicaToken, SaysWhoseTheAttemptIs) {
  const Ed25519Seed issuer = SeedOf(1);
  const std::string text = MakeReplicaToken(issuer, Claims());
  EXPECT_LE(text.size(), kReplicaTokenBytesMax);
  const auto token = ParseReplicaToken(text);
  ASSERT_TRUE(token.ok());
  const std::vector<Ed25519Key> keys = {PublicKeyOf(SeedOf(2)), PublicKeyOf(issuer)};
  const auto claims = CheckReplicaCertificate(token->certificate, keys);
  ASSERT_TRUE(claims.ok());
  ReplicaClaims expected = Claims();
  expected.key = PublicKeyOf(token->seed);
  EXPECT_EQ(*claims, expected);
  EXPECT_EQ(token->claims, expected);
  EXPECT_EQ(MakeReplicaToken(issuer, Claims()), text) << "as often as it is asked for";
}

TEST(ReplicaToken, TheLongestFits) {
  ReplicaClaims claims = Claims();
  claims.cluster = std::string(kClaimTextBytesMax, 'c');
  claims.user = std::string(kClaimTextBytesMax, 'u');
  const std::string text = MakeReplicaToken(SeedOf(1), claims);
  EXPECT_EQ(text.size(), kReplicaTokenBytesMax);
  EXPECT_TRUE(ParseReplicaToken(text).ok());
}

// Each claim has keys and a signature of its own: nothing of one token stands in for another's.
TEST(ReplicaToken, AnotherClaimIsAnotherTokenWithAnotherKey) {
  const auto first = ParseReplicaToken(MakeReplicaToken(SeedOf(1), Claims())).value();
  const std::pair<const char*, std::function<void(ReplicaClaims&)>> changes[] = {
      {"cluster", [](ReplicaClaims& c) { c.cluster = "4f1c2e"; }},
      {"job", [](ReplicaClaims& c) { c.job = 18; }},
      {"attempt", [](ReplicaClaims& c) { c.attempt = 4; }}};
  for (const auto& [name, change] : changes) {
    ReplicaClaims claims = Claims();
    change(claims);
    const auto other = ParseReplicaToken(MakeReplicaToken(SeedOf(1), claims)).value();
    EXPECT_NE(other.seed, first.seed) << name;
    EXPECT_NE(other.certificate, first.certificate) << name;
  }
}

TEST(ReplicaToken, NoByteOfACertificateMayBeAnother) {
  const Ed25519Key issuer = PublicKeyOf(SeedOf(1));
  const auto token = ParseReplicaToken(MakeReplicaToken(SeedOf(1), Claims())).value();
  for (std::size_t at = 0; at < token.certificate.size(); ++at) {
    std::string changed = token.certificate;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_EQ(CheckReplicaCertificate(changed, {&issuer, 1}).status().reason(), "BAD_TOKEN") << "byte " << at;
  }
  EXPECT_FALSE(CheckReplicaCertificate(token.certificate + '\0', {&issuer, 1}).ok());
  EXPECT_FALSE(CheckReplicaCertificate(token.certificate.substr(1), {&issuer, 1}).ok());
  EXPECT_FALSE(CheckReplicaCertificate("", {&issuer, 1}).ok());
}

TEST(ReplicaToken, OnlyTheSchedulersKeysCount) {
  const auto forged = ParseReplicaToken(MakeReplicaToken(SeedOf(2), Claims())).value();
  const Ed25519Key issuer = PublicKeyOf(SeedOf(1));
  EXPECT_EQ(CheckReplicaCertificate(forged.certificate, {&issuer, 1}).status().code(), StatusCode::kUnauthenticated);
  EXPECT_FALSE(CheckReplicaCertificate(forged.certificate, {}).ok()) << "no key, no token";
}

TEST(ReplicaToken, WhatIsNoneIsRefusedWithoutQuotingIt) {
  const std::string good = MakeReplicaToken(SeedOf(1), Claims());
  const std::string other = MakeReplicaToken(SeedOf(2), Claims());
  const std::string cases[] = {"",
                               "glimr_",
                               good.substr(1),
                               good.substr(0, good.size() - 2),
                               good + "00",
                               good + "0",
                               good + "\n",
                               good.substr(0, good.size() - 64) + other.substr(other.size() - 64),
                               "glimr_" + std::string(kReplicaTokenBytesMax, 'a'),
                               "GLIMR_" + good.substr(6)};
  for (const std::string& text : cases) {
    const Status refused = ParseReplicaToken(text).status();
    EXPECT_EQ(refused.reason(), "BAD_TOKEN") << text;
    EXPECT_EQ(refused.message(), "this is no replica token of this cluster");
  }
}

TEST(ReplicaToken, KeysAreDigits) {
  const Ed25519Key key = PublicKeyOf(SeedOf(1));
  EXPECT_EQ(ParseKey(KeyText(key)), key);
  EXPECT_FALSE(ParseKey(KeyText(key).substr(1)).has_value());
  EXPECT_FALSE(ParseKey(std::string(64, 'A')).has_value());
}

}  // namespace
}  // namespace glim
