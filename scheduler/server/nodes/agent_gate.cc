#include "scheduler/server/nodes/agent_gate.h"

#include <grpc/grpc_security_constants.h>

#include <utility>

#include "sdk/base/printable.h"
#include "sdk/pki/certificate.h"

namespace glim::server {
namespace {

constexpr const char* kAgain = "invite it with `glim admin node invite` and run the line that prints on that machine";

Status Deny(const char* reason, std::string message, std::string fix) {
  return Status(StatusCode::kPermissionDenied, std::move(message)).WithReason(reason).WithFix(std::move(fix));
}

}  // namespace

AgentPeer AgentGate::PeerOf(const grpc::ServerContextBase& context) const {
  const std::shared_ptr<const grpc::AuthContext> auth = options_.identity ? context.auth_context() : nullptr;
  if (!auth) return {};
  const std::vector<grpc::string_ref> shown = auth->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (shown.size() != 1) return {};
  const auto certificate = pki::Certificate::FromPem(std::string_view(shown[0].data(), shown[0].size()));
  if (!certificate.ok()) return {};
  return {certificate->node(), certificate->serial(), certificate->cluster(), certificate->valid_until(),
          certificate->issuer_key_id()};
}

Status AgentGate::CheckPeer(const AgentPeer& peer, const core::Identity& rows, TimePoint now) const {
  if (!options_.identity) return Status::Ok();
  if (peer.node.empty() || peer.cluster != options_.cluster) {
    return Status(StatusCode::kUnauthenticated, "the connection shows no certificate of a node of this cluster")
        .WithReason("NO_CERTIFICATE")
        .WithFix(kAgain);
  }
  const core::NodeIdentity* const row = rows.nodes.Find(peer.node);
  if (row == nullptr || row->serial.empty()) {
    return Deny("NOT_ENROLLED", "no node " + peer.node + " is enrolled in this cluster", kAgain);
  }
  if (row->revoked) return Deny("NODE_REVOKED", "an operator has revoked node " + peer.node, kAgain);
  if (peer.serial != row->serial && (row->previous_serial.empty() || peer.serial != row->previous_serial)) {
    return Deny("CERTIFICATE_REPLACED", "node " + peer.node + " has a newer certificate than this one",
                std::string("use the one in the agent's state folder; if it is lost, ") + kAgain);
  }
  if (options_.counts && !options_.counts(peer.issuer)) return OfDroppedAuthority(peer.node);
  if (peer.valid_until < now) {
    return Deny("CERTIFICATE_EXPIRED", "the certificate of node " + peer.node + " has expired", kAgain);
  }
  return Status::Ok();
}

Status AgentGate::OfDroppedAuthority(const std::string& node) {
  return Deny("UNKNOWN_AUTHORITY",
              "the certificate of node " + node + " is of an authority that was dropped before it had renewed", kAgain);
}

Status AgentGate::CheckNode(const AgentPeer& peer, const core::Identity& rows, TimePoint now, const std::string& node,
                            const std::string& machine_id) const {
  if (!options_.identity) return Status::Ok();
  if (Status status = CheckPeer(peer, rows, now); !status.ok()) return status;
  if (peer.node != node) {
    return Deny("WRONG_NODE",
                "the certificate is of node " + peer.node + ", and its owner says to be " + Printable(node),
                "start the agent with --node-name " + peer.node);
  }
  const core::NodeIdentity& row = *rows.nodes.Find(peer.node);
  if (row.login) {
    return Deny("LOGIN_HOST", "node " + peer.node + " is a host where users log in: it runs no tasks",
                "start its agent with --login-socket alone, or invite the machine without --login");
  }
  if (row.machine_id != machine_id) {
    return Deny("WRONG_MACHINE", "node " + peer.node + " was enrolled by another machine, or by another state folder",
                kAgain);
  }
  return Status::Ok();
}

Status AgentGate::CheckLogin(const AgentPeer& peer, const core::Identity& rows, TimePoint now) const {
  if (!options_.identity) {
    return Status(StatusCode::kFailedPrecondition, "without identity there are no tokens to log in with")
        .WithReason("NO_IDENTITY")
        .WithFix("start the scheduler without insecure_without_identity");
  }
  if (Status status = CheckPeer(peer, rows, now); !status.ok()) return status;
  if (rows.nodes.Find(peer.node)->login) return Status::Ok();
  return Deny("NO_LOGIN_HOST", "node " + peer.node + " is no host where users log in",
              "invite the host with `glim admin node invite NAME --login`");
}

Status AgentGate::CheckRuntime(const std::string& runtime) const {
  if (options_.identity || options_.containers_without_identity || (runtime != "runc" && runtime != "crun")) {
    return Status::Ok();
  }
  return Status(StatusCode::kFailedPrecondition,
                "the scheduler runs without identity and beyond its machine: whoever reaches it would be root on nodes "
                "with runtime " +
                    runtime)
      .WithReason("INSECURE_WITH_CONTAINERS")
      .WithField("runtime")
      .WithFix("start the scheduler without insecure_without_identity and invite the nodes, or use --runtime process");
}

void AgentGate::Denied(const AgentPeer& peer, const std::string& address, const char* method, const std::string& object,
                       const Status& why) const {
  if (!options_.denied) return;
  AuditNote note;
  if (!peer.node.empty()) note.token = "node:" + peer.node;
  note.peer = address;
  note.method = method;
  note.object = object;
  options_.denied(std::move(note), why);
}

}  // namespace glim::server
