// Who may read no more is not read to any more: within a second, also where the reader takes nothing.
#include <functional>
#include <thread>

#include "scheduler/server/testing/token_server.h"

namespace glim::server {
namespace {

class StreamWatchTest : public TokenServerTest {
 protected:
  // Follows all events; open once it was told where it stands.
  struct Follower {
    Follower(v1::ClientApi::Stub* client, const std::string& token) {
      SetToken(&context, token);
      v1::StreamEventsRequest request;
      request.set_follow(true);
      stream = client->StreamEvents(&context, request);
      open = stream->Read(&page);
    }
    // What it ended with; how long that took.
    std::pair<grpc::Status, std::chrono::nanoseconds> End() {
      const auto from = std::chrono::steady_clock::now();
      while (stream->Read(&page)) {
      }
      const grpc::Status status = stream->Finish();
      return {status, std::chrono::steady_clock::now() - from};
    }
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::StreamEventsResponse>> stream;
    v1::StreamEventsResponse page;
    bool open = false;
  };

  void ExpectEnds(Follower* follower, const std::string& reason) {
    const auto [status, took] = follower->End();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << status.error_message();
    EXPECT_EQ(DetailOf(status).reason(), reason);
    EXPECT_LT(took, Slower(std::chrono::seconds(10))) << "a second, and time for a busy machine";
  }
  void Disable(const std::string& user) {
    v1::AccountUser row;
    row.set_name(user);
    row.add_teams("vision");
    row.set_disabled(true);
    PutUser(row);
  }
};

TEST_F(StreamWatchTest, ARevokedTokensStreamsEndAndOthersGoOn) {
  const std::string token = MakeToken("kim");
  Follower revoked(client_.get(), token);
  Follower other(client_.get(), TokenOf("kim"));
  ASSERT_TRUE(revoked.open && other.open);
  v1::RevokeTokenRequest request;
  request.set_id(IdOf(token));
  v1::RevokeTokenResponse response;
  ASSERT_TRUE(Ask(admin_.get(), &v1::AdminApi::Stub::RevokeToken, TokenOf("kim"), request, &response).ok());
  ExpectEnds(&revoked, "BAD_TOKEN");
  SubmitBy(TokenOf("kim"), Spec("next"));
  EXPECT_TRUE(other.stream->Read(&other.page));
  Disable("kim");
  ExpectEnds(&other, "USER_DISABLED");
}

// Bounds are the user's whom the token proves: neither another token nor another name in the call has more of them.
TEST_F(StreamWatchTest, AllOfAUsersTokensShareTheUsersBounds) {
  ASSERT_TRUE(ReadConfigText("limits: {user: {streams: 1}}", "test", &config_).ok());
  RestartServer();
  Follower first(client_.get(), TokenOf("kim"));
  ASSERT_TRUE(first.open);
  grpc::ClientContext context;
  SetToken(&context, MakeToken("kim"));
  context.AddMetadata("glim-user", "made-up");
  const grpc::Status refused = client_->StreamEvents(&context, v1::StreamEventsRequest())->Finish();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << refused.error_message();
  EXPECT_EQ(DetailOf(refused).field(), "limits.user.streams");
  EXPECT_TRUE(Follower(client_.get(), TokenOf("lee")).open);
  first.context.TryCancel();
}

TEST_F(StreamWatchTest, AnExpiredTokensStreamsEnd) {
  Follower follower(client_.get(), MakeToken("kim", "read", "", Slower(Seconds(3)).ms));
  ASSERT_TRUE(follower.open);
  ExpectEnds(&follower, "TOKEN_EXPIRED");
}

TEST_F(StreamWatchTest, ALogThatIsWaitedForEndsAsWell) {
  const std::uint64_t job = SubmitBy(TokenOf("kim"), Spec("waits"));
  grpc::ClientContext context;
  SetToken(&context, TokenOf("tess"));
  v1::StreamLogRequest request;
  request.set_job_id(job);
  request.set_follow(true);
  const auto stream = client_->StreamLog(&context, request);
  v1::AccountUser tess;  // no admin of the team any more
  tess.set_name("tess");
  tess.add_teams("vision");
  PutUser(tess);
  v1::StreamLogResponse unread;
  EXPECT_FALSE(stream->Read(&unread));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << status.error_message();
  EXPECT_EQ(DetailOf(status).reason(), "NOT_YOURS");
}

}  // namespace
}  // namespace glim::server
