// Signing in with an issuer: its word becomes a token of a registered user, and of nobody else.
#include <chrono>

#include "scheduler/oidc/testing/issuer.h"
#include "scheduler/oidc/testing/local_issuer.h"
#include "scheduler/server/testing/identity_server.h"

namespace glim::server {
namespace {

using nlohmann::json;

class OidcLoginTest : public IdentityTest {
 protected:
  void Configure() override {
    IdentityTest::Configure();
    config_.issuer.issuer = issuer_.url();
    config_.issuer.client_id = "glim";
  }
  std::string IdToken(const std::string& user) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(now).count();
    json claims = oidc::testing::Claims();
    claims["iss"] = issuer_.url();
    claims["preferred_username"] = user;
    claims["iat"] = seconds;
    claims["exp"] = seconds + 300;
    claims["jti"] = std::to_string(++tokens_);
    return key_.Sign(claims);
  }
  grpc::Status Login(const std::string& id_token, v1::LoginOidcResponse* response) {
    grpc::ClientContext context;  // without a token
    context.set_deadline(std::chrono::system_clock::now() + LongWait());
    v1::LoginOidcRequest request;
    request.set_id_token(id_token);
    return client_->LoginOidc(&context, request, response);
  }

  const oidc::testing::SigningKey key_{"ES256", "k1"};
  oidc::testing::LocalIssuer issuer_{oidc::testing::KeySet({&key_})};
  int tokens_ = 0;
};

TEST_F(OidcLoginTest, ItsWordIsExchangedForAToken) {
  v1::AccountUser kim;
  kim.set_name("kim");
  MakeUser(kim);
  grpc::ClientContext nobody;
  v1::GetLoginResponse where;
  ASSERT_TRUE(client_->GetLogin(&nobody, {}, &where).ok());
  EXPECT_EQ(where.oidc_issuer(), issuer_.url());
  EXPECT_EQ(where.oidc_client(), "glim");

  v1::LoginOidcResponse response;
  const std::string id_token = IdToken("kim");
  const grpc::Status status = Login(id_token, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.user(), "kim");
  grpc::ClientContext context;
  Authorize(&context, response.token());
  v1::WhoAmIResponse who;
  ASSERT_TRUE(client_->WhoAmI(&context, {}, &who).ok());
  EXPECT_EQ(who.user(), "kim");
  EXPECT_EQ(who.expires_at_ms(), response.expires_at_ms());
  EXPECT_EQ(issuer_.requests(), 2);
  EXPECT_EQ(DetailOf(Login(id_token, &response)).reason(), "ID_TOKEN_USED");
  const auto audit = Audit("/glim.v1.ClientApi/LoginOidc");
  ASSERT_EQ(audit.size(), 2u);
  EXPECT_EQ(audit[0].object(), "user kim");
  EXPECT_EQ(audit[0].outcome(), "ok");
  EXPECT_EQ(audit[1].outcome(), "ID_TOKEN_USED");
}

TEST_F(OidcLoginTest, WhoIsNoUserOrDisabledGetsNothing) {
  v1::AccountUser ana;
  ana.set_name("ana");
  MakeUser(ana);
  v1::ChangeAccountRequest disable;
  *disable.mutable_user() = ana;
  disable.mutable_user()->set_disabled(true);
  v1::ChangeAccountResponse done;
  grpc::ClientContext context;
  Authorize(&context);
  ASSERT_TRUE(admin_->ChangeAccount(&context, disable, &done).ok());
  v1::LoginOidcResponse response;
  EXPECT_EQ(DetailOf(Login(IdToken("stranger"), &response)).reason(), "NO_SUCH_USER");
  EXPECT_EQ(DetailOf(Login(IdToken("ana"), &response)).reason(), "USER_DISABLED");
  EXPECT_EQ(DetailOf(Login("e30.e30.e30", &response)).reason(), "BAD_ID_TOKEN");
  EXPECT_EQ(response.token(), "");
  EXPECT_EQ(server_->snapshot()->tables.accounts->users.count("stranger"), 0u);
}

TEST_F(OidcLoginTest, OneAddressSignsInTenTimesAtOnceAndNotMore) {
  v1::LoginOidcResponse response;
  int refused = 0;
  for (int i = 0; i < 15; ++i) refused += DetailOf(Login("x", &response)).reason() == "LOGIN_RATE" ? 1 : 0;
  EXPECT_GE(refused, 3);
}

}  // namespace
}  // namespace glim::server
