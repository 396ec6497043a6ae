// Nodes with identity, through the real ports: invited once, enrolled once, revoked at once, renewed, labelled.
#include <gmock/gmock.h>

#include <thread>

#include "scheduler/server/testing/identity_server.h"
#include "sdk/pki/certificate_request.h"

namespace glim::server {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class NodesTest : public IdentityTest {
 protected:
  std::unique_ptr<FakeAgent> Stream(const TestNode& certificate, const v1::Hello& hello) {
    return std::make_unique<FakeAgent>(ConnectAgent(&certificate), hello);
  }
  // Why the stream ended; empty: it did not.
  std::string RefusalOf(const TestNode& certificate, const v1::Hello& hello) {
    const auto agent = Stream(certificate, hello);
    if (agent->WaitWelcome()) return "";
    const auto end = agent->WaitEnd();
    return end ? DetailOf(*end).reason() : "no end";
  }
  grpc::Status Revoke(const std::string& node) {
    grpc::ClientContext context;
    Authorize(&context);
    v1::RevokeNodeRequest request;
    request.set_node(node);
    v1::RevokeNodeResponse response;
    return admin_->RevokeNode(&context, request, &response);
  }
  grpc::Status Rotate(bool finish, bool force, v1::RotateCaResponse* response) {
    grpc::ClientContext context;
    Authorize(&context);
    v1::RotateCaRequest request;
    request.set_finish(finish);
    request.set_force(force);
    return admin_->RotateCa(&context, request, response);
  }
  grpc::Status Renew(TestNode* node) {
    const auto stub = v1::AgentApi::NewStub(ConnectAgent(node));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + LongWait());
    context.set_wait_for_ready(true);
    v1::RenewCertificateRequest request;
    request.set_csr(pki::MakeRequest(node->key, node->name));
    v1::RenewCertificateResponse response;
    const grpc::Status status = stub->RenewCertificate(&context, request, &response);
    if (status.ok()) node->certificate = {*pki::Certificate::FromDer(response.certificate())};
    return status;
  }
  const core::NodeIdentity RowOf(const std::string& node) {
    return *server_->snapshot()->tables.identity->nodes.Find(node);
  }
};

TEST_F(NodesTest, AnEnrolledNodeIsWelcomedAndToldWhomToTrust) {
  const TestNode node = MustEnrol("node-1");
  EXPECT_EQ(pki::NodeNameOf(node.certificate[0]), "node-1");
  const auto agent = Stream(node, HelloOf(node));
  const auto welcome = agent->WaitWelcome();
  ASSERT_TRUE(welcome);
  ASSERT_EQ(welcome->authorities_size(), 1);
  EXPECT_EQ(pki::Certificate::FromDer(welcome->authorities(0))->Pem(), Authorities());
  EXPECT_THAT(Audit("/Enrol"), SizeIs(1));
  EXPECT_EQ(Audit("/InviteNode").front().object(), "node node-1");
}

// Two that have the same token, at the same time.
TEST_F(NodesTest, AnInvitationCountsOnce) {
  v1::InviteNodeRequest invite;
  invite.set_node("node-1");
  const std::string token = MustInvite(invite).token();
  TestNode nodes[2];
  grpc::Status status[2];
  std::thread threads[2];
  for (int i = 0; i < 2; ++i) {
    nodes[i].name = "node-1";
    nodes[i].machine_id = "machine-" + std::to_string(i);
    threads[i] = std::thread([&, i] { status[i] = Enrol(token, &nodes[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_NE(status[0].ok(), status[1].ok()) << status[0].error_message() << status[1].error_message();
  const int won = status[0].ok() ? 0 : 1;
  EXPECT_EQ(DetailOf(status[1 - won]).reason(), "BAD_INVITATION");
  EXPECT_EQ(RowOf("node-1").machine_id, nodes[won].machine_id);
  EXPECT_EQ(DetailOf(Enrol(token, &nodes[won])).reason(), "BAD_INVITATION") << "nor to the one that won";
}

TEST_F(NodesTest, AStrangerLearnsNothingAndIsAudited) {
  v1::InviteNodeRequest invite;
  invite.set_node("node-1");
  const std::string token = MustInvite(invite).token();
  std::string other = token;
  other.back() = other.back() == '0' ? '1' : '0';
  TestNode node{"node-1", "m"}, unknown{"node-9", "m"};
  const grpc::Status wrong = Enrol(other, &node), nobody = Enrol(token, &unknown), torn = Enrol("glim", &node);
  for (const grpc::Status& status : {wrong, nobody, torn}) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_EQ(DetailOf(status).reason(), "BAD_INVITATION");
  }
  EXPECT_EQ(wrong.error_message(), torn.error_message());
  EXPECT_TRUE(Eventually([&] { return Audit("/Enrol").size() == 3; }));
  EXPECT_EQ(Audit("/Enrol").back().outcome(), "BAD_INVITATION");
  for (int i = 0; i < 20; ++i) (void)Enrol(other, &node);
  EXPECT_EQ(DetailOf(Enrol(token, &node)).reason(), "ENROL_RATE");
}

TEST_F(NodesTest, WhatTheInvitationSaysIsChecked) {
  const auto field = [&](const std::function<void(v1::InviteNodeRequest&)>& change) {
    v1::InviteNodeRequest request;
    request.set_node("node-1");
    change(request);
    grpc::ClientContext context;
    Authorize(&context);
    v1::InviteNodeResponse response;
    return DetailOf(admin_->InviteNode(&context, request, &response)).field();
  };
  EXPECT_EQ(field([](auto& r) { r.set_node("Node_1"); }), "node");
  EXPECT_EQ(field([](auto& r) { r.set_ttl_ms(-1); }), "ttl_ms");
  EXPECT_EQ(field([](auto& r) { r.set_ttl_ms(31LL * 24 * 3'600'000); }), "ttl_ms");
  EXPECT_EQ(field([](auto& r) { r.mutable_labels()->set_pool("a b"); }), "labels.pool");
  EXPECT_EQ(field([](auto& r) {
              r.set_login(true);
              r.mutable_labels()->set_pool("a100");
            }),
            "labels");
  MustEnrol("node-1");
  EXPECT_EQ(field([](auto& r) { r.set_login(true); }), "login") << "a node of a pool";
}

TEST_F(NodesTest, NobodyElseSpeaksForANode) {
  const TestNode one = MustEnrol("node-1"), two = MustEnrol("node-2");
  v1::Hello stolen = HelloOf(one);  // with its machine id
  EXPECT_EQ(RefusalOf(two, stolen), "WRONG_NODE");
  v1::Hello elsewhere = HelloOf(one);
  elsewhere.set_machine_id("another-machine");
  EXPECT_EQ(RefusalOf(one, elsewhere), "WRONG_MACHINE") << "its key on another machine";
  const TestNode login = MustEnrol("front", true);
  EXPECT_EQ(RefusalOf(login, HelloOf(login)), "LOGIN_HOST");
  EXPECT_TRUE(Eventually([&] { return Audit("/Sync").size() == 3; }));
  EXPECT_EQ(Audit("/Sync").front().token(), "node:node-2");
  EXPECT_EQ(Audit("/Sync").front().object(), "node node-1");
  // A stream that was taken: the logs of another node.
  const auto agent = Stream(one, HelloOf(one));
  ASSERT_TRUE(agent->WaitWelcome());
  FakeLogServer logs(ConnectAgent(&two), HelloOf(one));
  const auto end = logs.ended();
  EXPECT_EQ(DetailOf(end.value_or(grpc::Status::OK)).reason(), "WRONG_NODE");
}

TEST_F(NodesTest, ARevokedNodeIsOutWithinTwoSeconds) {
  // Another one is looked at where this machine stood still meanwhile.
  bool in_time = false;
  for (int i = 2; i < 7 && !in_time; ++i) {
    const TestNode other = MustEnrol("node-" + std::to_string(i));
    const auto stream = Stream(other, HelloOf(other));
    ASSERT_TRUE(stream->WaitWelcome());
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(Revoke(other.name).ok());
    ASSERT_TRUE(stream->WaitEnd());
    in_time = std::chrono::steady_clock::now() - begin < std::chrono::seconds(2);
  }
  EXPECT_TRUE(in_time);
  TestNode node = MustEnrol("node-1");
  const auto agent = Stream(node, HelloOf(node));
  ASSERT_TRUE(agent->WaitWelcome());
  FakeLogServer logs(ConnectAgent(&node), HelloOf(node));
  EXPECT_TRUE(Revoke("node-1").ok());
  const auto end = agent->WaitEnd();
  ASSERT_TRUE(end);
  EXPECT_EQ(DetailOf(*end).reason(), "NODE_REVOKED");
  EXPECT_EQ(RefusalOf(node, HelloOf(node)), "NODE_REVOKED");
  EXPECT_EQ(DetailOf(Renew(&node)).reason(), "NODE_REVOKED");
  EXPECT_TRUE(Revoke("node-1").ok()) << "again, without harm";
  EXPECT_EQ(DetailOf(Revoke("node-9")).reason(), "NO_SUCH_NODE");
  const TestNode again = MustEnrol("node-1");
  EXPECT_EQ(RefusalOf(again, HelloOf(again)), "") << "invited anew";
  EXPECT_EQ(RefusalOf(node, HelloOf(node)), "CERTIFICATE_REPLACED") << "the old key stays out";
}

// What the machine before had of the name is nothing to the next one.
TEST_F(NodesTest, OfARemovedNodeNothingIsLeft) {
  const auto remove = [&](const std::string& name) {
    grpc::ClientContext context;
    Authorize(&context);
    v1::RemoveNodeRequest request;
    request.set_node(name);
    v1::RemoveNodeResponse response;
    return admin_->RemoveNode(&context, request, &response);
  };
  TestNode node = MustEnrol("node-1");
  {
    const auto agent = Stream(node, HelloOf(node));
    ASSERT_TRUE(agent->WaitWelcome());
  }
  v1::InviteNodeRequest invite;
  invite.set_node("node-1");
  const std::string open = MustInvite(invite).token();
  ASSERT_TRUE(Eventually([&] { return remove("node-1").ok(); })) << "once its stream has ended";
  EXPECT_EQ(RefusalOf(node, HelloOf(node)), "NOT_ENROLLED");
  EXPECT_EQ(DetailOf(Renew(&node)).reason(), "NOT_ENROLLED");
  TestNode next{"node-1", "another-machine"};
  EXPECT_EQ(DetailOf(Enrol(open, &next)).reason(), "BAD_INVITATION");
  invite.mutable_labels()->set_zone("B");
  ASSERT_TRUE(Enrol(MustInvite(invite).token(), &next).ok());
  EXPECT_EQ(RowOf("node-1").labelled_fields, std::vector<std::string>{"zone"}) << "none of the machine before";
  EXPECT_EQ(RefusalOf(next, HelloOf(next)), "");
  MustEnrol("front", true);
  EXPECT_TRUE(remove("front").ok()) << "a host where users log in says no hello";
  EXPECT_EQ(DetailOf(remove("front")).reason(), "NO_SUCH_NODE");
}

TEST_F(NodesTest, TheCertificateBeforeCountsUntilTheNewOneWasUsed) {
  TestNode node = MustEnrol("node-1");
  const TestNode before = node;
  ASSERT_TRUE(Renew(&node).ok());
  EXPECT_NE(node.certificate[0].serial(), before.certificate[0].serial());
  EXPECT_EQ(RefusalOf(before, HelloOf(before)), "") << "the answer may have been lost";
  EXPECT_EQ(RefusalOf(node, HelloOf(node)), "");
  EXPECT_TRUE(Eventually([&] { return RowOf("node-1").previous_serial.empty(); }));
  EXPECT_EQ(RefusalOf(before, HelloOf(before)), "CERTIFICATE_REPLACED");
  EXPECT_THAT(Audit("/RenewCertificate"), SizeIs(1));
}

TEST_F(NodesTest, TheAuthorityIsChangedWhileNodesStayConnected) {
  TestNode node = MustEnrol("node-1");
  auto agent = Stream(node, HelloOf(node));
  ASSERT_TRUE(agent->WaitWelcome());
  v1::RotateCaResponse response;
  EXPECT_EQ(DetailOf(Rotate(true, false, &response)).reason(), "ROTATION") << "nothing was begun";
  ASSERT_TRUE(Rotate(false, false, &response).ok());
  EXPECT_THAT(response.not_renewed(), ::testing::ElementsAre("node-1"));
  agent->Report({});
  EXPECT_EQ(agent->WaitEnd().value_or(grpc::Status::OK).error_code(), grpc::StatusCode::UNAVAILABLE);
  agent = Stream(node, HelloOf(node));
  const auto welcome = agent->WaitWelcome();
  ASSERT_TRUE(welcome) << "the old certificate still counts";
  ASSERT_EQ(welcome->authorities_size(), 2) << "both, the one that signs last";
  EXPECT_EQ(pki::Certificate::FromDer(welcome->authorities(1))->fingerprint(), response.ca_fingerprint());
  EXPECT_EQ(DetailOf(Rotate(true, false, &response)).reason(), "NOT_RENEWED");
  ASSERT_TRUE(Renew(&node).ok());
  EXPECT_EQ(DetailOf(Rotate(true, false, &response)).reason(), "NOT_RENEWED") << "the answer may have been lost";
  EXPECT_EQ(RefusalOf(node, HelloOf(node)), "");
  ASSERT_TRUE(Eventually([&] { return RowOf("node-1").previous_serial.empty(); })) << "it has come with the new one";
  ASSERT_TRUE(Rotate(true, false, &response).ok());
  EXPECT_THAT(response.not_renewed(), IsEmpty());
  // With what it has now it trusts the new authority alone, and is trusted: a second later, when the port has looked.
  EXPECT_TRUE(Eventually([&] { return RefusalOf(node, HelloOf(node)).empty(); }));
  RestartServer();
  EXPECT_TRUE(Eventually([&] { return RefusalOf(node, HelloOf(node)).empty(); })) << "what the store has";
}

// TLS let it in when the old authority counted; its connection stays, and nothing that is asked over it is answered.
TEST_F(NodesTest, WhoHasNotRenewedIsOutWhenTheOldAuthorityIsDropped) {
  const TestNode node = MustEnrol("node-1");
  const auto channel = ConnectAgent(&node);
  FakeAgent silent(channel, HelloOf(node));
  ASSERT_TRUE(silent.WaitWelcome());
  v1::RotateCaResponse response;
  ASSERT_TRUE(Rotate(false, false, &response).ok());
  ASSERT_TRUE(Rotate(true, true, &response).ok());
  EXPECT_THAT(response.not_renewed(), ::testing::ElementsAre("node-1"));
  EXPECT_EQ(DetailOf(silent.WaitEnd().value_or(grpc::Status::OK)).reason(), "UNKNOWN_AUTHORITY") << "it never reported";
  FakeAgent again(channel, HelloOf(node));
  EXPECT_FALSE(again.WaitWelcome());
  EXPECT_EQ(DetailOf(again.WaitEnd().value_or(grpc::Status::OK)).reason(), "UNKNOWN_AUTHORITY");
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + LongWait());
  v1::RenewCertificateRequest request;
  request.set_csr(pki::MakeRequest(node.key, node.name));
  v1::RenewCertificateResponse renewed;
  const grpc::Status status = v1::AgentApi::NewStub(channel)->RenewCertificate(&context, request, &renewed);
  EXPECT_EQ(DetailOf(status).reason(), "UNKNOWN_AUTHORITY");
  const TestNode invited = MustEnrol("node-1");
  EXPECT_EQ(RefusalOf(invited, HelloOf(invited)), "");
}

TEST_F(NodesTest, LabelsOfTheStoreWin) {
  v1::InviteNodeRequest invite;
  invite.set_node("node-1");
  invite.mutable_labels()->set_pool("h100");
  TestNode node{"node-1", "machine-of-node-1"};
  ASSERT_TRUE(Enrol(MustInvite(invite).token(), &node).ok());
  v1::Hello hello = HelloOf(node);
  hello.mutable_labels()->set_pool("said-by-its-flags");
  auto agent = Stream(node, hello);
  ASSERT_TRUE(agent->WaitWelcome());
  const auto labels = [&] {
    const SnapshotPtr snapshot = server_->snapshot();
    return snapshot->tables.nodes.Find(*snapshot->tables.node_ids.Find("node-1"))->labels;
  };
  EXPECT_EQ(labels().pool, "h100") << "by the invitation";
  EXPECT_EQ(labels().zone, "A") << "by its flags, the first time";
  hello.mutable_labels()->set_zone("B");
  agent = Stream(node, hello);
  ASSERT_TRUE(agent->WaitWelcome());
  EXPECT_EQ(labels().zone, "A") << "its flags say nothing any more";
  grpc::ClientContext context;
  Authorize(&context);
  v1::LabelNodeRequest request;
  request.set_node("node-1");
  request.mutable_labels()->set_zone("C");
  request.add_fields("zone");
  v1::LabelNodeResponse response;
  const grpc::Status status = admin_->LabelNode(&context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(response.applied());
  EXPECT_EQ(labels().zone, "C");
  EXPECT_EQ(labels().pool, "h100");

  // Jobs, links and quotas ask for pools and zones by name; and no agent has said what an operator says.
  for (const char* name : {"pool", "zone", "gpus"}) {
    v1::LabelNodeRequest bad;
    bad.set_node("node-1");
    if (std::string(name) == "gpus") bad.mutable_labels()->set_gpu_count(1'000'000);
    bad.add_fields(name);
    grpc::ClientContext again;
    Authorize(&again);
    const grpc::Status refused = admin_->LabelNode(&again, bad, &response);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << name;
    EXPECT_NE(DetailOf(refused).reason(), "BAD_AGENT_MESSAGE") << name;
    EXPECT_FALSE(DetailOf(refused).fix().empty()) << name;
  }
  EXPECT_EQ(labels().zone, "C");
}

}  // namespace
}  // namespace glim::server
