#include "sdk/tokens/opaque_token.h"

#include <gtest/gtest.h>

namespace glim {
namespace {

TEST(OpaqueToken, IsDrawnAnewAndReadsBack) {
  const OpaqueToken token = MakeToken();
  EXPECT_EQ(token.Text().size(), kTokenTextBytes);
  const Result<OpaqueToken> read = ParseToken(token.Text());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->id, token.id);
  EXPECT_EQ(read->secret, token.secret);
  const OpaqueToken other = MakeToken();
  EXPECT_NE(other.id, token.id);
  EXPECT_NE(other.secret, token.secret);
}

TEST(OpaqueToken, ReadsItsOneFormAloneAndQuotesNothing) {
  const std::string id(kTokenIdDigits, 'a'), secret(kTokenSecretDigits, '5');
  ASSERT_TRUE(ParseToken("glim_" + id + "_" + secret).ok());
  std::string zero = "glim_" + id + "_" + secret;
  zero[30] = '\0';
  for (const std::string& text :
       {std::string(), std::string("glim_"), "glim_" + id + "_", "glim-" + id + "_" + secret,
        "GLIM_" + id + "_" + secret, "glim_" + id + "-" + secret, "glim_" + id + "_" + secret + "\n",
        " glim_" + id + "_" + secret, "glim_" + id + "_" + secret.substr(1), "glim_" + id + "5_" + secret.substr(1),
        "glim_" + id + "_" + std::string(kTokenSecretDigits, 'F'), std::string(100'000, 'a'), zero}) {
    const Result<OpaqueToken> read = ParseToken(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.status().code(), StatusCode::kUnauthenticated);
    EXPECT_EQ(read.status().reason(), "BAD_TOKEN");
    EXPECT_EQ(read.status().message().find("555"), std::string::npos);
  }
}

TEST(OpaqueToken, IsKeptAsItsHash) {
  // printf abc | sha256sum
  EXPECT_EQ(HashOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HashOf("abc").size(), kTokenHashDigits);
  EXPECT_TRUE(SameHash(HashOf("abc"), HashOf("abc")));
  EXPECT_FALSE(SameHash(HashOf("abc"), HashOf("abd")));
  EXPECT_FALSE(SameHash(HashOf("abc"), HashOf("abc").substr(1)));
  EXPECT_FALSE(SameHash("", "")) << "a row without a hash is nobody's";
}

}  // namespace
}  // namespace glim
