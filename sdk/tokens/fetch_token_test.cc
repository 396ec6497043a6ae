#include "sdk/tokens/fetch_token.h"

#include <gtest/gtest.h>

namespace glim {
namespace {

const std::string kKey = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

TEST(FetchToken, IsTheHmacOfWhatIsReadByWhom) {
  // python3: hmac.new(key, b"fetch\n7\nattempt-1/step-42\nnode-2", hashlib.sha256).hexdigest()
  EXPECT_EQ(FetchToken(kKey, 7, "attempt-1/step-42", "node-2"),
            "6c37764d7d68381d9008167f73386dacb9724a42a96f0d4942f06504fc4dcf18");
}

TEST(FetchToken, IsForOneReaderOneJobAndOneSave) {
  const std::string token = FetchToken(kKey, 7, "a", "node-2");
  EXPECT_TRUE(SameToken(token, FetchToken(kKey, 7, "a", "node-2")));
  std::string other_key = kKey;
  other_key[0] = 'f';
  for (const std::string& other :
       {FetchToken(other_key, 7, "a", "node-2"), FetchToken(kKey, 8, "a", "node-2"), FetchToken(kKey, 7, "b", "node-2"),
        FetchToken(kKey, 7, "a", "node-3"), token.substr(1), std::string()}) {
    EXPECT_FALSE(SameToken(token, other)) << other;
  }
}

TEST(FetchToken, EachAgentDrawsItsOwnKey) {
  const std::string key = MakeSaveKey();
  EXPECT_EQ(key.size(), kSaveKeyDigits);
  EXPECT_EQ(key.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(key, MakeSaveKey());
}

}  // namespace
}  // namespace glim
