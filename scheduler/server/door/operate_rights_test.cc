// Whose jobs an operator's calls may change, by role: two users, an admin of their team, an operator.
#include "glim/v1/operate_api.grpc.pb.h"
#include "scheduler/server/testing/token_server.h"

namespace glim::server {
namespace {

using OperateStub = v1::OperateApi::Stub;

class OperateRightsTest : public TokenServerTest {
 protected:
  void SetUp() override {
    TokenServerTest::SetUp();
    operate_ = v1::OperateApi::NewStub(channel_);
  }
  // The reason of the refusal; empty: it came in.
  template <typename Request, typename Response>
  std::string Refusal(grpc::Status (OperateStub::*method)(grpc::ClientContext*, const Request&, Response*),
                      const std::string& user, const Request& request) {
    Response response;
    const grpc::Status status = Ask(operate_.get(), method, TokenOf(user), request, &response);
    return status.error_code() == grpc::StatusCode::PERMISSION_DENIED ? DetailOf(status).reason() : "";
  }
  std::unique_ptr<OperateStub> operate_;
};

TEST_F(OperateRightsTest, APriorityIsTheOwnersTheTeamsAdminsAndTheOperators) {
  v1::SetJobPriorityRequest request;
  request.set_job_id(SubmitBy(TokenOf("kim"), Spec("mine")));
  request.set_priority("low");
  request.set_dry_run(true);
  const std::pair<const char*, const char*> cases[] = {{"vera", "ROLE"}, {"lee", "NOT_YOURS"}, {"kim", ""},
                                                       {"tess", ""},     {"ora", ""},          {"ada", ""}};
  for (const auto& [user, reason] : cases) {
    EXPECT_EQ(Refusal(&OperateStub::SetJobPriority, user, request), reason) << user;
  }
}

TEST_F(OperateRightsTest, NodesAndMovesAreTheOperators) {
  v1::MoveJobRequest move;
  move.set_job_id(SubmitBy(TokenOf("kim"), Spec("mine")));
  move.set_reason("x");
  v1::DrainNodeRequest drain;
  drain.set_node("n1");
  drain.set_reason("x");
  for (const char* user : {"vera", "kim", "lee", "tess"}) {
    EXPECT_EQ(Refusal(&OperateStub::MoveJob, user, move), "ROLE") << user;
    EXPECT_EQ(Refusal(&OperateStub::DrainNode, user, drain), "ROLE") << user;
  }
  for (const char* user : {"ora", "ada"}) {
    EXPECT_EQ(Refusal(&OperateStub::MoveJob, user, move), "") << user;
    EXPECT_EQ(Refusal(&OperateStub::DrainNode, user, drain), "") << user;
  }
}

TEST_F(OperateRightsTest, AllJobsOfAUserAreEndedByThatUserAndByOperators) {
  v1::CancelUserJobsRequest request;
  request.set_user("kim");
  request.set_reason("x");
  request.set_dry_run(true);
  const std::pair<const char*, const char*> cases[] = {{"vera", "ROLE"},      {"lee", "NOT_YOURS"}, {"kim", ""},
                                                       {"tess", "NOT_YOURS"}, {"ora", ""},          {"ada", ""}};
  for (const auto& [user, reason] : cases) {
    EXPECT_EQ(Refusal(&OperateStub::CancelUserJobs, user, request), reason) << user;
  }
}

}  // namespace
}  // namespace glim::server
