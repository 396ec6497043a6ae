// Which token counts, and what the audit trail says of calls that are denied and of those that are done.
#include <gmock/gmock.h>

#include <fstream>
#include <functional>

#include "scheduler/server/testing/token_server.h"

namespace glim::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TokenTest : public TokenServerTest {
 protected:
  using Metadata = std::vector<std::pair<std::string, std::string>>;

  grpc::Status WhoAmI(const Metadata& metadata, v1::WhoAmIResponse* response = nullptr) {
    grpc::ClientContext context;
    for (const auto& [key, value] : metadata) context.AddMetadata(key, value);
    context.set_deadline(std::chrono::system_clock::now() + LongWait());
    v1::WhoAmIResponse unread;
    return client_->WhoAmI(&context, {}, response != nullptr ? response : &unread);
  }
  // The reason of the refusal; empty: it counts.
  std::string Refusal(const Metadata& metadata) {
    const grpc::Status status = WhoAmI(metadata);
    if (status.ok()) return "";
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
    EXPECT_EQ(DetailOf(status).field(), "authorization");
    EXPECT_FALSE(DetailOf(status).fix().empty());
    return DetailOf(status).reason();
  }
  std::string RefusalOf(const std::string& token) { return Refusal({{"authorization", "Bearer " + token}}); }

  static std::string Upper(std::string text) {
    for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
  }
  grpc::Status Revoke(const std::string& by, const std::string& id, const std::string& all_of = "") {
    v1::RevokeTokenRequest request;
    request.set_id(id);
    request.set_all_of_user(all_of);
    v1::RevokeTokenResponse response;
    return Ask(admin_.get(), &v1::AdminApi::Stub::RevokeToken, by, request, &response);
  }
};

TEST_F(TokenTest, SaysWhoOneIs) {
  v1::WhoAmIResponse tess;
  ASSERT_TRUE(WhoAmI({{"authorization", "Bearer " + TokenOf("tess")}}, &tess).ok());
  EXPECT_EQ(tess.user(), "tess");
  EXPECT_EQ(tess.role(), "team_admin");
  ASSERT_EQ(tess.admin_of_size(), 1);
  EXPECT_EQ(tess.admin_of(0), "vision");
  EXPECT_EQ(tess.token(), IdOf(TokenOf("tess")));
  EXPECT_EQ(tess.scope(), "all");
  EXPECT_GT(tess.expires_at_ms(), 0);
}

TEST_F(TokenTest, WhatIsNoTokenOfOursDoesNotCount) {
  const std::string good = TokenOf("kim");
  ASSERT_EQ(RefusalOf(good), "");
  EXPECT_EQ(Refusal({}), "NO_TOKEN");
  EXPECT_EQ(Refusal({{"glim-user", "ada"}}), "NO_TOKEN") << "a name proves nothing";
  std::string other = good;
  other.back() = other.back() == '0' ? '1' : '0';
  std::string id = good;
  id[5] = id[5] == '0' ? '1' : '0';
  const std::string secret_of_another = good.substr(0, 22) + TokenOf("lee").substr(22);
  for (const std::string& bad :
       {std::string(), other, id, secret_of_another, Upper(good), "glim_" + Upper(good.substr(5)), good + "0",
        good + " ", " " + good, good.substr(0, good.size() - 1), good.substr(5), std::string("glim__"),
        std::string(2'000, 'x')}) {
    EXPECT_EQ(RefusalOf(bad), "BAD_TOKEN") << bad;
  }
  for (const char* scheme : {"bearer ", "BEARER ", "Bearer", "Basic ", "", "Bearer  "}) {
    EXPECT_EQ(Refusal({{"authorization", scheme + good}}), "BAD_TOKEN") << scheme;
  }
  EXPECT_EQ(Refusal({{"authorization", "Bearer " + good}, {"authorization", "Bearer " + good}}), "BAD_TOKEN");
  EXPECT_EQ(Refusal({{"authorization", "Bearer " + good}, {"glim-user", "ada"}}), "");
  v1::WhoAmIResponse me;
  ASSERT_TRUE(WhoAmI({{"authorization", "Bearer " + good}, {"glim-user", "ada"}}, &me).ok());
  EXPECT_EQ(me.user(), "kim") << "whatever else the call says";
}

TEST_F(TokenTest, ARevokedOneCountsNoMoreAtOnce) {
  const std::string token = MakeToken("kim");
  ASSERT_EQ(RefusalOf(token), "");
  ASSERT_TRUE(Revoke(TokenOf("kim"), IdOf(token)).ok());
  EXPECT_EQ(RefusalOf(token), "BAD_TOKEN");
  EXPECT_EQ(RefusalOf(TokenOf("kim")), "");
  ASSERT_TRUE(Revoke(TokenOf("ora"), "", "kim").ok()) << "an operator takes all of a user's";
  EXPECT_EQ(RefusalOf(TokenOf("kim")), "BAD_TOKEN");
}

TEST_F(TokenTest, AnExpiredOneSaysSo) {
  const std::string token = MakeToken("kim", "all", "", 50);
  EXPECT_TRUE(Eventually([&] { return RefusalOf(token) == "TOKEN_EXPIRED"; }));
  std::string other = token;
  other.back() = other.back() == '0' ? '1' : '0';
  EXPECT_EQ(RefusalOf(other), "BAD_TOKEN") << "who has not shown the secret is told nothing of it";
}

TEST_F(TokenTest, ADisabledUsersDoNotCountUntilTheUserIsEnabled) {
  v1::AccountUser kim;
  kim.set_name("kim");
  kim.add_teams("vision");
  kim.set_disabled(true);
  PutUser(kim);
  EXPECT_EQ(RefusalOf(TokenOf("kim")), "USER_DISABLED");
  kim.set_disabled(false);
  PutUser(kim);
  EXPECT_EQ(RefusalOf(TokenOf("kim")), "");
}

TEST_F(TokenTest, ARemovedUsersAreGone) {
  v1::ChangeAccountRequest request;
  request.mutable_user()->set_name("lee");
  request.set_remove(true);
  v1::ChangeAccountResponse response;
  ASSERT_TRUE(Ask(admin_.get(), &v1::AdminApi::Stub::ChangeAccount, TokenOf("ora"), request, &response).ok());
  EXPECT_EQ(RefusalOf(TokenOf("lee")), "BAD_TOKEN");
}

TEST_F(TokenTest, RolesCountFromTheNextCallOn) {
  v1::ListAuditResponse trail;
  const auto list = [&] {
    return Ask(admin_.get(), &v1::AdminApi::Stub::ListAudit, TokenOf("kim"), v1::ListAuditRequest(), &trail)
        .error_code();
  };
  EXPECT_EQ(list(), grpc::StatusCode::PERMISSION_DENIED);
  v1::AccountUser kim;
  kim.set_name("kim");
  kim.set_role("operator");
  const std::string own = MakeToken("kim", "all", TokenOf("kim"));
  PutUser(kim);
  EXPECT_EQ(list(), grpc::StatusCode::OK);
}

TEST_F(TokenTest, SurvivesARestartAndItsSecretIsNowhereInTheStore) {
  const std::string secret = TokenOf("kim").substr(22);
  RestartServer();
  EXPECT_EQ(RefusalOf(TokenOf("kim")), "");
  server_.reset();
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder_)) {
    if (!file.is_regular_file()) continue;
    std::ifstream stream(file.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    EXPECT_EQ(bytes.find(secret), std::string::npos) << file.path();
  }
}

TEST_F(TokenTest, TheTrailHasWhatWasDoneAndWhatWasDenied) {
  v1::JobSpec spec = Spec("train");
  spec.set_run("run --password sesame");
  const std::uint64_t job = SubmitBy(TokenOf("kim"), spec);
  v1::CancelRequest cancel;
  cancel.set_job_id(job);
  v1::CancelResponse cancelled;
  EXPECT_FALSE(Ask(client_.get(), &v1::ClientApi::Stub::Cancel, TokenOf("lee"), cancel, &cancelled).ok());
  // A denial is written beside what is done meanwhile: only what comes later stands behind it.
  ASSERT_TRUE(Eventually([this] { return Audit("lee").entries_size() > 0; }));
  EXPECT_TRUE(Ask(client_.get(), &v1::ClientApi::Stub::Cancel, TokenOf("ora"), cancel, &cancelled).ok());
  EXPECT_EQ(RefusalOf(TokenOf("kim") + "0"), "BAD_TOKEN");
  std::vector<std::string> told;
  const v1::ListAuditResponse trail = Audit();
  for (const v1::AuditEntry& entry : trail.entries()) {
    EXPECT_THAT(entry.ShortDebugString(), Not(HasSubstr("sesame")));
    if (!entry.method().starts_with("/glim.v1.ClientApi/")) continue;
    EXPECT_EQ(entry.hash().size(), 64U);
    EXPECT_THAT(entry.peer(), HasSubstr("127.0.0.1"));
    const std::string id = entry.user().empty() ? "" : IdOf(TokenOf(entry.user()));
    EXPECT_EQ(entry.token(), id) << "of the token, never more than its id";
    told.push_back(entry.user() + " " + entry.method().substr(19) + " " + entry.object() + " [" + entry.before() +
                   "]: " + entry.outcome());
  }
  const std::string which = "job " + std::to_string(job);
  EXPECT_THAT(told,
              ::testing::ElementsAre("kim Submit job train (nodes 1) []: ok", "lee Cancel " + which + " []: NOT_YOURS",
                                     "ora Cancel " + which + " [queued, of kim]: ok", " WhoAmI  []: BAD_TOKEN"));
  v1::VerifyAuditResponse verified;
  ASSERT_TRUE(
      Ask(admin_.get(), &v1::AdminApi::Stub::VerifyAudit, TokenOf("ora"), v1::VerifyAuditRequest(), &verified).ok());
  EXPECT_EQ(verified.broken_at(), 0U) << verified.why();
  EXPECT_GT(verified.entries(), 4U);
}

// Who makes themselves more tokens may no more by them.
TEST_F(TokenTest, AllTokensOfAUserAreOneCaller) {
  config_.limits.At(BoundOf::kUser, Bound::kRequests) = 4;
  constexpr int kBurst = 5 * 4;
  RestartServer();
  const std::string tokens[] = {TokenOf("kim"), MakeToken("kim")};
  std::string field;
  int calls = 0;
  while (calls < 2 * kBurst && field.empty()) {
    const grpc::Status status = WhoAmI({{"authorization", "Bearer " + tokens[calls++ % 2]}});
    field = status.ok() ? "" : DetailOf(status).field();
  }
  EXPECT_EQ(field, "limits.user.requests_per_second") << "each token had a burst of its own";
  EXPECT_EQ(RefusalOf(TokenOf("lee")), "") << "another user is served";
}

TEST_F(TokenTest, WhoIsDeniedAllTheTimeFillsNoTrail) {
  for (int i = 0; i < 200; ++i) RefusalOf("nonsense");
  int told = 0;
  const v1::ListAuditResponse trail = Audit();
  for (const v1::AuditEntry& entry : trail.entries()) told += entry.outcome() == "BAD_TOKEN" ? 1 : 0;
  EXPECT_GE(told, 10);
  EXPECT_LE(told, 75) << "ten at once and one a second";
}

TEST_F(TokenTest, AccountsAreInTheTrailAsTheyWereAndAsTheyAre) {
  v1::AccountUser kim;
  kim.set_name("kim");
  kim.add_teams("vision");
  kim.set_role("operator");
  v1::ChangeAccountRequest request;
  *request.mutable_user() = kim;
  v1::ChangeAccountResponse response;
  const grpc::Status denied = Ask(admin_.get(), &v1::AdminApi::Stub::ChangeAccount, TokenOf("ora"), request, &response);
  EXPECT_EQ(DetailOf(denied).reason(), "ROLE");
  EXPECT_EQ(DetailOf(denied).field(), "role");
  ASSERT_TRUE(Ask(admin_.get(), &v1::AdminApi::Stub::ChangeAccount, TokenOf("ada"), request, &response).ok());
  const v1::ListAuditResponse of_ora = Audit("ora"), of_ada = Audit("ada");
  ASSERT_EQ(of_ora.entries_size(), 1);
  EXPECT_EQ(of_ora.entries(0).outcome(), "ROLE");
  EXPECT_EQ(of_ora.entries(0).object(), "user kim");
  ASSERT_EQ(of_ada.entries_size(), 1);
  EXPECT_EQ(of_ada.entries(0).before(), "role user; teams vision");
  EXPECT_EQ(of_ada.entries(0).after(), "role operator; teams vision");
  EXPECT_EQ(of_ada.entries(0).outcome(), "ok");
}

}  // namespace
}  // namespace glim::server
