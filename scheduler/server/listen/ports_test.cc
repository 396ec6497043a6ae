// Both ports with real TLS: who is let in, and what answers where.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <net/if.h>

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "scheduler/identity/cluster_authority.h"
#include "scheduler/server/listen/begun_calls.h"
#include "scheduler/server/listen/port_credentials.h"
#include "scheduler/server/listen/streams_begun.h"
#include "scheduler/server/testing/identity_server.h"
#include "sdk/io/random_bytes.h"
#include "sdk/net/address.h"
#include "sdk/pki/certificate_request.h"

namespace glim::server {
namespace {

using ::testing::UnorderedElementsAre;

class PortsTest : public IdentityTest {
 protected:
  // What a call of AgentApi ends with; UNAVAILABLE: no connection came about.
  grpc::Status AskAgents(const std::shared_ptr<grpc::Channel>& channel) {
    const auto stub = v1::AgentApi::NewStub(channel);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + LongWait());
    v1::SavesVerdict verdict;
    return stub->ReviewSaves(&context, v1::SavesHeld(), &verdict);
  }
};

TEST_F(PortsTest, TheAgentsPortLetsInWhoShowsACertificateOfTheCluster) {
  const TestNode node = MustEnrol("node-1");
  EXPECT_EQ(AskAgents(ConnectAgent(&node)).error_code(), grpc::StatusCode::FAILED_PRECONDITION) << "it was answered";
  EXPECT_EQ(AskAgents(ConnectAgent(nullptr)).error_code(), grpc::StatusCode::UNAVAILABLE) << "no certificate";

  TestNode foreign{"node-1", node.machine_id};
  const auto other = identity::ClusterAuthority::Create(server_->cluster_id(), Now(), FillRandomly);
  foreign.certificate = {*other->SignNode(pki::MakeRequest(foreign.key, "node-1"), "node-1", Now())};
  EXPECT_EQ(AskAgents(ConnectAgent(&foreign)).error_code(), grpc::StatusCode::UNAVAILABLE) << "of another authority";

  TestNode late{"node-1", node.machine_id};
  const TimePoint then = Now() - identity::kNodeLifetime - Hours(1);
  late.certificate = {*OpenAuthorityOfStore().SignNode(pki::MakeRequest(late.key, "node-1"), "node-1", then)};
  EXPECT_EQ(AskAgents(ConnectAgent(&late)).error_code(), grpc::StatusCode::UNAVAILABLE) << "expired";

  const auto plain =
      grpc::CreateChannel("127.0.0.1:" + std::to_string(server_->agents_port()), grpc::InsecureChannelCredentials());
  EXPECT_EQ(AskAgents(plain).error_code(), grpc::StatusCode::UNAVAILABLE) << "without TLS";
}

// gRPC does not say from where.
TEST_F(PortsTest, ThatSomebodyIsRefusedByTlsIsInTheAuditTrail) {
  EXPECT_EQ(AskAgents(ConnectAgent(nullptr)).error_code(), grpc::StatusCode::UNAVAILABLE);
  ASSERT_TRUE(Eventually([&] { return !Audit("TLS handshake").empty(); }));
  const v1::AuditEntry row = Audit("TLS handshake").front();
  EXPECT_EQ(row.outcome(), "TLS_REFUSED");
  EXPECT_EQ(row.object(), "agents' port");
  EXPECT_THAT(row.after(), ::testing::HasSubstr("without a certificate"));
}

// Whoever plays a node is in the trail, however many strangers of the same address are denied meanwhile.
TEST_F(PortsTest, StrangersDoNotHideWhatIsDeniedToANode) {
  const TestNode node = MustEnrol("node-1");
  for (int i = 0; i < 40; ++i) {
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer nonsense");
    v1::WhoAmIResponse who;
    EXPECT_EQ(client_->WhoAmI(&context, v1::WhoAmIRequest(), &who).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  }
  grpc::ClientContext context;
  v1::SavesHeld held;
  held.set_cluster_id(server_->cluster_id());
  held.set_node_name("node-2");
  v1::SavesVerdict verdict;
  const grpc::Status denied = v1::AgentApi::NewStub(ConnectAgent(&node))->ReviewSaves(&context, held, &verdict);
  EXPECT_EQ(DetailOf(denied).reason(), "WRONG_NODE");
  ASSERT_TRUE(Eventually([&] { return !Audit("/ReviewSaves").empty(); }));
  EXPECT_EQ(Audit("/ReviewSaves").back().token(), "node:node-1");
  EXPECT_EQ(Audit("/ReviewSaves").back().outcome(), "WRONG_NODE");
}

TEST_F(PortsTest, EachPortAnswersItsOwnAlone) {
  const TestNode node = MustEnrol("node-1");
  EXPECT_EQ(AskAgents(channel_).error_code(), grpc::StatusCode::UNIMPLEMENTED);
  const auto agents = ConnectAgent(&node);
  grpc::ClientContext client, admin, enrol;
  Authorize(&client);
  Authorize(&admin);
  v1::WhoAmIResponse who;
  EXPECT_EQ(v1::ClientApi::NewStub(agents)->WhoAmI(&client, v1::WhoAmIRequest(), &who).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  v1::ListTokensResponse tokens;
  EXPECT_EQ(v1::AdminApi::NewStub(agents)->ListTokens(&admin, v1::ListTokensRequest(), &tokens).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  v1::EnrolResponse enrolled;
  EXPECT_EQ(v1::EnrolApi::NewStub(agents)->Enrol(&enrol, v1::EnrolRequest(), &enrolled).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

// A node's certificate is for clients: nobody who stole one can take users' tokens.
TEST_F(PortsTest, TheUsersPortShowsASchedulersCertificate) {
  const TestNode node = MustEnrol("node-1");
  grpc::SslCredentialsOptions trust;
  trust.pem_root_certs = Authorities();
  const auto ask = [&](int port) {
    const auto channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::SslCredentials(trust));
    grpc::ClientContext context;
    Authorize(&context);
    v1::WhoAmIResponse who;
    return v1::ClientApi::NewStub(channel)->WhoAmI(&context, v1::WhoAmIRequest(), &who);
  };
  EXPECT_TRUE(ask(port()).ok());

  grpc::SslServerCredentialsOptions shown;
  shown.pem_key_cert_pairs.push_back({node.key.Pem(), pki::PemOf(node.certificate)});
  grpc::ServerBuilder builder;
  int false_port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(shown), &false_port);
  v1::ClientApi::Service service;
  builder.RegisterService(&service);
  const auto false_scheduler = builder.BuildAndStart();
  EXPECT_EQ(ask(false_port).error_code(), grpc::StatusCode::UNAVAILABLE);
}

// Clients that trust the new authority alone are answered as soon as the old one counts no more.
TEST_F(PortsTest, AChangedAuthorityIsShownAtOnce) {
  const auto rotate = [&](bool finish) {
    grpc::ClientContext context;
    Authorize(&context);
    v1::RotateCaRequest request;
    request.set_finish(finish);
    v1::RotateCaResponse response;
    const grpc::Status status = admin_->RotateCa(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  };
  const auto who = [&] {
    const auto stub = v1::ClientApi::NewStub(grpc::CreateChannel("127.0.0.1:" + std::to_string(port()), Credentials()));
    grpc::ClientContext context;
    Authorize(&context);
    v1::WhoAmIResponse response;
    return stub->WhoAmI(&context, v1::WhoAmIRequest(), &response);
  };
  const std::string before = Authorities();
  rotate(false);
  EXPECT_TRUE(Authorities().starts_with(before)) << "both, the old one first";
  EXPECT_TRUE(who().ok());
  rotate(true);
  EXPECT_EQ(Authorities().find(before), std::string::npos);
  const grpc::Status status = who();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(PortsTest, ACallWithoutATokenIsRefused) {
  grpc::ClientContext context;
  v1::WhoAmIResponse who;
  const grpc::Status status = client_->WhoAmI(&context, v1::WhoAmIRequest(), &who);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(DetailOf(status).reason(), "NO_TOKEN");
}

// Calls that are begun, and neither sent whole nor ended.
class HalfSentCalls {
 public:
  explicit HalfSentCalls(const std::shared_ptr<grpc::Channel>& channel) : stub_(channel) {}
  ~HalfSentCalls() {
    for (Call& call : calls_) call.context.TryCancel();
    queue_.Shutdown();
    while (Look(LongWait())) {
    }
  }
  void BeginOne() {
    Call& call = calls_.emplace_back();
    call.rpc = stub_.PrepareCall(&call.context, "/glim.v1.ClientApi/WhoAmI", &queue_);
    call.rpc->StartCall(nullptr);
    call.rpc->Finish(&call.status, &call);
  }
  // Waits for one to end. False: the queue has.
  bool Look(std::chrono::milliseconds bound) {
    void* tag = nullptr;
    bool ok = false;
    const auto came = queue_.AsyncNext(&tag, &ok, std::chrono::system_clock::now() + bound);
    if (came == grpc::CompletionQueue::GOT_EVENT && tag != nullptr)
      ++ends[static_cast<Call*>(tag)->status.error_code()];
    return came != grpc::CompletionQueue::SHUTDOWN;
  }
  std::map<grpc::StatusCode, int> ends;

 private:
  struct Call {
    grpc::ClientContext context;
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> rpc;
    grpc::Status status;
  };
  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
  std::deque<Call> calls_;
};

// Few a second, so that they never are as many as a flood's.
TEST_F(PortsTest, AStrangerWhoGoesOnAtTheBoundIsHungUpOn) {
  grpc::ChannelArguments own;
  own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  HalfSentCalls calls(grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(server_->port()), Credentials(), own));
  int begun = 0;
  for (; begun < BegunCalls::kOfStrangers; ++begun) calls.BeginOne();
  const auto give_up = std::chrono::steady_clock::now() + LongWait();
  while (calls.ends[grpc::StatusCode::UNAVAILABLE] == 0 && std::chrono::steady_clock::now() < give_up) {
    calls.BeginOne();
    ++begun;
    for (int i = 0; i < 4; ++i) calls.Look(std::chrono::milliseconds(50));
  }
  EXPECT_GT(calls.ends[grpc::StatusCode::UNAVAILABLE], 0) << "of " << begun;
  EXPECT_GE(calls.ends[grpc::StatusCode::RESOURCE_EXHAUSTED], BegunCalls::kRefusedMax - 1);
  EXPECT_LT(begun, 200);
  EXPECT_EQ(WhoIs(admin_token()).role(), "admin");
}

TEST(PeerOfUri, IsAsTheAddressOfItsSocketIsWritten) {
  EXPECT_EQ(PeerOfUri("ipv4:10.0.0.7:51234"), "10.0.0.7:51234");
  EXPECT_EQ(PeerOfUri("ipv6:%5B::1%5D:51234"), "[::1]:51234");
  net::SocketAddress local;
  auto& six = reinterpret_cast<sockaddr_in6&>(local.storage);
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(51234);
  ASSERT_EQ(::inet_pton(AF_INET6, "fe80::7", &six.sin6_addr), 1);
  six.sin6_scope_id = ::if_nametoindex("lo");
  local.length = sizeof six;
  EXPECT_EQ(PeerOfUri("ipv6:%5Bfe80::7%25" + std::to_string(six.sin6_scope_id) + "%5D:51234"), local.ToString());
  for (const char* odd : {"ipv6:%", "ipv6:%5", "ipv6:%zz", "", "%25"}) EXPECT_LE(PeerOfUri(odd).size(), 4U) << odd;
}

class PlainPortsTest : public ServerTest {};

TEST_F(PlainPortsTest, WithoutIdentityBothPortsTakeAgents) {
  const auto agents =
      grpc::CreateChannel("127.0.0.1:" + std::to_string(server_->agents_port()), grpc::InsecureChannelCredentials());
  FakeAgent one(agents, MakeHello(server_->cluster_id(), "node-1"));
  FakeAgent two(channel_, MakeHello(server_->cluster_id(), "node-2"));
  const auto welcome = one.WaitWelcome();
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->authorities_size(), 0) << "there is nobody to trust";
  EXPECT_TRUE(two.WaitWelcome());
}

TEST(NamesOf, HostsAndAddressesAreToldApart) {
  const pki::ServerNames names =
      NamesOf({"10.0.0.1:7601", "[fd00::1]:7603", "0.0.0.0:1", "unix:/run/s"}, {"head", "10.0.0.2", "head"});
  EXPECT_THAT(names.dns, UnorderedElementsAre("localhost", "head"));
  EXPECT_THAT(names.addresses, UnorderedElementsAre("127.0.0.1", "::1", "10.0.0.1", "10.0.0.2", "fd00::1"));
}

}  // namespace
}  // namespace glim::server
