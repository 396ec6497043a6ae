#include "scheduler/server/testing/identity_server.h"

#include "scheduler/identity/key_file.h"
#include "sdk/io/random_bytes.h"
#include "sdk/io/read_file.h"
#include "sdk/pki/certificate_request.h"
#include "sdk/pki/sign.h"

namespace glim::server {
namespace {

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride(pki::kSchedulerName);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  return arguments;
}

}  // namespace

std::shared_ptr<grpc::ChannelCredentials> IdentityTest::Credentials() const {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = Authorities();
  return grpc::SslCredentials(options);
}

std::shared_ptr<grpc::Channel> IdentityTest::ConnectAgent(const TestNode* node) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = Authorities();
  if (node != nullptr) {
    options.pem_private_key = node->key.Pem();
    options.pem_cert_chain = pki::PemOf(node->certificate);
  }
  return grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(server_->agents_port()), grpc::SslCredentials(options),
                                   Arguments());
}

void IdentityTest::Authorize(grpc::ClientContext* context, const std::string& token) const {
  context->AddMetadata("authorization", "Bearer " + (token.empty() ? admin_token() : token));
  context->set_deadline(std::chrono::system_clock::now() + LongWait());
}

std::string IdentityTest::MakeUser(const v1::AccountUser& user, const std::string& scope) {
  {
    grpc::ClientContext context;
    Authorize(&context);
    v1::ChangeAccountRequest request;
    *request.mutable_user() = user;
    v1::ChangeAccountResponse response;
    const grpc::Status status = admin_->ChangeAccount(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  grpc::ClientContext context;
  Authorize(&context);
  v1::CreateTokenRequest request;
  request.set_user(user.name());
  request.set_scope(scope);
  v1::CreateTokenResponse response;
  const grpc::Status status = admin_->CreateToken(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.token();
}

v1::InviteNodeResponse IdentityTest::MustInvite(const v1::InviteNodeRequest& request) {
  grpc::ClientContext context;
  Authorize(&context);
  v1::InviteNodeResponse response;
  const grpc::Status status = admin_->InviteNode(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

grpc::Status IdentityTest::Enrol(const std::string& token, TestNode* node, v1::EnrolResponse* response) {
  v1::EnrolRequest request;
  request.set_node(node->name);
  request.set_token(token);
  request.set_machine_id(node->machine_id);
  request.set_csr(pki::MakeRequest(node->key, node->name));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + LongWait());
  v1::EnrolResponse own;
  v1::EnrolResponse& answer = response != nullptr ? *response : own;
  const grpc::Status status = v1::EnrolApi::NewStub(channel_)->Enrol(&context, request, &answer);
  if (!status.ok()) return status;
  const auto certificate = pki::Certificate::FromDer(answer.certificate());
  EXPECT_TRUE(certificate.ok()) << certificate.status().message();
  if (certificate.ok()) node->certificate = {*certificate};
  return status;
}

TestNode IdentityTest::MustEnrol(const std::string& name, bool login) {
  v1::InviteNodeRequest invite;
  invite.set_node(name);
  invite.set_login(login);
  TestNode node;
  node.name = name;
  node.machine_id = "machine-of-" + name;
  const grpc::Status status = Enrol(MustInvite(invite).token(), &node);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return node;
}

v1::Hello IdentityTest::HelloOf(const TestNode& node) const {
  v1::Hello hello = MakeHello(server_->cluster_id(), node.name);
  hello.set_machine_id(node.machine_id);
  return hello;
}

std::vector<v1::AuditEntry> IdentityTest::Audit(const std::string& method) {
  grpc::ClientContext context;
  Authorize(&context);
  v1::ListAuditResponse response;
  const grpc::Status status = admin_->ListAudit(&context, v1::ListAuditRequest(), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  std::vector<v1::AuditEntry> rows;
  for (const v1::AuditEntry& row : response.entries()) {
    if (row.method().ends_with(method)) rows.push_back(row);
  }
  return rows;
}

v1::WhoAmIResponse IdentityTest::WhoIs(const std::string& token) {
  grpc::ClientContext context;
  Authorize(&context, token);
  v1::WhoAmIResponse who;
  const grpc::Status status = client_->WhoAmI(&context, v1::WhoAmIRequest(), &who);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return who;
}

identity::ClusterAuthority IdentityTest::OpenAuthorityOfStore() {
  const auto key = identity::ReadClusterKey(config_.key_file);
  const auto row = *server_->snapshot()->tables.identity->sealed.Find(identity::kAuthorityRow);
  auto opened = identity::ClusterAuthority::Open(server_->cluster_id(), *key, row, std::nullopt, FillRandomly);
  return std::move(opened).value();
}

TimePoint IdentityTest::Now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return TimePoint{std::chrono::duration_cast<std::chrono::milliseconds>(now).count()};
}

std::string IdentityTest::TextOf(const std::string& name) const {
  const auto text = ReadFile((folder_ / name).string(), 1 << 16);
  return text.ok() ? *text : "";
}

std::string IdentityTest::admin_token() const {
  const std::string text = TextOf("operator/token");
  EXPECT_FALSE(text.empty());
  return text.substr(0, text.find('\n'));
}

std::string IdentityTest::Authorities() const {
  const std::string text = TextOf("operator/ca.pem");
  EXPECT_FALSE(text.empty());
  return text;
}

}  // namespace glim::server
