// Browsers' sessions: how one begins, what it may, and what pages of others cannot make a browser do.
#include "scheduler/gateway/sessions.h"

#include <gmock/gmock.h>

#include "scheduler/gateway/testing/http_server_fixture.h"

namespace glim::gateway {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SessionTest : public HttpServerTest {
 protected:
  struct Session {
    std::string cookie, csrf, set_cookie;
  };
  std::string NewCode(const std::string& user) {
    const HttpReply reply = Ask("POST", "/v1/session/code", TokenOf(user));
    EXPECT_EQ(reply.status, 200) << reply.body;
    const std::string code = reply.Json()["code"];
    EXPECT_EQ(reply.Json()["url"], "https://127.0.0.1:" + std::to_string(server_->http_port()) + "/#code=" + code);
    return code;
  }
  HttpReply Redeem(const std::string& code, const TestHeaders& headers = {}) {
    return Ask("POST", "/v1/session", "", "{\"code\":\"" + code + "\"}", headers);
  }
  Session Begin(const std::string& user) {
    const HttpReply reply = Redeem(NewCode(user));
    EXPECT_EQ(reply.status, 200) << reply.body;
    Session session;
    session.set_cookie = reply.headers.at("set-cookie");
    session.cookie = session.set_cookie.substr(0, session.set_cookie.find(';'));
    session.csrf = reply.Json()["csrf"];
    return session;
  }
};

TEST_F(SessionTest, ACodeBecomesACookieOnce) {
  const std::string code = NewCode("kim");
  const HttpReply first = Redeem(code);
  ASSERT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(first.Json()["user"], "kim");
  EXPECT_THAT(first.body, Not(HasSubstr("glim_"))) << "no script sees a token";
  const std::string cookie = first.headers.at("set-cookie");
  EXPECT_TRUE(cookie.starts_with("__Host-glim_session=")) << "no page of a sibling host can set it";
  EXPECT_THAT(cookie, HasSubstr("; HttpOnly"));
  EXPECT_THAT(cookie, HasSubstr("; SameSite=Strict"));
  EXPECT_THAT(cookie, HasSubstr("; Secure"));
  EXPECT_THAT(cookie, HasSubstr("; Path=/"));
  const HttpReply second = Redeem(code);
  EXPECT_EQ(second.status, 401);
  EXPECT_EQ(second.Reason(), "BAD_CODE");
  EXPECT_EQ(Redeem("made-up").Reason(), "BAD_CODE");
}

TEST_F(SessionTest, TheSessionIsItsUsersAndNoMore) {
  const Session session = Begin("kim");
  const HttpReply shown = Ask("GET", "/v1/session", "", "", {{"Cookie", session.cookie}});
  ASSERT_EQ(shown.status, 200) << shown.body;
  EXPECT_EQ(shown.Json()["user"], "kim");
  EXPECT_EQ(shown.Json()["csrf"], session.csrf);
  EXPECT_EQ(Ask("GET", "/v1/audit", "", "", {{"Cookie", session.cookie}}).Reason(), "ROLE");
  const Session operators = Begin("ora");
  EXPECT_EQ(Ask("GET", "/v1/audit", "", "", {{"Cookie", operators.cookie}}).status, 200);
}

TEST_F(SessionTest, AReadersTokenMakesNone) {
  EXPECT_EQ(Ask("POST", "/v1/session/code", MakeToken("kim", "read")).Reason(), "SCOPE");
}

TEST_F(SessionTest, ACodeIsWorthNothingOnceItsMakersTokenIs) {
  const std::string token = MakeToken("kim");
  const HttpReply made = Ask("POST", "/v1/session/code", token);
  ASSERT_EQ(made.status, 200);
  ASSERT_EQ(Ask("DELETE", "/v1/tokens/" + IdOf(token), token).status, 200);
  EXPECT_EQ(Redeem(made.Json()["code"]).status, 401);
}

TEST_F(SessionTest, ASessionEndsWithTheTokenThatItWasOpenedWith) {
  const std::string token = MakeToken("kim");
  const HttpReply begun = Redeem(Ask("POST", "/v1/session/code", token).Json()["code"]);
  const std::string set_cookie = begun.headers.at("set-cookie");
  const TestHeaders cookie = {{"Cookie", set_cookie.substr(0, set_cookie.find(';'))}};
  TestHeaders changing = cookie;
  changing.emplace_back("X-Glim-Csrf", begun.Json()["csrf"]);
  const HttpReply code = Ask("POST", "/v1/session/code", "", "{}", changing);
  ASSERT_EQ(code.status, 200) << code.body;
  const std::string second = Redeem(code.Json()["code"]).headers.at("set-cookie");
  const TestHeaders from_session = {{"Cookie", second.substr(0, second.find(';'))}};
  const Session other = Begin("kim");
  ASSERT_EQ(Ask("GET", "/v1/whoami", "", "", from_session).status, 200);

  HttpClient client = Connect();
  client.Send(RequestText("GET", "/v1/stream?topics=nodes", cookie));
  ASSERT_THAT(client.ReadSome(), HasSubstr("text/event-stream"));
  ASSERT_EQ(Ask("DELETE", "/v1/tokens/" + IdOf(token), token).status, 200);
  EXPECT_EQ(Ask("GET", "/v1/whoami", "", "", cookie).Reason(), "BAD_TOKEN");
  EXPECT_EQ(Ask("GET", "/v1/whoami", "", "", from_session).Reason(), "BAD_TOKEN") << "opened from it";
  while (!client.ReadSome().empty()) {  // ends
  }
  EXPECT_EQ(Ask("GET", "/v1/whoami", "", "", {{"Cookie", other.cookie}}).status, 200) << "of another token";
}

TEST_F(SessionTest, ChangesByCookieShowTheSessionsOwnToken) {
  const std::uint64_t id = SubmitBy(TokenOf("kim"), Spec("sft"));
  const std::string target = "/v1/jobs/" + std::to_string(id) + "/cancel";
  const Session session = Begin("kim"), other = Begin("kim");
  const auto cancel = [&](TestHeaders headers) {
    headers.emplace_back("Cookie", session.cookie);
    return Ask("POST", target, "", "", headers);
  };
  EXPECT_EQ(cancel({}).Reason(), "CSRF");
  EXPECT_EQ(cancel({{"X-Glim-Csrf", other.csrf}}).Reason(), "CSRF");
  EXPECT_EQ(cancel({{"X-Glim-Csrf", session.csrf}, {"Origin", "https://evil.example"}}).Reason(), "CROSS_SITE");
  EXPECT_EQ(cancel({{"X-Glim-Csrf", session.csrf}, {"Origin", "null"}}).Reason(), "CROSS_SITE");
  EXPECT_EQ(cancel({{"X-Glim-Csrf", session.csrf}, {"Sec-Fetch-Site", "cross-site"}}).Reason(), "CROSS_SITE");
  EXPECT_EQ(cancel({{"X-Glim-Csrf", session.csrf}, {"Sec-Fetch-Site", "same-site"}}).Reason(), "CROSS_SITE");
  EXPECT_EQ(cancel({{"X-Glim-Csrf", session.csrf}, {"Origin", "https://127.0.0.1"}}).status, 200);
  EXPECT_EQ(Ask("POST", target, TokenOf("kim"), "", {{"Origin", "https://evil.example"}}).Reason() == "CSRF", false)
      << "who shows a token is no browser that was tricked";
}

TEST_F(SessionTest, SigningInFromAnotherSiteIsRefused) {
  EXPECT_EQ(Redeem(NewCode("kim"), {{"Origin", "https://evil.example"}}).Reason(), "CROSS_SITE");
}

TEST_F(SessionTest, AnEndedSessionIsWorthNothing) {
  const Session session = Begin("kim");
  EXPECT_EQ(Ask("DELETE", "/v1/session", "", "", {{"Cookie", session.cookie}}).Reason(), "CSRF");
  const HttpReply ended =
      Ask("DELETE", "/v1/session", "", "", {{"Cookie", session.cookie}, {"X-Glim-Csrf", session.csrf}});
  EXPECT_EQ(ended.status, 200) << ended.body;
  EXPECT_THAT(ended.headers.at("set-cookie"), HasSubstr("Max-Age=0"));
  EXPECT_EQ(Ask("GET", "/v1/whoami", "", "", {{"Cookie", session.cookie}}).Reason(), "BAD_TOKEN");
}

// Not for longer than the token of who asked for it, and never longer than half a day.
TEST_F(SessionTest, ASessionEndsWithItsTime) {
  // Half a day; a second may have begun since.
  EXPECT_THAT(Begin("kim").set_cookie, ::testing::ContainsRegex("Max-Age=43(200|19[0-9]);"));
  const HttpReply made = Ask("POST", "/v1/session/code", MakeToken("kim", "all", "", 2'000));
  const HttpReply begun = Redeem(made.Json()["code"]);
  ASSERT_EQ(begun.status, 200) << begun.body;
  const std::string set_cookie = begun.headers.at("set-cookie");
  EXPECT_THAT(set_cookie, ::testing::ContainsRegex("Max-Age=[012];"));
  const TestHeaders cookie = {{"Cookie", set_cookie.substr(0, set_cookie.find(';'))}};
  EXPECT_TRUE(Eventually([&] { return Ask("GET", "/v1/session", "", "", cookie).Reason() == "TOKEN_EXPIRED"; }));
}

TEST_F(SessionTest, OfAUserWhoMayNoMoreItIsWorthNothing) {
  const Session session = Begin("kim");
  v1::AccountUser user;
  user.set_name("kim");
  user.set_role("user");
  user.add_teams("vision");
  user.set_disabled(true);
  PutUser(user);
  EXPECT_EQ(Ask("GET", "/v1/whoami", "", "", {{"Cookie", session.cookie}}).Reason(), "USER_DISABLED");
  user.set_disabled(false);
  PutUser(user);
  EXPECT_EQ(Ask("GET", "/v1/whoami", "", "", {{"Cookie", session.cookie}}).status, 200);
  user.set_role("viewer");
  PutUser(user);
  const std::string target = "/v1/plan";
  EXPECT_EQ(Ask("POST", target, "", "{}", {{"Cookie", session.cookie}, {"X-Glim-Csrf", session.csrf}}).Reason(), "ROLE")
      << "the rights are those of now";
}

TEST_F(SessionTest, ANewLeaderKnowsIt) {
  const Session session = Begin("kim");
  const std::string code = NewCode("kim");
  RestartServer();
  const HttpReply shown = Ask("GET", "/v1/session", "", "", {{"Cookie", session.cookie}});
  EXPECT_EQ(shown.status, 200) << shown.body;
  EXPECT_EQ(shown.Json()["csrf"], session.csrf) << "the page goes on";
  EXPECT_EQ(Redeem(code).Reason(), "BAD_CODE") << "codes are the old leader's alone";
}

TEST_F(SessionTest, AllOfAUserEndTogether) {
  const Session one = Begin("kim"), two = Begin("kim"), others = Begin("lee");
  const HttpReply ended =
      Ask("POST", "/v1/users/kim/revoke", "", "{}", {{"Cookie", one.cookie}, {"X-Glim-Csrf", one.csrf}});
  EXPECT_EQ(ended.status, 200) << ended.body;
  for (const Session* session : {&one, &two}) {
    EXPECT_EQ(Ask("GET", "/v1/whoami", "", "", {{"Cookie", session->cookie}}).Reason(), "BAD_TOKEN");
  }
  EXPECT_EQ(Ask("GET", "/v1/whoami", TokenOf("kim")).Reason(), "BAD_TOKEN") << "tokens, too";
  EXPECT_EQ(Ask("GET", "/v1/whoami", "", "", {{"Cookie", others.cookie}}).status, 200);
}

TEST_F(SessionTest, BytesThatNoTokenHasDoNoHarm) {
  EXPECT_EQ(Connect().Ask("GET", "/v1/whoami", {{"Authorization", "Bearer \x7f"}}).status, 400) << "is no HTTP";
  for (const std::string& bytes : {std::string("\xff\xfe"), std::string(9'000, 'x')}) {
    const HttpReply reply = Connect().Ask("GET", "/v1/whoami", {{"Authorization", "Bearer " + bytes}});
    EXPECT_EQ(reply.Reason(), "BAD_TOKEN");
    EXPECT_EQ(Connect().Ask("GET", "/v1/whoami", {{"Cookie", "__Host-glim_session=" + bytes}}).status, 401);
  }
  EXPECT_EQ(Ask("GET", "/v1/whoami", TokenOf("kim")).status, 200);
}

HttpRequest WithHeaders(NamedTexts headers) {
  HttpRequest request;
  request.verb = "POST";
  request.headers = std::move(headers);
  return request;
}

TEST(WhoAsks, ATokenWinsOverACookieAndTwoOfEitherAreNone) {
  EXPECT_EQ(WhoAsks(WithHeaders({{"authorization", "Bearer a"}, {"cookie", "glim_session=b"}}), true)->session, "");
  EXPECT_EQ(WhoAsks(WithHeaders({{"cookie", "x=1; glim_session=b; y=2"}}), true)->session, "b");
  EXPECT_EQ(WhoAsks(WithHeaders({{"cookie", "glim_session=b; glim_session=c"}}), true)->session, "");
  EXPECT_EQ(WhoAsks(WithHeaders({{"cookie", "not_glim_session=b"}}), true)->session, "");
  EXPECT_FALSE(WhoAsks(WithHeaders({{"authorization", "Bearer a"}, {"authorization", "Bearer b"}}), true).ok());
  EXPECT_EQ(WhoAsks(WithHeaders({{"glim-user", "kim"}}), false)->credentials.user, "kim");
  EXPECT_EQ(WhoAsks(WithHeaders({{"glim-user", "k\xffm"}}), false)->credentials.user, kNobodyInParticular);
  EXPECT_EQ(WhoAsks(WithHeaders({}), false)->credentials.user, kNobodyInParticular);
  HttpRequest secure = WithHeaders({{"cookie", "glim_session=a; __Host-glim_session=b"}});
  EXPECT_EQ(WhoAsks(secure, true)->session, "a") << "without TLS";
  secure.secure = true;
  EXPECT_EQ(WhoAsks(secure, true)->session, "b") << "the other may be a sibling host's";
  EXPECT_EQ(SessionCookie("t", 5, true).find("Domain"), std::string::npos);
  EXPECT_TRUE(SessionCookie("t", 5, false).starts_with("glim_session=t;"));
}

}  // namespace
}  // namespace glim::gateway
