// Tokens for users of login hosts: by uid, through the real ports.
#include "scheduler/server/nodes/login_affairs.h"

#include <gmock/gmock.h>

#include "scheduler/server/testing/identity_server.h"

namespace glim::server {
namespace {

core::Accounts Registry() {
  core::Accounts accounts;
  const auto add = [&](const std::string& name, std::uint32_t uid, bool disabled) {
    core::User user;
    user.name = name;
    user.uid = uid;
    user.disabled = disabled;
    accounts.users[name] = user;
  };
  add("kim", 1000, false);
  add("twin-a", 1001, false);
  add("twin-b", 1001, false);
  add("gone", 1002, true);
  add("root", 0, false);
  add("nobody", 65534, false);
  accounts.users["without"].name = "without";
  return accounts;
}

TEST(UserOfUid, TheRegistrySaysWhoseItIs) {
  const core::Accounts accounts = Registry();
  const auto reason = [&](std::uint32_t uid) {
    const auto user = UserOfUid(accounts, uid);
    return user.ok() ? user->name : user.status().reason();
  };
  EXPECT_EQ(reason(1000), "kim");
  EXPECT_EQ(reason(1001), "AMBIGUOUS_UID");
  EXPECT_EQ(reason(1002), "USER_DISABLED");
  EXPECT_EQ(reason(1003), "UNKNOWN_UID");
  EXPECT_EQ(reason(0), "NO_LOGIN_UID") << "even if somebody registered it";
  EXPECT_EQ(reason(65534), "NO_LOGIN_UID") << "what a user namespace shows of strangers";
  EXPECT_EQ(reason(0xffffffff), "NO_LOGIN_UID");
}

class LoginTest : public IdentityTest {
 protected:
  grpc::Status Login(const TestNode& host, std::uint32_t uid, v1::LoginUserResponse* response) {
    const auto stub = v1::AgentApi::NewStub(ConnectAgent(&host));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + LongWait());
    v1::LoginUserRequest request;
    request.set_uid(uid);
    return stub->LoginUser(&context, request, response);
  }
  void Register(const std::string& name, std::uint32_t uid, const std::string& role) {
    v1::AccountUser user;
    user.set_name(name);
    user.set_role(role);
    user.set_has_uid(true);
    user.set_uid(uid);
    user.set_gid(uid);
    MakeUser(user);
  }
  const core::TokenRow RowOf(const std::string& token) {
    return *server_->snapshot()->tables.identity->tokens.Find(token.substr(5, 16));
  }
};

TEST_F(LoginTest, AUserGetsATokenForHalfADay) {
  const TestNode host = MustEnrol("front", true);
  Register("kim", 4000, "user");
  v1::LoginUserResponse response;
  const grpc::Status status = Login(host, 4000, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.user(), "kim");
  EXPECT_EQ(response.listen(), "127.0.0.1:" + std::to_string(port()));
  grpc::ClientContext context;
  Authorize(&context, response.token());
  v1::WhoAmIResponse who;
  ASSERT_TRUE(client_->WhoAmI(&context, v1::WhoAmIRequest(), &who).ok());
  EXPECT_EQ(who.user(), "kim");
  EXPECT_EQ(RowOf(response.token()).made_by, "node:front");
  EXPECT_EQ(RowOf(response.token()).expires_at - RowOf(response.token()).created_at, kLoginTokenLife);
  EXPECT_EQ(Audit("/LoginUser").back().user(), "kim");
}

TEST_F(LoginTest, AnOperatorGetsAUsersRights) {
  const TestNode host = MustEnrol("front", true);
  Register("oda", 4001, "operator");
  v1::LoginUserResponse response;
  ASSERT_TRUE(Login(host, 4001, &response).ok());
  EXPECT_EQ(RowOf(response.token()).scope, core::Scope::kSubmit);
  EXPECT_EQ(RowOf(response.token()).origin, core::TokenOrigin::kLogin);
  grpc::ClientContext context;
  Authorize(&context, response.token());
  v1::InviteNodeRequest invite;
  invite.set_node("node-1");
  v1::InviteNodeResponse invited;
  EXPECT_EQ(admin_->InviteNode(&context, invite, &invited).error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(LoginTest, OnlyAHostForLoginsMayAsk) {
  const TestNode node = MustEnrol("node-1");
  v1::LoginUserResponse response;
  EXPECT_EQ(DetailOf(Login(node, 4000, &response)).reason(), "NO_LOGIN_HOST");
  const TestNode host = MustEnrol("front", true);
  EXPECT_EQ(DetailOf(Login(host, 4000, &response)).reason(), "UNKNOWN_UID");
  EXPECT_TRUE(Eventually([&] { return Audit("/LoginUser").size() == 2; }));
}

TEST_F(LoginTest, TheOldestTokenOfTheHostGoes) {
  const TestNode host = MustEnrol("front", true);
  Register("kim", 4000, "user");
  v1::LoginUserResponse first;
  ASSERT_TRUE(Login(host, 4000, &first).ok());
  v1::LoginUserResponse next;
  for (std::size_t i = 0; i < kLoginTokensMax; ++i) ASSERT_TRUE(Login(host, 4000, &next).ok()) << i;
  EXPECT_EQ(server_->snapshot()->tables.identity->tokens.Find(first.token().substr(5, 16)), nullptr);
  EXPECT_NE(server_->snapshot()->tables.identity->tokens.Find(next.token().substr(5, 16)), nullptr);
  (void)Login(host, 4000, &next);
  EXPECT_EQ(DetailOf(Login(host, 4000, &next)).reason(), "LOGIN_RATE");
}

}  // namespace
}  // namespace glim::server
