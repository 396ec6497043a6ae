#include "scheduler/oidc/jwks.h"

#include <gtest/gtest.h>

#include "scheduler/oidc/testing/issuer.h"

namespace glim::oidc {
namespace {

using nlohmann::json;
using testing::Claims;
using testing::KeySet;
using testing::SigningKey;

class JwksTest : public ::testing::TestWithParam<const char*> {
 protected:
  const SigningKey key_{GetParam(), "k1"};
  const SigningKey other_{GetParam(), "k2"};
};

TEST_P(JwksTest, WhatTheKeySignedIsItsOwn) {
  const auto keys = ParseJwks(KeySet({&other_, &key_}));
  ASSERT_TRUE(keys.ok());
  ASSERT_EQ(keys->size(), 2u);
  const std::string token = key_.Sign(Claims());
  const auto jwt = ParseJwt(token);
  ASSERT_TRUE(jwt.ok());
  const PublicKey* key = FindKey(*keys, *jwt);
  ASSERT_NE(key, nullptr);
  EXPECT_EQ(key->kid, "k1");
  EXPECT_TRUE(IsSignedBy(*jwt, *key));
  EXPECT_FALSE(IsSignedBy(*jwt, keys->at(0)));
}

TEST_P(JwksTest, NothingOfItMayBeChanged) {
  const auto keys = ParseJwks(KeySet({&key_}));
  const auto jwt = ParseJwt(key_.Sign(Claims()));
  ASSERT_TRUE(keys.ok() && jwt.ok());
  Jwt changed = *jwt;
  changed.signed_part.back() = changed.signed_part.back() == 'A' ? 'B' : 'A';
  EXPECT_FALSE(IsSignedBy(changed, keys->at(0)));
  for (const std::size_t at : {std::size_t{0}, jwt->signature.size() - 1}) {
    changed = *jwt;
    changed.signature[at] = static_cast<char>(changed.signature[at] ^ 1);
    EXPECT_FALSE(IsSignedBy(changed, keys->at(0)));
  }
  for (const std::string& signature :
       {std::string(), jwt->signature + "x", std::string(64, '\0'), std::string(256, '\0')}) {
    changed.signature = signature;
    EXPECT_FALSE(IsSignedBy(changed, keys->at(0))) << signature.size();
  }
}

TEST_P(JwksTest, ATokenThatNamesNoKeyIsOfTheOnlyOne) {
  const SigningKey nameless(GetParam(), "");
  const auto jwt = ParseJwt(nameless.Sign(Claims()));
  ASSERT_TRUE(jwt.ok());
  const auto one = ParseJwks(KeySet({&nameless}));
  const auto two = ParseJwks(KeySet({&nameless, &key_}));
  ASSERT_NE(FindKey(*one, *jwt), nullptr);
  EXPECT_TRUE(IsSignedBy(*jwt, *FindKey(*one, *jwt)));
  EXPECT_EQ(FindKey(*two, *jwt), nullptr);
}

// An algorithm that the token says is held against the key's: RS256 with the bytes of an EC key is nothing.
TEST(Jwks, TheAlgorithmIsTheKeys) {
  const SigningKey rsa("RS256", "k1"), ec("ES256", "k1");
  const auto keys = ParseJwks(KeySet({&rsa}));
  const auto jwt = ParseJwt(ec.Sign(Claims()));
  ASSERT_TRUE(keys.ok() && jwt.ok());
  EXPECT_EQ(FindKey(*keys, *jwt), nullptr);
  EXPECT_FALSE(IsSignedBy(*jwt, keys->at(0)));
}

TEST(Jwks, LeavesOutWhatIsNoKeyOfOurs) {
  const json rsa = SigningKey("RS256", "r").Public(), ec = SigningKey("ES256", "e").Public();
  const auto with = [](json key, const char* name, const json& value) {
    key[name] = value;
    return key;
  };
  const json bad[] = {with(rsa, "use", "enc"),
                      with(rsa, "alg", "RS512"),
                      with(rsa, "kty", "oct"),
                      with(rsa, "n", "AQAB"),
                      with(rsa, "n", 7),
                      with(rsa, "e", "AQ"),
                      with(rsa, "n", rsa["n"].get<std::string>() + "="),
                      with(ec, "crv", "P-384"),
                      with(ec, "x", ec["y"]),
                      with(ec, "x", "AA"),
                      json("key"),
                      json()};
  for (const json& key : bad) {
    const auto keys = ParseJwks(json({{"keys", {key, rsa}}}).dump());
    ASSERT_TRUE(keys.ok());
    EXPECT_EQ(keys->size(), 1u) << key.dump();
  }
  for (const char* text : {"", "[]", "{}", "{\"keys\": 7}", "{\"keys\""}) EXPECT_FALSE(ParseJwks(text).ok()) << text;
  EXPECT_FALSE(ParseJwks(std::string(kJwksBytesMax + 1, ' ')).ok());
}

INSTANTIATE_TEST_SUITE_P(Algorithms, JwksTest, ::testing::Values("RS256", "ES256"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace glim::oidc
