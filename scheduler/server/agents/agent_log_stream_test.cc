// A node's stream of logs is its certificate's, and the node's: it ends with either, as the other stream does.
#include <gmock/gmock.h>

#include <memory>
#include <string>

#include "scheduler/server/testing/identity_server.h"
#include "scheduler/store/sqlite/sqlite_db.h"
#include "sdk/pki/certificate_request.h"

namespace glim::server {
namespace {

class AgentLogStreamTest : public IdentityTest {
 protected:
  // The node's agent, which serves the log of a job that runs there: "hello".
  void Serve(const TestNode& node) {
    agent_ = std::make_unique<FakeAgent>(ConnectAgent(&node), HelloOf(node));
    ASSERT_TRUE(agent_->WaitWelcome());
    logs_ = std::make_unique<FakeLogServer>(ConnectAgent(&node), HelloOf(node));
    grpc::ClientContext context;
    Authorize(&context);
    v1::SubmitRequest request;
    *request.add_specs() = Spec("talks");
    v1::SubmitResponse response;
    const grpc::Status status = client_->Submit(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    job_ = response.job_ids(0);
    ASSERT_TRUE(agent_->WaitLaunch(job_));
    agent_->Report({Observed(job_, 1, 0, v1::ObservedTask::RUNNING)});
    logs_->Append(std::to_string(job_) + ".1.0", "hello", false);
    ASSERT_TRUE(Eventually([&] { return Log() == "hello"; }));
  }
  std::string Log() {
    grpc::ClientContext context;
    Authorize(&context);
    v1::StreamLogRequest request;
    request.set_job_id(job_);
    const auto reader = client_->StreamLog(&context, request);
    std::string text;
    for (v1::StreamLogResponse part; reader->Read(&part);) text += part.data();
    return text;
  }
  void TearDown() override {
    logs_.reset();
    agent_.reset();
    IdentityTest::TearDown();
  }

  std::unique_ptr<FakeAgent> agent_;
  std::unique_ptr<FakeLogServer> logs_;
  std::uint64_t job_ = 0;
};

// Its certificate counts on, so that it may register anew; what it had open does not.
TEST_F(AgentLogStreamTest, EndsWhenItsNodeIsRemovedWhileItIsConnected) {
  const TestNode node = MustEnrol("node-1");
  Serve(node);
  if (HasFatalFailure()) return;
  grpc::ClientContext context;
  Authorize(&context);
  v1::CancelRequest cancel;
  cancel.set_job_id(job_);
  v1::CancelResponse cancelled;
  ASSERT_TRUE(client_->Cancel(&context, cancel, &cancelled).ok());  // who has a task is not removed
  ASSERT_TRUE(agent_->WaitStop(job_));
  agent_->Report({Observed(job_, 1, 0, v1::ObservedTask::RELEASED)});
  const auto removes = [&] {
    grpc::ClientContext removing;
    Authorize(&removing);
    v1::RemoveNodeRequest request;
    request.set_node("node-1");
    request.set_connected(true);
    v1::RemoveNodeResponse response;
    return admin_->RemoveNode(&removing, request, &response).ok();
  };
  ASSERT_TRUE(Eventually(removes));
  EXPECT_TRUE(agent_->WaitEnd());
  EXPECT_TRUE(logs_->ended());
}

// TLS looked when it connected; what it serves from then on is looked at as its reports are.
TEST_F(AgentLogStreamTest, EndsWhenItsCertificateHasExpired) {
  TestNode node = MustEnrol("node-1");
  const std::string enrolled = node.certificate[0].serial();
  node.certificate = {
      *OpenAuthorityOfStore().SignNode(pki::MakeRequest(node.key, node.name), node.name, Now(), Slower(Seconds(10)))};
  server_.reset();
  const auto store = store::SqliteDb::Open((folder_ / "glim.db").string());
  ASSERT_TRUE(store.ok()) << store.status().message();
  const std::string change = "UPDATE rows SET body = replace(body, '" + enrolled + "', '" +
                             node.certificate[0].serial() + "') WHERE kind = 'machine'";
  ASSERT_TRUE((*store)->Exec(change.c_str()).ok());
  StartServer();
  Serve(node);
  if (HasFatalFailure()) return;
  EXPECT_TRUE(Eventually([&] { return Log().empty(); }));
  EXPECT_EQ(DetailOf(logs_->ended().value_or(grpc::Status::OK)).reason(), "CERTIFICATE_EXPIRED");
  EXPECT_TRUE(Eventually([&] { return !Audit("/ServeLogs").empty(); }));
}

}  // namespace
}  // namespace glim::server
