#include "scheduler/server/identity_parts.h"

#include <unistd.h>

#include <chrono>
#include <future>
#include <utility>

#include "scheduler/server/listen/first_start.h"
#include "sdk/base/host_port.h"
#include "sdk/log/log.h"

namespace glim::server {
namespace {

constexpr auto kRenewEvery = std::chrono::hours(1);
constexpr auto kLookAtHandshakesEvery = std::chrono::seconds(1);

std::string HostName() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

TimePoint WallNow() {
  return TimePoint{
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count()};
}

// `authority`: null until the keys are open, before anybody comes.
AgentGate::Options GateOptions(const Config& config, const IdentityParts::Around& around,
                               std::function<std::shared_ptr<const identity::ClusterAuthority>()> authority) {
  AgentGate::Options options;
  options.identity = !config.insecure_without_identity;
  options.containers_without_identity = IsLoopbackTarget(config.listen) && IsLoopbackTarget(AgentsAddress(config));
  options.cluster = around.cluster_id;
  options.denied = around.denied;
  options.counts = [authority = std::move(authority)](const std::string& issuer) {
    const auto now = authority();
    return now != nullptr && now->Counts(issuer);
  };
  return options;
}

Status RevokedNode(const std::string& node) {
  return Status(StatusCode::kPermissionDenied, "an operator has revoked node " + node).WithReason("NODE_REVOKED");
}

Status EnrolledAnew(const std::string& node) {
  return Status(StatusCode::kPermissionDenied, "node " + node + " was enrolled anew: this certificate counts no more")
      .WithReason("CERTIFICATE_REPLACED");
}

}  // namespace

IdentityParts::IdentityParts(const Config& config, Around around)
    : config_(config),
      around_(std::move(around)),
      gate_(GateOptions(config_, around_, [this] { return authority(); })),
      nodes_({around_.loop, nullptr, nullptr, nullptr, nullptr}),
      rotation_({around_.loop, nullptr, nullptr, nullptr}),
      timer_(around_.strand->io()),
      handshakes_(CountedHandshakes()),
      handshakes_timer_(around_.strand->io()) {}

Status IdentityParts::OpenKeys() {
  if (config_.insecure_without_identity) {
    LogWarning("without identity: whoever reaches a port is who they say they are, and may do everything");
    return Status::Ok();
  }
  SchedulerLoop* const loop = around_.loop;
  const std::string folder = StateFolder(config_);
  auto keeper = OpenAuthority({folder, config_.key_file, OwnUserName(), ::geteuid()}, loop, around_.cluster_id);
  if (!keeper.ok()) return keeper.status();
  keeper_ = std::move(keeper).value();
  if (KeyFileIsBesideStore(config_)) {
    LogWarning(
        "the key file {} lies in the store's folder: leave it out of the backups of that folder, or move it and "
        "name it with key_file",
        config_.key_file);
  }
  if (Status status = WriteOperatorCa(folder, *keeper_); !status.ok()) return status;
  auto ports = PortCredentials::Make(
      keeper_.get(), NamesOf({config_.listen, AgentsAddress(config_), HttpAddress(config_)}, config_.names),
      loop->Now());
  if (!ports.ok()) return ports.status();
  ports_ = std::move(ports).value();
  const auto told = [this] { return listen(); };
  const auto told_agents = [this] { return listen_agents(); };
  enrolment_ = std::make_unique<Enrolment>(
      Enrolment::Parts{loop, &gate_, keeper_.get(), around_.cluster_id, told_agents,
                       [this](const std::string& node) { around_.end_streams(node, EnrolledAnew(node)); }, nullptr});
  logins_ = std::make_unique<LoginAffairs>(loop, &gate_, told);
  nodes_.Use({loop, keeper_.get(), told, told_agents,
              [this](const std::string& node) { around_.end_streams(node, RevokedNode(node)); }});
  rotation_.Use({loop, keeper_.get(), [this] { AuthorityChanged(); },
                 [this](const std::string& node) { around_.end_streams(node, AgentGate::OfDroppedAuthority(node)); }});
  auto control =
      ControlSocket::Open(folder, keeper_->key(), WallNow, [loop](const std::string& user, const std::string& peer) {
        return MakeBreakGlassToken(loop, user, OwnUserName(), peer);
      });
  if (!control.ok()) return control.status();
  control_ = std::move(control).value();
  CountRefusedHandshakes();
  around_.strand->Post([this] {
    RenewLater();
    LookAtHandshakesLater();
  });
  return Status::Ok();
}

void IdentityParts::AuthorityChanged() {
  Status status = ports_->Change(around_.loop->Now());
  if (status.ok()) status = WriteOperatorCa(StateFolder(config_), *keeper_);
  if (!status.ok()) LogError("the changed authority is not shown yet, a restart will: error=\"{}\"", status.message());
}

void IdentityParts::RenewLater() {
  timer_.expires_after(kRenewEvery);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    if (Status status = ports_->Renew(around_.loop->Now()); !status.ok()) {
      LogError("the scheduler's certificate is not renewed error=\"{}\"", status.message());
    }
    RenewLater();
  });
}

// Who they are gRPC does not say: that somebody tries is all that can be told.
void IdentityParts::LookAtHandshakesLater() {
  handshakes_timer_.expires_after(kLookAtHandshakesEvery);
  handshakes_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    if (const auto words = handshakes_.Tell(CountedHandshakes(), around_.loop->Now())) {
      LogWarning("connections refused by TLS on the agents' port: {}", *words);
      AuditNote note;
      note.method = "TLS handshake";
      note.object = "agents' port";
      note.after = *words;
      const Status posted = around_.loop->PostAudit(std::move(note), "TLS_REFUSED");
      if (!posted.ok()) LogWarning("this is not in the audit trail error=\"{}\"", posted.message());
    }
    LookAtHandshakesLater();
  });
}

std::shared_ptr<grpc::ServerCredentials> IdentityParts::ForUsers(BegunCalls* calls) const {
  return ports_ ? ports_->ForUsers(calls) : grpc::InsecureServerCredentials();
}
std::shared_ptr<grpc::ServerCredentials> IdentityParts::ForAgents(BegunCalls* calls) const {
  return ports_ ? ports_->ForAgents(calls) : grpc::InsecureServerCredentials();
}

void IdentityParts::Bound(int port, int agents_port) {
  const std::lock_guard lock(mutex_);
  port_ = port;
  agents_port_ = agents_port;
}

std::string IdentityParts::listen() const {
  const std::lock_guard lock(mutex_);
  return ReachedAt(config_, config_.listen, port_, HostName());
}
std::string IdentityParts::listen_agents() const {
  const std::lock_guard lock(mutex_);
  return ReachedAt(config_, AgentsAddress(config_), agents_port_, HostName());
}

std::string IdentityParts::ReachedByOthers(const std::string& bound, int port) const {
  return ReachedAt(config_, bound, port, HostName());
}

void IdentityParts::Stop() {
  if (control_) control_->Stop();
  around_.strand->Post([this] {
    timer_.cancel();
    handshakes_timer_.cancel();
  });
}

}  // namespace glim::server
