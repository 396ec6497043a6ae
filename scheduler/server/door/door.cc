#include "scheduler/server/door/door.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "scheduler/server/convert/rpc_status.h"
#include "scheduler/server/door/authenticate.h"
#include "scheduler/server/door/forwarded_peer.h"
#include "sdk/log/log.h"

namespace glim::server {
namespace {

constexpr Duration kUseWrittenEvery = Seconds(60);

// Null: the request has no such field of that type.
const google::protobuf::FieldDescriptor* FieldOf(const google::protobuf::Message& request, const char* name,
                                                 std::string_view type) {
  const auto* const field = request.GetDescriptor()->FindFieldByName(name);
  return field == nullptr || field->is_repeated() || field->type_name() != type ? nullptr : field;
}

core::JobId JobOf(const google::protobuf::Message& request) {
  const auto* const field = FieldOf(request, "job_id", "uint64");
  return field == nullptr ? core::JobId() : core::JobId(request.GetReflection()->GetUInt64(request, field));
}

std::string ObjectOf(const google::protobuf::Message& request) {
  if (const core::JobId job = JobOf(request)) return "job " + std::to_string(job.value);
  const auto* const node = FieldOf(request, "node", "string");
  if (node == nullptr) return {};
  const std::string name = request.GetReflection()->GetString(request, node);
  return name.empty() ? std::string() : "node " + name;
}

Status RoleMissing(const Caller& caller, const Permission& row) {
  return PermissionDenied("ROLE",
                          "user " + caller.user + " has the role " + core::ToString(caller.role) + ", and " +
                              std::string(row.method) + " needs " + core::ToString(row.least),
                          caller.origin == core::TokenOrigin::kLogin
                              ? "a token of the login host has no more; log in with one that an admin gave you"
                              : "ask an admin: glim admin user set " + caller.user + " --role ...");
}

Status ScopeMissing(const Permission& row) {
  return PermissionDenied(
      "SCOPE",
      "this token's scope is too small: " + std::string(row.method) + " needs the scope " + core::ToString(row.scope),
      "use another token, or make one: glim admin token create --scope " + std::string(core::ToString(row.scope)));
}

Status NotForJobs(const Permission& row) {
  return PermissionDenied("JOB_TOKEN", "a job's own token may not call " + std::string(row.method),
                          "a job works on itself and on the jobs that it submits; do the rest as a user");
}

Status RightsChanged(const Caller& caller) {
  return PermissionDenied("RIGHTS_CHANGED", "the rights of user " + caller.user + " have changed", "ask again");
}

// Everything but whose the job is; what plaintext mode does not ask.
Status CheckCaller(const Caller& caller, const Permission& row) {
  if (row.callers != Callers::kUsers) {
    return PermissionDenied("ROLE", std::string(row.method) + " is not for users", "see docs/permissions.md");
  }
  if (caller.role < row.least || caller.role == core::Role::kNone) return RoleMissing(caller, row);
  if (caller.IsJob() && !row.jobs) return NotForJobs(row);
  return caller.scope < row.scope ? ScopeMissing(row) : Status::Ok();
}

// A job that has no row is the handler's affair: it is not there, or the store alone knows whose it was.
Status CheckJob(const Snapshot& snapshot, const Caller& caller, const Permission& row, core::JobId id, bool* by_right) {
  const bool asked = row.ownership == Ownership::kTeam || (row.ownership == Ownership::kPartly && caller.IsJob());
  const core::Job* const job = asked && id ? snapshot.tables.jobs.Find(id) : nullptr;
  if (job == nullptr || Owns(caller, *job)) return Status::Ok();
  *by_right = HasRight(caller, *job);
  return *by_right ? Status::Ok() : NotYours(id, caller);
}

}  // namespace

Status PermissionDenied(std::string reason, std::string message, std::string fix) {
  return Status(StatusCode::kPermissionDenied, std::move(message))
      .WithReason(std::move(reason))
      .WithFix(std::move(fix));
}

Status NotYours(core::JobId job, const Caller& caller) {
  const std::string id = std::to_string(job.value);
  if (caller.IsJob()) {
    return PermissionDenied("NOT_YOURS", "job " + id + " is neither this token's job nor one that it submitted",
                            "do it as a user, with a token of your own")
        .WithField("job_id");
  }
  return PermissionDenied("NOT_YOURS", "job " + id + " is another user's",
                          "ask its owner, an admin of its team or an operator")
      .WithField("job_id");
}

AuditNote NoteOf(const Caller& caller, const Permission& row, std::string object) {
  AuditNote note;
  note.user = caller.user;
  note.token = caller.token;
  note.peer = caller.peer;
  note.method = std::string(row.method);
  note.object = std::move(object);
  return note;
}

Status Door::Authenticate(const grpc::CallbackServerContext& context, const Permission& row, const Snapshot& snapshot,
                          Caller* caller) const {
  caller->peer = PeerOf(context, gateway_key_);
  if (mode_ == Mode::kPlaintext) return CallerByName(context, row, caller);
  if (row.callers == Callers::kAnybody) return Status::Ok();
  return CallerByToken(context, snapshot, loop_->Now(), caller);
}

Result<Door::Entry> Door::Enter(const grpc::CallbackServerContext& context, Method method,
                                const google::protobuf::Message& request, const CallerLimits::Amounts& more) {
  Entry entry;
  const SnapshotPtr snapshot = loop_->snapshot();
  entry.denied = Authenticate(context, *method, *snapshot, &entry.caller);
  const bool known = entry.denied.ok();
  if (known && on_proven_ && method->callers == Callers::kUsers) on_proven_(context, entry.caller.user);
  const bool stranger = mode_ == Mode::kTokens && (!known || method->callers != Callers::kUsers);
  auto admission = limits_->Admit({known ? entry.caller.user : "", entry.caller.peer, stranger}, more);
  if (!admission.ok()) return admission.status();
  entry.admission = std::move(admission).value();
  entry.job = JobOf(request);
  const bool proven = mode_ == Mode::kTokens && method->callers != Callers::kAnybody;
  if (known && proven) {
    entry.denied = CheckCaller(entry.caller, *method);
    if (entry.denied.ok()) {
      entry.denied = CheckJob(*snapshot, entry.caller, *method, entry.job, &entry.by_right);
    }
    Used(entry.caller.token);
  }
  if (!entry.denied.ok()) Denied(NoteOf(entry.caller, *method, ObjectOf(request)), entry.denied);
  return entry;
}

bool Door::Counts(std::string_view authorization) const {
  Caller caller;
  return CallerByText(authorization, *loop_->snapshot(), loop_->Now(), &caller).ok();
}

Status Door::CheckAgain(const Caller& caller, const Permission& row, core::JobId job, Caller* now) const {
  const SnapshotPtr snapshot = loop_->snapshot();
  now->peer = caller.peer;
  const core::TokenRow* const token = snapshot->tables.identity->tokens.Find(caller.token);
  if (Status s = CallerOfRow(*snapshot, token, loop_->Now(), now); !s.ok()) return s;
  if (Status s = CheckCaller(*now, row); !s.ok()) return s;
  bool by_right = false;
  return CheckJob(*snapshot, *now, row, job, &by_right);
}

Status Door::StillAllowed(const Caller& caller, const Permission& row, core::JobId job) const {
  if (mode_ == Mode::kPlaintext) return Status::Ok();
  Caller now;
  if (Status s = CheckAgain(caller, row, job, &now); !s.ok()) return s;
  // What it is shown of all jobs was chosen by the rights that the caller came with.
  if (job || (now.role >= caller.role && now.admin_of == caller.admin_of)) return Status::Ok();
  return RightsChanged(caller);
}

Status Door::MayStill(const Caller& caller, const Permission& row, core::JobId job) const {
  if (mode_ == Mode::kPlaintext || row.callers != Callers::kUsers) return Status::Ok();
  Caller now;
  if (Status s = CheckAgain(caller, row, job, &now); !s.ok()) return s;
  const auto still_its_admin = [&](const std::string& team) {
    return std::find(now.admin_of.begin(), now.admin_of.end(), team) != now.admin_of.end();
  };
  const bool all_teams = std::all_of(caller.admin_of.begin(), caller.admin_of.end(), still_its_admin);
  return job || (now.role >= caller.role && all_teams) ? Status::Ok() : RightsChanged(caller);
}

void Door::Denied(AuditNote note, const Status& status) {
  if (observer_ != nullptr) observer_->OnDenied(status.reason());
  // A node has shown who it is, too: strangers of its address do not hide what is denied to it.
  const bool of_node = note.user.empty() && note.token.starts_with("node:");
  const auto left_out = denials_.Tell(note.peer, of_node ? note.token : note.user, loop_->Now());
  if (!left_out) return;
  if (*left_out > 0) note.after = std::to_string(*left_out) + " denied calls before it were not written";
  const std::string method = note.method;
  if (const Status posted = loop_->PostAudit(std::move(note), status.reason()); !posted.ok()) {
    LogWarning("a denied call is not in the audit trail method={} error=\"{}\"", method, posted.message());
  }
}

// Written for all tokens together, at most once a minute; what a crash forgets is a minute's.
void Door::Used(const std::string& token) {
  const TimePoint now = loop_->Now();
  std::map<std::string, TimePoint> written;
  {
    std::lock_guard lock(mutex_);
    used_[token] = now;
    if (now - written_at_ < kUseWrittenEvery) return;
    written_at_ = now;
    written.swap(used_);
  }
  core::TokensUsed event;
  event.at.assign(written.begin(), written.end());
  const Status posted = loop_->PostUnbounded(std::move(event), [](const core::Reply&) {});
  if (posted.ok()) return;
  std::lock_guard lock(mutex_);
  used_.merge(written);
}

TimePoint Door::LastUsed(const std::string& token) const {
  std::lock_guard lock(mutex_);
  const auto at = used_.find(token);
  return at == used_.end() ? TimePoint() : at->second;
}

}  // namespace glim::server
