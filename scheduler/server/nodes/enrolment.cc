#include "scheduler/server/nodes/enrolment.h"

#include <algorithm>
#include <utility>

#include "sdk/base/printable.h"
#include "sdk/log/log.h"
#include "sdk/tokens/opaque_token.h"

namespace glim::server {
namespace {

constexpr const char* kEnrol = "/glim.v1.EnrolApi/Enrol";
constexpr const char* kRenew = "/glim.v1.AgentApi/RenewCertificate";
constexpr std::size_t kMachineIdMax = 128;
constexpr std::size_t kNodeNameMax = 63;

// The same words for a node that is not there, without an invitation, and for a token that is not its: a stranger
// learns nothing from them.
Status BadInvitation(const std::string& node) {
  return Status(StatusCode::kPermissionDenied, "there is no open invitation of node " + Printable(node) +
                                                   " with this token: it may have been used already")
      .WithReason("BAD_INVITATION")
      .WithField("token")
      .WithFix("invite the node again with `glim admin node invite`");
}

Status TooOften(const char* reason) {
  return Status(StatusCode::kResourceExhausted, "certificates were asked for too often from here")
      .WithReason(reason)
      .WithFix("try again in 10 s");
}

Status CheckMachineId(const std::string& id) {
  const bool fits = !id.empty() && id.size() <= kMachineIdMax &&
                    std::all_of(id.begin(), id.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (fits) return Status::Ok();
  return InvalidArgument("machine_id", "machine_id is no machine's id", "send 1 to 128 printable characters");
}

std::string NodeObject(const std::string& node) { return "node " + Printable(node.substr(0, kNodeNameMax)); }

}  // namespace

// The same work whatever is wrong: a hash and a comparison.
Result<core::NodeIdentity> Enrolment::FindInvited(const v1::EnrolRequest& request) const {
  static const std::string kNobodys(kTokenHashDigits, '0');
  const auto token = ParseToken(request.token());
  const std::string hash = HashOf(token.ok() ? token->secret : std::string(kTokenSecretDigits, '0'));
  const SnapshotPtr snapshot = parts_.loop->snapshot();
  const core::NodeIdentity* const row = snapshot->tables.identity->nodes.Find(request.node());
  const bool open = row != nullptr && !row->invite_hash.empty();
  const bool same = SameHash(hash, open ? row->invite_hash : kNobodys);
  if (!token.ok() || !open || !same) return BadInvitation(request.node());
  if (row->invite_expires_at >= Now()) return *row;
  return Status(StatusCode::kPermissionDenied, "the invitation of node " + row->name + " has expired")
      .WithReason("INVITATION_EXPIRED")
      .WithField("token")
      .WithFix("invite the node again with `glim admin node invite`");
}

void Enrolment::Enrol(const v1::EnrolRequest& request, const std::string& peer, Answered<v1::EnrolResponse> done) {
  if (!attempts_.Take(peer, Now())) return done(TooOften("ENROL_RATE"));
  const auto refuse = [&](const Status& why) {
    parts_.gate->Denied({}, peer, kEnrol, NodeObject(request.node()), why);
    done(why);
  };
  const auto found = FindInvited(request);
  if (!found.ok()) return refuse(found.status());
  if (Status status = CheckMachineId(request.machine_id()); !status.ok()) return refuse(status);
  auto certificate = parts_.keeper->SignNode(request.csr(), found->name, Now());
  if (!certificate.ok()) return refuse(certificate.status());

  core::NodeIdentity row = *found;
  row.machine_id = request.machine_id();
  row.enrolled_at = Now();
  row.invite_hash.clear();
  row.invite_expires_at = {};
  row.previous_serial.clear();  // whoever had the name before is out
  row.serial = certificate->serial();
  row.certificate_expires_at = certificate->valid_until();
  row.revoked = false;
  AuditNote note{"",
                 "node:" + row.name,
                 peer,
                 kEnrol,
                 NodeObject(row.name),
                 "",
                 "certificate " + row.serial + ", invited by " + row.invited_by};
  core::ChangeIdentity event{{{row, false, core::IdentityRow(*found), false}}, ""};
  const auto answer = [this, row, certificate = std::move(certificate).value(), done](const core::Reply& reply) {
    if (!reply.status.ok()) {
      // Somebody was faster with the same token.
      return done(reply.status.code() == StatusCode::kAborted ? BadInvitation(row.name) : reply.status);
    }
    LogInfo("node enrolled node={} serial={} login={}", row.name, row.serial, row.login);
    v1::EnrolResponse response;
    response.set_certificate(certificate.der());
    for (std::string& authority : parts_.keeper->Trust()) response.add_authorities(std::move(authority));
    response.set_cluster_id(parts_.cluster_id);
    response.set_listen_agents(parts_.listen_agents());
    response.set_login(row.login);
    if (parts_.enrolled) parts_.enrolled(row.name);
    done(std::move(response));
  };
  const Status posted = parts_.loop->Post(std::move(event), answer, std::move(note));
  if (!posted.ok()) done(posted);
}

void Enrolment::Renew(const AgentPeer& node, const v1::RenewCertificateRequest& request, const std::string& peer,
                      Answered<v1::RenewCertificateResponse> done) {
  const SnapshotPtr snapshot = parts_.loop->snapshot();
  const auto refuse = [&](const Status& why) {
    parts_.gate->Denied(node, peer, kRenew, NodeObject(node.node), why);
    done(why);
  };
  if (!parts_.gate->identity()) {
    return done(Status(StatusCode::kFailedPrecondition, "without identity there are no certificates")
                    .WithReason("NO_IDENTITY"));
  }
  if (Status status = parts_.gate->CheckPeer(node, *snapshot->tables.identity, Now()); !status.ok()) {
    return refuse(status);
  }
  if (!renewals_.Take(node.node, Now())) return done(TooOften("RENEW_RATE"));
  auto certificate = parts_.keeper->SignNode(request.csr(), node.node, Now());
  if (!certificate.ok()) return refuse(certificate.status());

  const core::NodeIdentity before = *snapshot->tables.identity->nodes.Find(node.node);
  core::NodeIdentity row = before;
  row.previous_serial = node.serial;  // it counts until the new one was used: an answer may be lost
  row.serial = certificate->serial();
  row.certificate_expires_at = certificate->valid_until();
  AuditNote note{"",
                 "node:" + row.name,
                 peer,
                 kRenew,
                 NodeObject(row.name),
                 "certificate " + node.serial,
                 "certificate " + row.serial};
  core::ChangeIdentity event{{{row, false, core::IdentityRow(before), false}}, ""};
  const auto answer = [this, certificate = std::move(certificate).value(), done](const core::Reply& reply) {
    if (!reply.status.ok()) return done(reply.status);
    v1::RenewCertificateResponse response;
    response.set_certificate(certificate.der());
    for (std::string& authority : parts_.keeper->Trust()) response.add_authorities(std::move(authority));
    done(std::move(response));
  };
  const Status posted = parts_.loop->Post(std::move(event), answer, std::move(note));
  if (!posted.ok()) done(posted);
}

}  // namespace glim::server
