#include "scheduler/server/listen/first_start.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include "scheduler/core/model/node_users.h"
#include "scheduler/core/model/task_user.h"
#include "scheduler/server/listen/own_ids.h"
#include "sdk/io/folders.h"
#include "sdk/io/random_bytes.h"
#include "sdk/io/write_file.h"
#include "sdk/log/log.h"
#include "sdk/pki/certificate.h"
#include "sdk/tokens/opaque_token.h"

namespace glim::server {
namespace {

using identity::ClusterAuthority;
using identity::ClusterKey;

constexpr const char* kFirstStart = "first start";
constexpr const char* kBreakGlass = "break-glass";

Status PostAndWait(SchedulerLoop* loop, SchedulerLoop::Payload what, std::optional<AuditNote> audit) {
  auto answer = std::make_shared<std::promise<Status>>();
  std::future<Status> came = answer->get_future();
  const Status posted = loop->Post(
      std::move(what), [answer](const core::Reply& reply) { answer->set_value(reply.status); }, std::move(audit));
  return posted.ok() ? came.get() : posted;
}

AuditNote NoteBy(const char* method, std::string peer, std::string object, std::string after) {
  AuditNote note;
  note.peer = std::move(peer);
  note.method = method;
  note.object = std::move(object);
  note.after = std::move(after);
  return note;
}

Status KeyFileLost(const std::string& path) {
  return Status(StatusCode::kFailedPrecondition,
                "there is no key file " + path + ", and keys in the store were sealed by it: nobody can open them")
      .WithReason("KEY_FILE_LOST")
      .WithField("key_file")
      .WithFix(
          "put a copy of it there, or name it with key_file. If there is no copy left, `glim-scheduler break-glass "
          "--new-keys` begins anew: tokens stay, every node has to be invited again, and users' secrets are lost");
}

bool IsSealed(const core::Identity& rows) { return !rows.sealed.empty() || !rows.secrets.empty(); }

// Of a store with sealed rows.
Result<ClusterKey> OpenKey(const std::string& path) {
  auto key = identity::ReadClusterKey(path);
  if (!key.ok() && key.status().code() == StatusCode::kNotFound) return KeyFileLost(path);
  return key;
}

// None: there is no authority yet.
Result<std::optional<ClusterAuthority>> OpenSealed(const core::Identity& rows, const ClusterKey& key,
                                                   const std::string& cluster_id) {
  const core::SealedRow* const row = rows.sealed.Find(identity::kAuthorityRow);
  if (row == nullptr) return std::optional<ClusterAuthority>();
  std::optional<core::SealedRow> old;
  if (const auto* const found = rows.sealed.Find(identity::kOldAuthorityRow)) old = *found;
  auto authority = ClusterAuthority::Open(cluster_id, key, *row, old, FillRandomly);
  if (!authority.ok()) return authority.status();
  return std::optional<ClusterAuthority>(std::move(authority).value());
}

// Those of a row that has none yet, and which are no other row's.
void TakeIds(const core::Accounts& accounts, const std::optional<core::TaskUser>& ids, core::User* row) {
  if (!ids || row->uid) return;
  const auto has_it = [&](const auto& entry) { return entry.second.uid == ids->uid; };
  if (std::any_of(accounts.users.begin(), accounts.users.end(), has_it)) return;
  row->uid = ids->uid;
  row->gid = ids->gid;
  row->groups = ids->groups;
}

// An account that may do everything. `ids`: who it is in tasks.
Status MakeAdmin(SchedulerLoop* loop, const std::string& user, const std::optional<core::TaskUser>& ids,
                 const AuditNote& note) {
  const SnapshotPtr snapshot = loop->snapshot();
  const auto found = snapshot->tables.accounts->users.find(user);
  core::User row;
  row.name = user;
  if (found != snapshot->tables.accounts->users.end()) row = found->second;
  row.role = core::Role::kAdmin;
  row.disabled = false;
  TakeIds(*snapshot->tables.accounts, ids, &row);
  if (snapshot->tables.accounts->Has(row)) return Status::Ok();
  return PostAndWait(loop, core::ChangeAccounts{{{row, false}}, ""}, note);
}

core::TokenRow AdminToken(const OpaqueToken& token, const std::string& user, TimePoint now, core::TokenOrigin origin) {
  core::TokenRow row;
  row.id = token.id;
  row.user = user;
  row.scope = core::Scope::kAll;
  row.origin = origin;
  row.hash = HashOf(token.secret);
  row.created_at = now;
  return row;
}

std::string OperatorFolder(const std::string& state_dir) { return state_dir + "/operator"; }

Status MakeFirst(const IdentityPlaces& places, SchedulerLoop* loop, const ClusterKey& key,
                 const ClusterAuthority& authority) {
  const OpaqueToken token = MakeToken();
  const std::string folder = OperatorFolder(places.state_dir);
  if (Status status = MakePrivateFolder(folder); !status.ok()) return status;
  if (Status status = WriteFileAtomically(folder + "/token", token.Text() + "\n", Durability::kMachine); !status.ok()) {
    return status;
  }
  const std::string user = "user " + places.user;
  if (Status status = MakeAdmin(loop, places.user, IdsOf(places.uid), NoteBy(kFirstStart, "", user, "administrator"));
      !status.ok()) {
    return status;
  }
  core::ChangeIdentity event;
  for (core::SealedRow& row : authority.Rows(key)) event.changes.push_back({std::move(row), false, {}, true});
  core::TokenRow row = AdminToken(token, places.user, loop->Now(), core::TokenOrigin::kFirst);
  row.note = kFirstStart;
  event.changes.push_back({std::move(row), false, {}, true});
  const AuditNote note = NoteBy(kFirstStart, "", user, "token " + token.id + ", a new authority");
  if (Status status = PostAndWait(loop, std::move(event), note); !status.ok()) return status;
  LogInfo("first start with identity administrator={} token={} in={}", places.user, token.id, folder);
  const SnapshotPtr now = loop->snapshot();
  const core::Accounts& accounts = *now->tables.accounts;
  if (const auto fault = core::FaultOfTaskUser(accounts, *now->policy, places.user)) {
    LogWarning("no job of the administrator starts: {}; {}", fault->what, fault->fix);
  }
  if (const std::string opener = core::OpenerOf(accounts, places.user); !opener.empty()) {
    LogInfo("where tasks are their users no job of the administrator starts: {}; {}",
            core::WhyClosed(accounts, places.user), opener);
  }
  return Status::Ok();
}

}  // namespace

Result<std::unique_ptr<AuthorityKeeper>> OpenAuthority(const IdentityPlaces& places, SchedulerLoop* loop,
                                                       const std::string& cluster_id) {
  const SnapshotPtr snapshot = loop->snapshot();
  const core::Identity& rows = *snapshot->tables.identity;
  auto key = IsSealed(rows) ? OpenKey(places.key_file) : identity::ReadOrMakeClusterKey(places.key_file);
  if (!key.ok()) return key.status();
  auto sealed = OpenSealed(rows, *key, cluster_id);
  if (!sealed.ok()) return sealed.status();
  if (sealed->has_value()) return std::make_unique<AuthorityKeeper>(*key, std::move(**sealed));
  auto authority = ClusterAuthority::Create(cluster_id, loop->Now(), FillRandomly);
  if (!authority.ok()) return authority.status();
  if (Status status = MakeFirst(places, loop, *key, *authority); !status.ok()) return status;
  return std::make_unique<AuthorityKeeper>(*key, std::move(authority).value());
}

Status CheckKeyFile(const std::string& key_file, const core::Identity& rows, const std::string& cluster_id) {
  if (!IsSealed(rows)) return Status::Ok();
  const auto key = OpenKey(key_file);
  if (!key.ok()) return key.status();
  return OpenSealed(rows, *key, cluster_id).status();
}

Status WriteOperatorCa(const std::string& state_dir, const AuthorityKeeper& keeper) {
  const std::string folder = OperatorFolder(state_dir);
  if (Status status = MakePrivateFolder(folder); !status.ok()) return status;
  return WriteFileAtomically(folder + "/ca.pem", pki::PemOf(keeper.authority()->Trust()), Durability::kMachine);
}

Result<std::string> MakeBreakGlassToken(SchedulerLoop* loop, const std::string& user, const std::string& otherwise,
                                        const std::string& peer) {
  std::string admin = user;
  const SnapshotPtr snapshot = loop->snapshot();
  for (const auto& [name, row] : snapshot->tables.accounts->users) {
    if (admin.empty() && row.role == core::Role::kAdmin && !row.disabled) admin = name;
  }
  if (admin.empty()) admin = otherwise;
  if (!core::IsAccountName(admin)) {
    return InvalidArgument("user", "'" + admin + "' is no user's name", "use 1 to 64 characters of A-Z a-z 0-9 . _ -");
  }
  const OpaqueToken token = MakeToken();
  const AuditNote note = NoteBy(kBreakGlass, peer, "user " + admin, "administrator, token " + token.id);
  if (Status status = MakeAdmin(loop, admin, std::nullopt, note); !status.ok()) return status;
  core::TokenRow row = AdminToken(token, admin, loop->Now(), core::TokenOrigin::kBreakGlass);
  row.expires_at = row.created_at + kBreakGlassLife;
  row.note = kBreakGlass;
  const Status made = PostAndWait(loop, core::ChangeIdentity{{{std::move(row), false, {}, true}}, ""}, note);
  if (!made.ok()) return made;
  LogWarning("break-glass: a new token of an administrator user={} token={} peer={}", admin, token.id, peer);
  return token.Text();
}

Status ForgetKeys(SchedulerLoop* loop, const std::string& peer) {
  const SnapshotPtr snapshot = loop->snapshot();
  const core::Identity& rows = *snapshot->tables.identity;
  core::ChangeIdentity event;
  rows.sealed.ForEach([&](const std::string&, const core::SealedRow& row) {
    event.changes.push_back({row, true, {}, false});
  });
  rows.secrets.ForEach([&](const core::SecretKey&, const core::SecretRow& row) {
    event.changes.push_back({row, true, {}, false});
  });
  rows.nodes.ForEach([&](const std::string&, const core::NodeIdentity& row) {
    core::NodeIdentity bare = row;
    bare.serial.clear();
    bare.previous_serial.clear();
    bare.invite_hash.clear();
    bare.invite_expires_at = {};
    event.changes.push_back({std::move(bare), false, {}, false});
  });
  return PostAndWait(loop, std::move(event), NoteBy(kBreakGlass, peer, "authority", "all keys and secrets forgotten"));
}

std::string OwnUserName() {
  const passwd* const entry = ::getpwuid(::geteuid());
  const std::string name = entry != nullptr ? entry->pw_name : "";
  return core::IsAccountName(name) ? name : "uid-" + std::to_string(::geteuid());
}

}  // namespace glim::server
