#include "scheduler/oidc/verifier.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "scheduler/oidc/testing/issuer.h"

namespace glim::oidc {
namespace {

using nlohmann::json;
using testing::Claims;
using testing::SigningKey;

class VerifierTest : public ::testing::Test {
 protected:
  VerifierTest() {
    documents_[std::string(testing::kIssuer) + "/.well-known/openid-configuration"] =
        json({{"issuer", testing::kIssuer}, {"jwks_uri", "https://issuer.example/keys"}}).dump();
    Show({&key_});
  }

  void Show(const std::vector<const SigningKey*>& keys) {
    documents_["https://issuer.example/keys"] = testing::KeySet(keys);
  }
  // Only while nothing is being judged.
  Result<std::string> Fetch(const std::string& url) {
    ++fetched_;
    const auto it = documents_.find(url);
    if (it != documents_.end()) return it->second;
    return Status(StatusCode::kUnavailable, "nobody there").WithReason("ISSUER_UNREACHABLE");
  }
  Result<std::string> Judge(const std::string& token) {
    std::promise<Result<std::string>> promise;
    const Status asked = verifier_.Verify(token, [&](const Result<std::string>& user) { promise.set_value(user); });
    EXPECT_TRUE(asked.ok());
    return promise.get_future().get();
  }
  std::string ReasonOf(const std::string& token) {
    const auto user = Judge(token);
    return user.ok() ? "user " + *user : user.status().reason();
  }
  // Another one each time.
  std::string Token(const SigningKey& key, const char* user = "kim") {
    json claims = Claims();
    claims["jti"] = std::to_string(++tokens_);
    claims["preferred_username"] = user;
    return key.Sign(claims);
  }
  void Pass(Duration time) { now_ms_ += time.ms; }

  const SigningKey key_{"ES256", "k1"};
  const SigningKey next_{"RS256", "k2"};
  std::map<std::string, std::string> documents_;
  std::atomic<int> fetched_ = 0;
  int tokens_ = 0;
  std::atomic<std::int64_t> now_ms_ = testing::kIssuedAt * 1000 + 1000;
  Verifier verifier_{{testing::kIssuer, "glim", "preferred_username", ""},
                     [this](const std::string& url) { return Fetch(url); },
                     [this] { return TimePoint{now_ms_}; }};
};

TEST_F(VerifierTest, BelievesTheIssuersWordOnce) {
  const std::string token = Token(key_);
  EXPECT_EQ(ReasonOf(token), "user kim");
  EXPECT_EQ(ReasonOf(token), "ID_TOKEN_USED");
  EXPECT_EQ(ReasonOf(Token(key_, "ana")), "user ana");
  EXPECT_EQ(fetched_, 2) << "the configuration and the keys, once";
}

TEST_F(VerifierTest, NobodyElsesWord) {
  const SigningKey stranger("ES256", "k1");
  EXPECT_EQ(ReasonOf(Token(stranger)), "BAD_ID_TOKEN") << "with the name of a key of the issuer's";
  EXPECT_EQ(ReasonOf("e30.e30.e30"), "BAD_ID_TOKEN");
  json claims = Claims();
  claims["exp"] = testing::kIssuedAt - 100;
  const int before = fetched_;
  EXPECT_EQ(ReasonOf(key_.Sign(claims)), "BAD_ID_TOKEN");
  EXPECT_EQ(fetched_, before) << "for what is of no use nobody is asked";
}

TEST_F(VerifierTest, KeysAreKeptForTenMinutesAndANewOneIsFetchedOnceAMinute) {
  EXPECT_EQ(ReasonOf(Token(key_)), "user kim");
  EXPECT_EQ(ReasonOf(Token(next_)),
            "BAD_ID_TOKEN");  // asked again at once: a minute has not passed since the last time
  EXPECT_EQ(fetched_, 2);
  Show({&key_, &next_});
  Pass(kUnknownKeyPause);
  EXPECT_EQ(ReasonOf(Token(next_)), "user kim");
  EXPECT_EQ(fetched_, 4);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ReasonOf(Token(SigningKey("ES256", "made-up"))), "BAD_ID_TOKEN");
  EXPECT_EQ(fetched_, 4);
}

TEST_F(VerifierTest, AKeyThatTheIssuerDropsCountsNoMoreAfterTenMinutes) {
  json claims = Claims();
  claims["exp"] = testing::kIssuedAt + 3600;
  EXPECT_EQ(ReasonOf(key_.Sign(claims)), "user kim");
  Show({&next_});
  Pass(kKeysKept);
  claims["jti"] = "another";
  EXPECT_EQ(ReasonOf(key_.Sign(claims)), "BAD_ID_TOKEN");
}

TEST_F(VerifierTest, AnIssuerThatIsAwayIsAskedAgainSoon) {
  const auto keys = documents_;
  documents_.clear();
  EXPECT_EQ(ReasonOf(Token(key_)), "ISSUER_UNREACHABLE");
  EXPECT_EQ(ReasonOf(Token(key_)), "ISSUER_UNREACHABLE");
  EXPECT_EQ(fetched_, 1);
  documents_ = keys;
  Pass(kFailurePause);
  EXPECT_EQ(ReasonOf(Token(key_)), "user kim");
}

TEST_F(VerifierTest, AConfigurationOfSomebodyElseIsNotBelieved) {
  std::string& configuration = documents_[std::string(testing::kIssuer) + "/.well-known/openid-configuration"];
  const std::string cases[] = {
      json({{"issuer", "https://other.example"}, {"jwks_uri", "https://issuer.example/keys"}}).dump(),
      json({{"issuer", testing::kIssuer}, {"jwks_uri", "http://issuer.example/keys"}}).dump(),
      json({{"issuer", testing::kIssuer}, {"jwks_uri", "file:///etc/passwd"}}).dump(), "[]", ""};
  for (const std::string& text : cases) {
    configuration = text;
    EXPECT_EQ(ReasonOf(Token(key_)), "ISSUER_UNREACHABLE") << text;
    Pass(kFailurePause);
  }
}

TEST_F(VerifierTest, WhoWaitsAtTheEndIsToldSo) {
  verifier_.Stop();
  EXPECT_EQ(verifier_.Verify("x", [](const Result<std::string>&) { FAIL(); }).reason(), "STOPPING");
}

}  // namespace
}  // namespace glim::oidc
