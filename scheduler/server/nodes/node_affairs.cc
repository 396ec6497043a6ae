#include "scheduler/server/nodes/node_affairs.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/server/convert/report_convert.h"
#include "sdk/base/host_port.h"
#include "sdk/base/printable.h"
#include "sdk/log/log.h"
#include "sdk/pki/certificate.h"
#include "sdk/pki/sign.h"
#include "sdk/tokens/opaque_token.h"

namespace glim::server {
namespace {

constexpr Duration kInviteTtl = Hours(1);
constexpr Duration kInviteTtlMax = Hours(24 * 30);

Status NoIdentity() {
  return Status(StatusCode::kFailedPrecondition, "the scheduler runs without identity: nodes need no invitation")
      .WithReason("NO_IDENTITY")
      .WithFix("start the scheduler without insecure_without_identity");
}

Status CheckAddress(const std::string& address) {
  if (address.empty() || IsHost(address)) return Status::Ok();
  return InvalidArgument("address", "\"" + Printable(address) + "\" is neither a host name nor an IP address",
                         "send one without a port, like 10.0.0.7");
}

// What of the labels and the address is said at all.
std::vector<std::string> SaidFields(const v1::NodeLabels& labels, const std::string& address) {
  const std::pair<const char*, bool> said[] = {
      {"pool", !labels.pool().empty()},         {"zone", !labels.zone().empty()}, {"leaf", !labels.leaf().empty()},
      {"gpu_type", !labels.gpu_type().empty()}, {"gpus", labels.gpu_count() > 0}, {"nvlink", !labels.nvlink().empty()},
      {"nic", !labels.nic().empty()},           {"address", !address.empty()}};
  std::vector<std::string> fields;
  for (const auto& [field, is] : said) {
    if (is) fields.emplace_back(field);
  }
  return fields;
}

// For the audit trail: "pool=a100 zone=A".
std::string InWords(const std::vector<std::string>& fields, const core::NodeLabels& labels,
                    const std::string& address) {
  std::string words;
  for (const std::string& field : fields) {
    std::string value = field == "pool"       ? labels.pool
                        : field == "zone"     ? labels.zone
                        : field == "leaf"     ? labels.leaf
                        : field == "gpu_type" ? labels.gpu_type
                        : field == "gpus"     ? std::to_string(labels.gpu_count)
                        : field == "nvlink"   ? core::ToString(labels.nvlink)
                        : field == "nic"      ? labels.nic
                                              : address;
    words += (words.empty() ? "" : " ") + field + "=" + value;
  }
  return words;
}

// As an operator says them: no agent has sent them.
Result<core::NodeLabels> LabelsAsked(const v1::NodeLabels& asked) {
  auto labels = LabelsFromProto(asked);
  if (labels.ok()) return labels;
  const std::string& field = labels.status().field();
  if (field == "labels.gpu_count") {
    return InvalidArgument(field, std::to_string(asked.gpu_count()) + " are too many", "use 0 to 64");
  }
  if (field == "labels.nvlink") return InvalidArgument(field, "is not known", "use none, pair or full");
  return InvalidArgument(field, "is no name", "use 1 to 63 characters of A-Z a-z 0-9 . _ -");
}

// A pool and a zone have names: jobs, links and quotas ask for them by these.
Status CheckNamed(const v1::LabelNodeRequest& request) {
  for (const std::string& field : request.fields()) {
    const bool no_name =
        (field == "pool" && request.labels().pool().empty()) || (field == "zone" && request.labels().zone().empty());
    if (no_name)
      return InvalidArgument("labels." + field, "is empty", "name one: glim admin " + field + " ls shows them");
  }
  return Status::Ok();
}

Status CheckInvite(const v1::InviteNodeRequest& request) {
  if (!pki::IsNodeName(request.node())) {
    return InvalidArgument("node", "\"" + Printable(request.node()) + "\" is no node's name",
                           "use 1 to 63 characters of a-z, 0-9, '.' and '-'");
  }
  if (request.ttl_ms() < 0 || request.ttl_ms() > kInviteTtlMax.ms) {
    return InvalidArgument("ttl_ms", "an invitation is open for at most 30 days", "leave it out for one hour");
  }
  if (request.login() && !SaidFields(request.labels(), request.address()).empty()) {
    return InvalidArgument("labels", "a host where users log in is in no pool", "leave the labels out, or login");
  }
  return CheckAddress(request.address());
}

Status CheckKind(const Snapshot& snapshot, const v1::InviteNodeRequest& request, const core::NodeIdentity* before) {
  const bool in_pool = snapshot.tables.node_ids.Find(request.node()) != nullptr;
  const bool counts = before != nullptr && !before->revoked && !before->serial.empty();
  const bool other = request.login() ? in_pool || (counts && !before->login) : counts && before->login;
  if (!other) return Status::Ok();
  return Status(StatusCode::kFailedPrecondition, request.login()
                                                     ? "node " + request.node() + " belongs to a pool: it runs jobs"
                                                     : "node " + request.node() + " is a host where users log in")
      .WithReason("NODE_IN_POOL")
      .WithField("login")
      .WithFix("choose another name, or revoke and remove that node first");
}

}  // namespace

void NodeAffairs::Invite(const v1::InviteNodeRequest& request, AuditNote note, Answered<v1::InviteNodeResponse> done) {
  if (parts_.keeper == nullptr) return done(NoIdentity());
  if (Status status = CheckInvite(request); !status.ok()) return done(status);
  auto labels = LabelsAsked(request.labels());
  if (!labels.ok()) return done(labels.status());
  const SnapshotPtr snapshot = parts_.loop->snapshot();
  const core::NodeIdentity* const before = snapshot->tables.identity->nodes.Find(request.node());
  if (Status status = CheckKind(*snapshot, request, before); !status.ok()) return done(status);

  const OpaqueToken token = MakeToken();
  const TimePoint now = parts_.loop->Now();
  core::NodeIdentity row = before ? *before : core::NodeIdentity{};
  row.name = request.node();
  row.login = request.login();
  const std::vector<std::string> fields = SaidFields(request.labels(), request.address());
  core::TakeLabels(fields, *labels, request.address(), row.labels, row.address);
  for (const std::string& field : fields) {
    std::vector<std::string>& all = row.labelled_fields;
    if (std::find(all.begin(), all.end(), field) == all.end()) all.push_back(field);
  }
  row.labelled = row.labelled || !fields.empty();
  row.invite_hash = HashOf(token.secret);
  row.invite_expires_at = now + (request.ttl_ms() > 0 ? Milliseconds(request.ttl_ms()) : kInviteTtl);
  row.invited_by = note.user;
  note.object = "node " + row.name;
  note.after = std::string(row.login ? "invited as a login host" : "invited") +
               (fields.empty() ? "" : " " + InWords(fields, row.labels, row.address));

  v1::InviteNodeResponse response;
  response.set_token(token.Text());
  response.set_ca_fingerprint(parts_.keeper->authority()->ShownAuthority().fingerprint());
  response.set_scheduler_name(pki::kSchedulerName);
  response.set_expires_at_ms(row.invite_expires_at.ms);
  response.set_listen(parts_.listen());
  response.set_listen_agents(parts_.listen_agents());
  core::IdentityChange change{row, false, {}, before == nullptr};
  if (before) change.expected = core::IdentityRow(*before);
  const Status posted = parts_.loop->Post(
      core::ChangeIdentity{{std::move(change)}, note.user},
      [done, response = std::move(response)](const core::Reply& reply) {
        if (reply.status.ok()) return done(response);
        done(reply.status);
      },
      note);
  if (!posted.ok()) done(posted);
}

void NodeAffairs::Revoke(const v1::RevokeNodeRequest& request, AuditNote note, Answered<v1::RevokeNodeResponse> done) {
  if (parts_.keeper == nullptr) return done(NoIdentity());
  const SnapshotPtr snapshot = parts_.loop->snapshot();
  const core::NodeIdentity* const before = snapshot->tables.identity->nodes.Find(request.node());
  if (before == nullptr) {
    return done(Status(StatusCode::kNotFound, "no node " + Printable(request.node()) + " was invited")
                    .WithReason("NO_SUCH_NODE")
                    .WithField("node")
                    .WithFix("glim nodes lists the nodes"));
  }
  core::NodeIdentity row = *before;
  row.revoked = true;
  row.invite_hash.clear();
  row.invite_expires_at = {};
  note.object = "node " + row.name;
  note.before = before->revoked ? "revoked" : "certificate " + before->serial;
  note.after = "revoked";
  core::ChangeIdentity event{{{row, false, core::IdentityRow(*before), false}}, note.user};
  const auto answer = [this, node = row.name, done](const core::Reply& reply) {
    if (!reply.status.ok()) return done(reply.status);
    LogInfo("node revoked node={}", node);
    parts_.revoked(node);
    done(v1::RevokeNodeResponse());
  };
  const Status posted = parts_.loop->Post(std::move(event), answer, note);
  if (!posted.ok()) done(posted);
}

void NodeAffairs::Label(const v1::LabelNodeRequest& request, AuditNote note, Answered<v1::LabelNodeResponse> done) {
  auto labels = LabelsAsked(request.labels());
  if (!labels.ok()) return done(labels.status());
  if (Status named = CheckNamed(request); !named.ok()) return done(named);
  if (Status status = CheckAddress(request.address()); !status.ok()) return done(status);
  core::LabelNode event;
  event.name = request.node();
  event.labels = std::move(labels).value();
  event.address = request.address();
  for (const std::string& field : request.fields()) {
    const auto* const known = std::find(std::begin(core::kLabelFields), std::end(core::kLabelFields), field);
    if (known == std::end(core::kLabelFields)) {
      return done(InvalidArgument("fields", "\"" + Printable(field) + "\" is no label",
                                  "pool, zone, leaf, gpu_type, gpus, nvlink, nic or address"));
    }
    event.fields.push_back(field);
  }
  if (event.fields.empty()) {
    return done(InvalidArgument("fields", "nothing is to be changed", "name what, such as pool"));
  }
  event.by = note.user;
  const SnapshotPtr snapshot = parts_.loop->snapshot();
  if (const auto* const before = snapshot->tables.identity->nodes.Find(event.name)) {
    note.before = InWords(event.fields, before->labels, before->address);
  }
  note.object = "node " + Printable(event.name);
  note.after = InWords(event.fields, event.labels, event.address);
  const Status posted = parts_.loop->Post(
      std::move(event),
      [done](const core::Reply& reply) {
        if (!reply.status.ok()) return done(reply.status);
        v1::LabelNodeResponse response;
        response.set_applied(reply.state == "now");
        done(std::move(response));
      },
      note);
  if (!posted.ok()) done(posted);
}

}  // namespace glim::server
