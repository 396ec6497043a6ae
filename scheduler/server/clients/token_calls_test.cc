// Tokens by the API: who makes, sees and revokes whose.
#include <gmock/gmock.h>

#include "scheduler/server/clients/token_rules.h"
#include "scheduler/server/testing/token_server.h"

namespace glim::server {
namespace {

using AdminStub = v1::AdminApi::Stub;

class TokenCallsTest : public TokenServerTest {
 protected:
  std::string Reason(const grpc::Status& status) { return status.ok() ? "" : DetailOf(status).reason(); }

  // Whose tokens are listed; or the refusal.
  std::set<std::string> Listed(const std::string& by, const std::string& user, bool all, std::string* refusal) {
    v1::ListTokensRequest request;
    request.set_user(user);
    request.set_all(all);
    v1::ListTokensResponse response;
    *refusal = Reason(Ask(admin_.get(), &AdminStub::ListTokens, by, request, &response));
    std::set<std::string> users;
    for (const v1::Token& token : response.tokens()) users.insert(token.user());
    return users;
  }
  std::string Revoke(const std::string& by, const std::string& id) {
    v1::RevokeTokenRequest request;
    request.set_id(id);
    v1::RevokeTokenResponse response;
    return Reason(Ask(admin_.get(), &AdminStub::RevokeToken, by, request, &response));
  }
};

TEST_F(TokenCallsTest, EachSeesTheirOwnOperatorsOthersAdminsAll) {
  std::string refusal;
  EXPECT_EQ(Listed(TokenOf("kim"), "", false, &refusal), (std::set<std::string>{"kim"}));
  EXPECT_TRUE(Listed(TokenOf("kim"), "lee", false, &refusal).empty());
  EXPECT_EQ(refusal, "NOT_YOURS");
  EXPECT_TRUE(Listed(TokenOf("kim"), "", true, &refusal).empty());
  EXPECT_EQ(refusal, "ROLE");
  EXPECT_TRUE(Listed(TokenOf("ora"), "ada", false, &refusal).empty());
  EXPECT_EQ(refusal, "ROLE");
  EXPECT_EQ(Listed(TokenOf("ora"), "", true, &refusal), (std::set<std::string>{"kim", "lee", "ora", "tess", "vera"}));
  EXPECT_GE(Listed(TokenOf("ada"), "", true, &refusal).size(), 7U) << "the first start's as well";
}

TEST_F(TokenCallsTest, WhoRevokesWhose) {
  EXPECT_EQ(Revoke(TokenOf("kim"), IdOf(TokenOf("lee"))), "NO_SUCH_TOKEN") << "others' ids are told to nobody";
  EXPECT_EQ(Revoke(TokenOf("ora"), IdOf(TokenOf("ada"))), "ROLE");
  EXPECT_EQ(Revoke(TokenOf("ora"), IdOf(TokenOf("lee"))), "");
  EXPECT_EQ(Revoke(TokenOf("ada"), IdOf(TokenOf("ora"))), "");
  EXPECT_EQ(Revoke(TokenOf("ada"), IdOf(TokenOf("ora"))), "NO_SUCH_TOKEN");
}

TEST_F(TokenCallsTest, ATokenToReadWithRevokesItselfAlone) {
  const std::string reads = MakeToken("kim", "read");
  EXPECT_EQ(Revoke(reads, IdOf(TokenOf("kim"))), "SCOPE");
  EXPECT_EQ(Revoke(reads, IdOf(reads)), "");
  EXPECT_EQ(Revoke(reads, IdOf(reads)), "BAD_TOKEN");
}

TEST_F(TokenCallsTest, ALoginsTokenMakesNothingThatOutlivesIt) {
  core::TokenRow row;
  row.user = "ora";
  row.origin = core::TokenOrigin::kLogin;
  row.made_by = "login-1";
  row.expires_at = TimePoint{std::chrono::duration_cast<std::chrono::milliseconds>(
                                 std::chrono::system_clock::now().time_since_epoch())
                                 .count()} +
                   Hours(1);
  const std::string login = PutToken(row);
  v1::CreateTokenRequest request;
  v1::CreateTokenResponse made;
  ASSERT_EQ(Reason(Ask(admin_.get(), &AdminStub::CreateToken, login, request, &made)), "");
  EXPECT_EQ(made.row().expires_at_ms(), row.expires_at.ms);
  EXPECT_EQ(made.row().origin(), "login");
  request.set_user("kim");
  EXPECT_EQ(Reason(Ask(admin_.get(), &AdminStub::CreateToken, login, request, &made)), "NOT_YOURS") << "no operator's";
  v1::ListAuditResponse trail;
  EXPECT_EQ(Reason(Ask(admin_.get(), &AdminStub::ListAudit, login, v1::ListAuditRequest(), &trail)), "ROLE");
}

TEST_F(TokenCallsTest, LastUseIsShownToTheMinuteAndTheSecretNever) {
  v1::ListTokensResponse response;
  ASSERT_TRUE(Ask(admin_.get(), &AdminStub::ListTokens, TokenOf("kim"), v1::ListTokensRequest(), &response).ok());
  ASSERT_EQ(response.tokens_size(), 1);
  EXPECT_GT(response.tokens(0).last_used_ms(), 0);
  EXPECT_EQ(response.tokens(0).last_used_ms() % 60'000, 0);
  EXPECT_FALSE(response.tokens(0).made_by().empty());
  EXPECT_EQ(response.ShortDebugString().find(TokenOf("kim").substr(22)), std::string::npos);
}

TEST_F(TokenCallsTest, OneUsersAreBounded) {
  v1::CreateTokenRequest request;
  v1::CreateTokenResponse made;
  std::string reason;
  for (std::size_t i = 0; reason.empty() && i <= kTokensOfUserMax; ++i) {
    reason = Reason(Ask(admin_.get(), &AdminStub::CreateToken, TokenOf("lee"), request, &made));
  }
  EXPECT_EQ(reason, "TOO_MANY_TOKENS");
  EXPECT_EQ(Reason(Ask(admin_.get(), &AdminStub::CreateToken, TokenOf("kim"), request, &made)), "")
      << "another's are not";
}

}  // namespace
}  // namespace glim::server
