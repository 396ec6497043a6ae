// The device flow against an issuer that says what the test wants.
#include "cli/login/device_flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

namespace glim::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kIssuer[] = "https://id.example";
constexpr char kDiscovery[] =
    R"({"issuer":"https://id.example","device_authorization_endpoint":"https://id.example/device",)"
    R"("token_endpoint":"https://id.example/token"})";
constexpr char kBegun[] = R"({"device_code":"d","user_code":"AB-CD","verification_uri":"https://id.example/go",)"
                          R"("interval":2,"expires_in":60})";

class FakeHttp : public https::Client {
 public:
  explicit FakeHttp(std::deque<std::string> answers) : answers_(std::move(answers)) {}
  Result<https::Answer> Get(const std::string& url) override { return Next(url); }
  Result<https::Answer> Post(const std::string& url, const https::Form& form) override {
    return Next(url + " " + https::Encoded(form));
  }
  std::vector<std::string> asked;

 private:
  Result<https::Answer> Next(const std::string& what) {
    asked.push_back(what);
    if (answers_.empty()) return Status(StatusCode::kUnavailable, "gone").WithReason("ISSUER_UNREACHABLE");
    https::Answer answer{200, answers_.front()};
    answers_.pop_front();
    return answer;
  }
  std::deque<std::string> answers_;
};

class DeviceFlowTest : public testing::Test {
 protected:
  Result<std::string> Login(FakeHttp& http, const std::string& issuer = kIssuer) {
    DeviceFlow flow{issuer, "glim", [this](const auto& address, const auto& code) { shown_ = address + " " + code; },
                    [this](Duration pause) {
                      pauses_.push_back(pause.ms);
                      return pauses_.size() > 100;
                    }};
    return LoginAtIssuer(http, flow);
  }
  std::string shown_;
  std::vector<std::int64_t> pauses_;
};

TEST_F(DeviceFlowTest, AsksUntilTheUserHasTypedTheCode) {
  FakeHttp http({kDiscovery, kBegun, R"({"error":"authorization_pending"})", R"({"error":"slow_down"})",
                 R"({"id_token":"j.w.t"})"});
  const Result<std::string> token = Login(http);
  ASSERT_TRUE(token.ok()) << token.status().message();
  EXPECT_EQ(*token, "j.w.t");
  EXPECT_EQ(shown_, "https://id.example/go AB-CD");
  EXPECT_THAT(pauses_, ElementsAre(2000, 2000, 7000));
  EXPECT_EQ(http.asked[0], "https://id.example/.well-known/openid-configuration");
  EXPECT_THAT(http.asked[1], HasSubstr("client_id=glim&scope=openid%20profile%20email"));
  EXPECT_THAT(http.asked[4], HasSubstr("device_code=d"));
}

TEST_F(DeviceFlowTest, EndsByARefusalByTimeOrByTheUser) {
  FakeHttp denied({kDiscovery, kBegun, R"({"error":"access_denied"})"});
  EXPECT_EQ(Login(denied).status().reason(), "LOGIN_DENIED");
  FakeHttp silent({kDiscovery, kBegun});  // the network is gone for the whole minute
  EXPECT_EQ(Login(silent).status().reason(), "LOGIN_EXPIRED");
  FakeHttp expired({kDiscovery, kBegun, R"({"error":"expired_token"})"});
  EXPECT_EQ(Login(expired).status().reason(), "LOGIN_EXPIRED");
  pauses_.assign(100, 0);
  FakeHttp cut({kDiscovery, kBegun});
  EXPECT_EQ(Login(cut).status().code(), StatusCode::kCancelled);
}

TEST_F(DeviceFlowTest, AnIssuerThatIsNotWhatItSaysGetsNothing) {
  const std::string elsewhere = R"({"issuer":"https://evil.example","device_authorization_endpoint":"https://e/d",)"
                                R"("token_endpoint":"https://e/t"})";
  const std::string downgraded = R"({"issuer":"https://id.example","device_authorization_endpoint":)"
                                 R"("http://127.0.0.1/d","token_endpoint":"https://id.example/t"})";
  for (const std::string& discovery : {elsewhere, downgraded, std::string("{}"), std::string("<html>")}) {
    FakeHttp http({discovery, kBegun});
    EXPECT_EQ(Login(http).status().reason(), "BAD_ISSUER") << discovery;
    EXPECT_EQ(http.asked.size(), 1u);
  }
  FakeHttp wide({kDiscovery, R"({"device_code":"d"})"});
  EXPECT_EQ(Login(wide).status().reason(), "BAD_ISSUER");
}

}  // namespace
}  // namespace glim::cli
