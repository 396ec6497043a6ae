#include "nodeagent/identity/enrol.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>

#include "glim/v1/common.pb.h"
#include "glim/v1/enrol_api.grpc.pb.h"
#include "nodeagent/identity/identity_folder.h"
#include "nodeagent/identity/received_credentials.h"
#include "nodeagent/identity/scheduler_link.h"
#include "sdk/base/host_port.h"
#include "sdk/pki/certificate_request.h"
#include "sdk/pki/tls_probe.h"
#include "sdk/pki/verify.h"

namespace glim::nodeagent {
namespace {

constexpr Duration kProbeLimit = Seconds(20);  // as long as a scheduler waits for a handshake
constexpr std::chrono::seconds kEnrolLimit{30};
constexpr std::size_t kAnswerBytesMax = 1 << 20;

Status FromGrpc(const grpc::Status& status) {
  v1::ErrorDetail detail;
  if (!detail.ParseFromString(status.error_details())) detail.Clear();
  return Status(static_cast<StatusCode>(status.error_code()), status.error_message())
      .WithReason(detail.reason())
      .WithField(detail.field())
      .WithFix(detail.fix());
}

}  // namespace

Result<Enrolled> Enrol(const EnrolOrder& order, const std::string& token) {
  if (token.empty()) {
    return InvalidArgument("token", "no token came on standard input", "pipe the token of the invitation into it");
  }
  if (!pki::IsNodeName(order.node)) {
    return InvalidArgument("--name", "--name \"" + order.node + "\" is no node's name",
                           "use the name that the node was invited by");
  }
  if (const auto address = ParseHostPort("--scheduler", order.scheduler); !address.ok()) return address.status();
  const auto shown = pki::ProbeTls(order.scheduler, kProbeLimit);
  if (!shown.ok()) return shown.status();
  const auto authority = pki::FindAuthority(*shown, order.ca_fingerprint);
  if (!authority.ok()) return authority.status();
  // What would fail behind the invitation is tried before it: it counts once. TLS would say of a clock that is far off
  // no more than that there is no connection.
  const Status shown_now = pki::VerifyLeaf(shown->front(), {*authority}, pki::Purpose::kScheduler, WallTime());
  if (!shown_now.ok()) return shown_now;
  auto draft = IdentityFolder(order.state_dir).Begin();
  if (!draft.ok()) return draft.status();

  grpc::SslCredentialsOptions trust;
  trust.pem_root_certs = authority->Pem();
  const auto stub =
      v1::EnrolApi::NewStub(ConnectScheduler(order.scheduler, grpc::SslCredentials(trust), kAnswerBytesMax));
  const pki::PrivateKey key = pki::PrivateKey::Make();
  v1::EnrolRequest request;
  request.set_node(order.node);
  request.set_token(token);
  request.set_csr(pki::MakeRequest(key, order.node));
  request.set_machine_id(order.machine_id);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kEnrolLimit);
  v1::EnrolResponse response;
  const grpc::Status answered = stub->Enrol(&context, request, &response);
  if (!answered.ok()) return FromGrpc(answered);
  const auto credentials =
      CheckReceived(response.certificate(), response.authorities(), response.cluster_id(), order.node, key, WallTime());
  if (!credentials.ok()) return credentials.status();
  if (Status written = draft->Become(*credentials, response.listen_agents()); !written.ok()) return written;
  return Enrolled{order.node, response.cluster_id(), response.listen_agents(), response.login()};
}

}  // namespace glim::nodeagent
