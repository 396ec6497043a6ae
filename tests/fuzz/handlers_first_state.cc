#include "tests/fuzz/handlers_first_state.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "glim/v1/admin_api.grpc.pb.h"
#include "glim/v1/client_api.grpc.pb.h"
#include "glim/v1/enrol_api.grpc.pb.h"
#include "scheduler/store/open_store.h"
#include "sdk/io/read_file.h"
#include "sdk/pki/certificate.h"
#include "sdk/pki/certificate_request.h"
#include "sdk/pki/sign.h"
#include "sdk/tokens/opaque_token.h"
#include "tests/fuzz/holds.h"

namespace glim::fuzz {
namespace {

using core::Mutation;
using core::Role;
using core::Scope;

void MustBeOk(const grpc::Status& status, const char* what) { Holds(status.ok(), what, status.error_message()); }

OpaqueToken TokenOf(std::string_view name) {
  const std::string digits = HashOf(name);
  return {digits.substr(0, kTokenIdDigits), digits};
}

Mutation UserRow(std::string name, Role role, bool leads = false, std::uint32_t uid = 0) {
  core::User user;
  user.name = std::move(name);
  user.role = role;
  if (role == Role::kUser) user.teams = {"vision"};
  if (leads) user.admin_of = {"vision"};
  if (uid != 0) user.uid = uid;
  return core::AccountChange{std::move(user)};
}

Mutation TokenRowOf(std::string_view name, std::string user, Scope scope = Scope::kAll,
                    core::TokenOrigin origin = core::TokenOrigin::kPersonal) {
  core::TokenRow row;
  row.id = TokenOf(name).id;
  row.hash = HashOf(TokenOf(name).secret);
  row.user = user;
  row.scope = scope;
  row.origin = origin;
  row.made_by = origin == core::TokenOrigin::kLogin ? "node:host" : std::move(user);
  if (origin == core::TokenOrigin::kJob) row.attempt = {core::JobId(1), 1};
  return core::IdentityChange{std::move(row)};
}

Mutation InvitedNode(std::string name, bool login = false) {
  core::NodeIdentity row;
  row.invite_hash = HashOf(TokenOf(name).secret);
  row.invite_expires_at = TimePoint{std::int64_t{1} << 50};
  row.invited_by = "ada";
  row.login = login;
  row.name = std::move(name);
  return core::IdentityChange{std::move(row)};
}

Mutation NodeRow(std::uint32_t id, std::string name, core::NodeState state) {
  core::Node node;
  node.id = core::NodeId(id);
  node.machine_id = MachineOf(name);
  node.name = std::move(name);
  node.labels.gpu_count = 8;
  node.state = state;
  return std::make_shared<const core::Node>(node);
}

void PutRows(const server::Config& config) {
  core::Team team;
  team.name = "vision";
  const std::vector<Mutation> rows = {
      core::AccountChange{std::move(team)},
      UserRow("vera", Role::kViewer),
      UserRow("kim", Role::kUser, false, 1001),
      UserRow("lee", Role::kUser, false, 1002),
      UserRow("tess", Role::kUser, true),
      UserRow("ora", Role::kOperator),
      UserRow("ada", Role::kAdmin),
      TokenRowOf("vera", "vera"),
      TokenRowOf("kim", "kim"),
      TokenRowOf("kim-read", "kim", Scope::kRead),
      TokenRowOf("kim-submit", "kim", Scope::kSubmit),
      TokenRowOf("lee", "lee"),
      TokenRowOf("tess", "tess"),
      TokenRowOf("ora", "ora"),
      TokenRowOf("ada", "ada"),
      TokenRowOf("job", "kim", Scope::kSubmit, core::TokenOrigin::kJob),
      TokenRowOf("login", "ora", Scope::kSubmit, core::TokenOrigin::kLogin),
      InvitedNode("n1"),
      InvitedNode("host", true),
      InvitedNode("n2"),
      NodeRow(1, "n1", core::NodeState::kReady),
      NodeRow(2, "n9", core::NodeState::kQuarantined),
      core::PutIds{core::JobId(1), core::NodeId(3)},
  };
  auto store = store::OpenStore(config.store);
  Holds(store.ok(), "the store opens", store.status().message());
  const auto epoch = (*store)->AcquireEpoch(1);
  const Status put = (*store)->Commit(*epoch, rows);
  Holds(put.ok(), "the first rows", put.message());
}

// Calls of the one who is named.
template <typename Service>
class By {
 public:
  By(const std::shared_ptr<grpc::Channel>& channel, std::string_view name)
      : stub_(Service::NewStub(channel)), name_(name) {}
  template <typename Request, typename Response>
  Response Ask(grpc::Status (Service::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
               const Request& request) {
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer " + TokenText(name_));
    Response response;
    MustBeOk((stub_.get()->*method)(&context, request, &response), "the first state's calls");
    return response;
  }

 private:
  std::unique_ptr<typename Service::Stub> stub_;
  std::string name_;
};

NodePapers Enrol(const std::shared_ptr<grpc::Channel>& channel, const std::string& name) {
  const pki::PrivateKey key = pki::PrivateKey::Make();
  v1::EnrolRequest request;
  request.set_node(name);
  request.set_token(TokenText(name));
  request.set_machine_id(MachineOf(name));
  request.set_csr(pki::MakeRequest(key, name));
  const auto answer = By<v1::EnrolApi>(channel, "nobody").Ask(&v1::EnrolApi::Stub::Enrol, request);
  const auto certificate = pki::Certificate::FromDer(answer.certificate());
  Holds(certificate.ok(), "a node's certificate");
  return {name, key.Pem(), certificate->Pem()};
}

void SubmitAs(const std::shared_ptr<grpc::Channel>& channel, std::string_view user, std::string_view canary) {
  By<v1::ClientApi> client(channel, user);
  v1::SetSecretRequest secret;
  secret.set_name("key");
  secret.set_value(std::string(kSecretCanary));
  client.Ask(&v1::ClientApi::Stub::SetSecret, secret);
  v1::SubmitRequest submit;
  v1::JobSpec* const spec = submit.add_specs();
  spec->set_name("train");
  spec->set_nodes(1);
  spec->set_gpus_per_node(8);
  spec->set_workdir("/tmp");
  spec->set_run("python train.py --" + std::string(canary));
  spec->set_api(true);
  spec->add_secrets()->set_name("key");
  v1::EnvVar* const variable = spec->add_env();
  variable->set_name("TOLD");
  variable->set_value(std::string(canary));
  client.Ask(&v1::ClientApi::Stub::Submit, submit);
}

FirstState Make() {
  spdlog::set_level(spdlog::level::off);
  FirstState first;
  // Memory where there is some: a store writes through to the disk.
  std::string pattern = std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : std::filesystem::temp_directory_path();
  pattern += "/glim-fuzz-XXXXXX";
  Holds(::mkdtemp(pattern.data()) != nullptr, "a folder", pattern);
  first.folder = std::filesystem::path(pattern) / "first";
  std::filesystem::create_directory(first.folder);
  const server::Config config = ConfigIn(first.folder);
  PutRows(config);
  const auto server = MustStart(config);
  const auto authorities = ReadFile((first.folder / "operator/ca.pem").string(), 1 << 16);
  Holds(authorities.ok(), "the authority", authorities.status().message());
  first.authorities = *authorities;
  const auto channel = Connect(server->port(), first.authorities, nullptr);
  first.nodes = {Enrol(channel, "n1"), Enrol(channel, "host")};
  first.request = pki::MakeRequest(pki::PrivateKey::Make(), "n2");
  SubmitAs(channel, "kim", kKimsCanary);
  SubmitAs(channel, "lee", kLeesCanary);
  SubmitAs(channel, "kim", kKimsCanary);
  v1::CancelRequest cancel;
  cancel.set_job_id(3);
  By<v1::ClientApi>(channel, "kim").Ask(&v1::ClientApi::Stub::Cancel, cancel);
  return first;
}

}  // namespace

const FirstState& TheFirstState() {
  static const auto* const kFirst = new FirstState(Make());
  return *kFirst;
}

void ForgetFirstState() {
  std::error_code error;
  std::filesystem::remove_all(TheFirstState().folder.parent_path(), error);
}

server::Config ConfigIn(const std::filesystem::path& folder) {
  server::Config config;
  config.listen = "127.0.0.1:0";
  config.metrics = "none";
  config.cluster_id = kClusterId;
  config.store = "sqlite:" + (folder / "glim.db").string();
  config.state_dir = folder.string();
  config.key_file = (folder / "cluster.key").string();
  for (auto& level : config.limits.numbers) level[static_cast<std::size_t>(server::Bound::kRequests)] = 1'000'000;
  return config;
}

std::unique_ptr<server::Server> MustStart(const server::Config& config) {
  auto server = server::Server::Start(
      config, [](const Status& status) { Holds(false, "the scheduler goes on", status.message()); });
  Holds(server.ok(), "the scheduler starts", server.status().message());
  return std::move(server).value();
}

std::string TokenText(std::string_view name) { return TokenOf(name).Text(); }
std::string TokenId(std::string_view name) { return TokenOf(name).id; }
std::string MachineOf(const std::string& node) { return "machine-of-" + node; }

std::shared_ptr<grpc::Channel> Connect(int port, const std::string& authorities, const NodePapers* papers) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = authorities;
  if (papers != nullptr) {
    options.pem_private_key = papers->key;
    options.pem_cert_chain = papers->certificate;
  }
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride(pki::kSchedulerName);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port), grpc::SslCredentials(options), arguments);
}

}  // namespace glim::fuzz
