#include "scheduler/server/testing/token_server.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "scheduler/store/open_store.h"
#include "sdk/tokens/opaque_token.h"

namespace glim::server {
namespace {

std::string ReadText(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

v1::AccountUser UserRow(const std::string& name, const std::string& role, const std::string& team = "") {
  v1::AccountUser user;
  user.set_name(name);
  user.set_role(role);
  if (!team.empty()) user.add_teams(team);
  return user;
}

}  // namespace

// A node that nobody gets: jobs are taken in, and wait.
void TokenServerTest::PutNode() {
  core::Node node;
  node.id = core::NodeId(1);
  node.name = "node-1";
  node.labels.gpu_count = 8;
  node.state = core::NodeState::kQuarantined;
  auto store = store::OpenStore(config_.store);
  ASSERT_TRUE(store.ok());
  const auto epoch = (*store)->AcquireEpoch();
  const Status put = (*store)->Commit(*epoch, {core::Mutation(std::make_shared<const core::Node>(node)),
                                               core::Mutation(core::PutIds{core::JobId(1), core::NodeId(2)})});
  ASSERT_TRUE(put.ok()) << put.message();
}

void TokenServerTest::Configure() {
  PutNode();
  config_.insecure_without_identity = false;
  config_.state_dir = folder_.string();
  config_.key_file = (folder_ / "cluster.key").string();
}

std::shared_ptr<grpc::ChannelCredentials> TokenServerTest::Credentials() const {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = ReadText(folder_ / "operator" / "ca.pem");
  return grpc::SslCredentials(options);
}

void TokenServerTest::SetUp() {
  ServerTest::SetUp();
  if (HasFatalFailure()) return;
  admin_token_ = ReadText(folder_ / "operator" / "token");
  admin_token_.erase(std::find(admin_token_.begin(), admin_token_.end(), '\n'), admin_token_.end());
  v1::ChangeAccountRequest team;
  team.mutable_team()->set_name("vision");
  v1::ChangeAccountResponse response;
  ASSERT_TRUE(Ask(admin_.get(), &v1::AdminApi::Stub::ChangeAccount, admin_token_, team, &response).ok());
  PutUser(UserRow("vera", "viewer"));
  PutUser(UserRow("kim", "user", "vision"));
  PutUser(UserRow("lee", "user", "vision"));
  v1::AccountUser tess = UserRow("tess", "user", "vision");
  tess.add_admin_of("vision");
  PutUser(tess);
  PutUser(UserRow("ora", "operator"));
  PutUser(UserRow("ada", "admin"));
  for (const char* user : {"vera", "kim", "lee", "tess", "ora", "ada"}) tokens_[user] = MakeToken(user);
}

void TokenServerTest::SetToken(grpc::ClientContext* context, const std::string& token) {
  if (!token.empty()) context->AddMetadata("authorization", "Bearer " + token);
  context->set_deadline(std::chrono::system_clock::now() + LongWait());
}

std::string TokenServerTest::MakeToken(const std::string& user, const std::string& scope, const std::string& by,
                                       std::int64_t ttl_ms) {
  v1::CreateTokenRequest request;
  request.set_user(user);
  request.set_scope(scope);
  request.set_ttl_ms(ttl_ms);
  v1::CreateTokenResponse response;
  const grpc::Status status =
      Ask(admin_.get(), &v1::AdminApi::Stub::CreateToken, by.empty() ? admin_token_ : by, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.token();
}

std::uint64_t TokenServerTest::SubmitBy(const std::string& token, const v1::JobSpec& spec) {
  v1::SubmitRequest request;
  *request.add_specs() = spec;
  v1::SubmitResponse response;
  const grpc::Status status = Ask(client_.get(), &v1::ClientApi::Stub::Submit, token, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.job_ids_size() == 1 ? response.job_ids(0) : 0;
}

void TokenServerTest::PutUser(const v1::AccountUser& user) {
  v1::ChangeAccountRequest request;
  *request.mutable_user() = user;
  v1::ChangeAccountResponse response;
  const grpc::Status status = Ask(admin_.get(), &v1::AdminApi::Stub::ChangeAccount, admin_token_, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

std::string TokenServerTest::PutToken(core::TokenRow row) {
  const OpaqueToken token = glim::MakeToken();
  row.id = token.id;
  row.hash = HashOf(token.secret);
  server_.reset();
  {
    auto store = store::OpenStore(config_.store);
    EXPECT_TRUE(store.ok());
    const auto epoch = (*store)->AcquireEpoch();
    const Status put = (*store)->Commit(*epoch, {core::Mutation(core::IdentityChange{std::move(row)})});
    EXPECT_TRUE(put.ok()) << put.message();
  }
  StartServer();
  return token.Text();
}

v1::ListAuditResponse TokenServerTest::Audit(const std::string& user) {
  v1::ListAuditRequest request;
  request.set_user(user);
  v1::ListAuditResponse response;
  const grpc::Status status = Ask(admin_.get(), &v1::AdminApi::Stub::ListAudit, admin_token_, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

}  // namespace glim::server
