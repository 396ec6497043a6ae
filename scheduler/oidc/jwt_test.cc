#include "scheduler/oidc/jwt.h"

#include <gtest/gtest.h>

#include <functional>

#include "scheduler/oidc/testing/issuer.h"

namespace glim::oidc {
namespace {

using nlohmann::json;
using testing::Base64Url;
using testing::Claims;

std::string Token(const json& header, const json& claims) {
  return Base64Url(header.dump()) + "." + Base64Url(claims.dump()) + "." + Base64Url("signature");
}
const json kHeader = {{"alg", "RS256"}, {"typ", "JWT"}, {"kid", "k1"}};

TEST(Jwt, IsTakenApart) {
  json claims = Claims();
  claims["aud"] = {"other", "glim"};
  claims["azp"] = "glim";
  claims["nbf"] = testing::kIssuedAt + 1.5;
  const std::string text = Token(kHeader, claims);
  const auto jwt = ParseJwt(text);
  ASSERT_TRUE(jwt.ok()) << jwt.status().message();
  EXPECT_EQ(jwt->algorithm, Algorithm::kRs256);
  EXPECT_EQ(jwt->kid, "k1");
  EXPECT_EQ(jwt->issuer, testing::kIssuer);
  EXPECT_EQ(jwt->audience, (std::vector<std::string>{"other", "glim"}));
  EXPECT_EQ(jwt->authorized_party, "glim");
  EXPECT_EQ(jwt->issued_at, testing::kIssuedAt);
  EXPECT_EQ(jwt->expires_at, testing::kIssuedAt + 300);
  EXPECT_EQ(jwt->not_before, testing::kIssuedAt + 1);
  EXPECT_EQ(jwt->texts.at("preferred_username"), "kim");
  EXPECT_EQ(jwt->signature, "signature");
  EXPECT_EQ(jwt->signed_part, text.substr(0, text.rfind('.')));
}

TEST(Jwt, RefusesWhatIsNoIdToken) {
  const std::string good = Token(kHeader, Claims());
  ASSERT_TRUE(ParseJwt(good).ok());
  const auto header = [](const char* name, const json& value) {
    json changed = kHeader;
    changed[name] = value;
    return Token(changed, Claims());
  };
  const auto claim = [](const char* name, const json& value) {
    json changed = Claims();
    changed[name] = value;
    if (value.is_null()) changed.erase(name);
    return Token(kHeader, changed);
  };
  const std::pair<const char*, std::string> cases[] = {
      {"nothing", ""},
      {"one part", "e30"},
      {"two parts", good.substr(0, good.rfind('.'))},
      {"four parts", good + ".e30"},
      {"no signature", good.substr(0, good.rfind('.') + 1)},
      {"padding", good + "="},
      {"a blank", " " + good},
      {"too long", good + std::string(kTokenBytesMax, 'A')},
      {"a list as its header", Base64Url("[]") + good.substr(good.find('.'))},
      {"no JSON", Base64Url("{") + good.substr(good.find('.'))},
      {"nobody's signature", header("alg", "none")},
      {"nobody's signature, in other letters", header("alg", "nOnE")},
      {"signed by a secret", header("alg", "HS256")},
      {"another signature", header("alg", "RS512")},
      {"an algorithm that is no text", header("alg", 7)},
      {"an access token", header("typ", "at+jwt")},
      {"more than is known", header("crit", {"b64"})},
      {"a number as the key", header("kid", 7)},
      {"a long key name", header("kid", std::string(2000, 'k'))},
      {"no audience", claim("aud", nullptr)},
      {"an empty audience", claim("aud", json::array())},
      {"a number as the audience", claim("aud", {"glim", 7})},
      {"no end", claim("exp", nullptr)},
      {"an end that is a text", claim("exp", "1795000300")},
      {"an end before the epoch", claim("exp", -1)},
      {"no beginning", claim("iat", nullptr)},
      {"a beginning beyond all clocks", claim("iat", 1e300)},
      {"a list as the issuer", claim("iss", {"https://issuer.example"})},
      {"a text as nbf", claim("nbf", "now")},
  };
  for (const auto& [what, text] : cases) {
    const auto jwt = ParseJwt(text);
    EXPECT_EQ(jwt.status().reason(), "BAD_ID_TOKEN") << what;
  }
}

TEST(Jwt, Base64HasOneSpelling) {
  for (const std::string& bytes : {std::string(), std::string("a"), std::string("ab"), std::string("\0\xff\x80", 3)}) {
    EXPECT_EQ(DecodeBase64Url(Base64Url(bytes)), bytes);
  }
  EXPECT_EQ(DecodeBase64Url("YQ"), "a");
  for (const char* text : {"YR", "YQ==", "YQ=", "Y", "Y+", "Y/", "Y Q", "YQ\n"})
    EXPECT_FALSE(DecodeBase64Url(text)) << text;
}

}  // namespace
}  // namespace glim::oidc
