#include "scheduler/oidc/claims.h"

#include <gtest/gtest.h>

#include "scheduler/oidc/testing/issuer.h"

namespace glim::oidc {
namespace {

const Issuer kGlim{testing::kIssuer, "glim", "preferred_username", ""};

Jwt Good() {
  Jwt jwt;
  jwt.issuer = testing::kIssuer;
  jwt.audience = {"glim"};
  jwt.issued_at = testing::kIssuedAt;
  jwt.expires_at = testing::kIssuedAt + 300;
  jwt.texts = {{"preferred_username", "kim"}, {"email", "kim@x.example"}};
  return jwt;
}
TimePoint After(std::int64_t seconds) { return TimePoint{(testing::kIssuedAt + seconds) * 1000}; }

TEST(IdTokenClaims, NameTheUser) {
  EXPECT_EQ(*UserOf(Good(), kGlim, After(10)), "kim");
  Issuer other = kGlim;
  other.user_claim = "email";
  EXPECT_EQ(*UserOf(Good(), other, After(10)), "kim@x.example");
  other.user_claim = "nickname";
  EXPECT_EQ(UserOf(Good(), other, After(10)).status().reason(), "BAD_ID_TOKEN");
}

TEST(IdTokenClaims, AreOfThisIssuerAndForThisClient) {
  const auto refused = [](auto change, const Issuer& issuer = kGlim) {
    Jwt jwt = Good();
    change(jwt);
    return !UserOf(jwt, issuer, After(10)).ok();
  };
  EXPECT_TRUE(refused([](Jwt& jwt) { jwt.issuer += "/"; }));
  EXPECT_TRUE(refused([](Jwt& jwt) { jwt.audience = {"glim2"}; }));
  EXPECT_TRUE(refused([](Jwt& jwt) { jwt.audience = {"glim", "other"}; })) << "and nobody says who got it";
  EXPECT_TRUE(refused([](Jwt& jwt) { jwt.authorized_party = "other"; }));
  EXPECT_FALSE(refused([](Jwt& jwt) {
    jwt.audience = {"glim", "other"};
    jwt.authorized_party = "glim";
  }));
  Issuer audience = kGlim;
  audience.audience = "cluster";
  EXPECT_TRUE(refused([](Jwt&) {}, audience));
  EXPECT_FALSE(refused([](Jwt& jwt) { jwt.audience = {"cluster"}; }, audience));
}

TEST(IdTokenClaims, CountFromTheirBeginningToTheirEnd) {
  const auto counts = [](std::int64_t seconds, auto change) {
    Jwt jwt = Good();
    change(jwt);
    return UserOf(jwt, kGlim, After(seconds)).ok();
  };
  const auto same = [](Jwt&) {};
  EXPECT_TRUE(counts(0, same));
  EXPECT_TRUE(counts(-59, same)) << "clocks differ a little";
  EXPECT_FALSE(counts(-61, same));
  EXPECT_TRUE(counts(359, same));
  EXPECT_FALSE(counts(360, same));
  EXPECT_FALSE(counts(10, [](Jwt& jwt) { jwt.not_before = jwt.issued_at + 100; }));
  EXPECT_TRUE(counts(50, [](Jwt& jwt) { jwt.not_before = jwt.issued_at + 100; }));
  EXPECT_FALSE(counts(86'401, [](Jwt& jwt) { jwt.expires_at += 10'000'000; })) << "for ever is not believed";
}

}  // namespace
}  // namespace glim::oidc
