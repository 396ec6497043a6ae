#include "scheduler/server/secrets/launch_secrets.h"

#include <algorithm>
#include <utility>

#include "scheduler/identity/job_token.h"
#include "scheduler/identity/replica_key.h"
#include "scheduler/identity/seal.h"
#include "sdk/log/log.h"
#include "sdk/task_environment/variables.h"
#include "sdk/tokens/replica_token.h"

namespace glim::server {
namespace {

core::TaskId IdOf(const v1::DesiredTask& task) {
  return {{core::JobId(task.attempt().job_id()), task.attempt().number()}, task.index()};
}

// A job's message is for those who may see its secrets' names.
Status Refused(const std::string& name, const char* what) {
  return Status(StatusCode::kFailedPrecondition,
                "secret " + name + " " + what + ": glim secret set " + name + ", and submit the job again");
}

bool Has(const v1::TaskLaunch& launch, TaskVariable variable) {
  return std::any_of(launch.env().begin(), launch.env().end(),
                     [&](const v1::EnvVar& var) { return var.name() == NameOf(variable); });
}

core::IdentityChange NewSigningKey(const SecretSource& source) {
  return {identity::MakeSigningRow(*source.key, source.random), false, {}, true};
}

class Filler {
 public:
  Filler(const Snapshot& snapshot, const SecretSource& source, TimePoint now, LaunchSecrets* out)
      : rows_(*snapshot.tables.identity), source_(source), now_(now), out_(out) {}

  // By which the attempt's tasks know each other. False: the key is to be made first that it comes from.
  bool AddAttemptSecret(core::TaskId id, v1::DesiredTask* task) {
    if (!source_.key || task->has_stop()) return true;
    if (rows_.sealed.Find(identity::kSigningRow) == nullptr) {
      if (task->has_launch()) WantSigningKey();
      return !task->has_launch();
    }
    if (const std::string* signing = SigningKey()) {
      task->set_attempt_secret(identity::AttemptSecretOf(*signing, id.attempt));
    }
    return true;
  }

  // Whatever its store loses, the scheduler knows its own launch by this.
  void AddReceipt(const Snapshot& snapshot, core::TaskId id, v1::DesiredTask* task) const {
    const core::Task* const row = source_.key ? snapshot.tables.tasks.Find(id) : nullptr;
    const core::Node* const node = row ? snapshot.tables.nodes.Find(row->node) : nullptr;
    if (node) task->set_receipt(identity::LaunchReceiptOf(*source_.key, source_.cluster, node->name, id));
  }

  // OK with `waits`: the token's row is to be made first.
  Status Fill(const core::Job& job, core::TaskId task, v1::TaskLaunch* launch, bool* waits) {
    const core::JobSpec& spec = *job.spec;
    AddReplicaToken(job, task, launch);
    if (spec.secrets.empty() && !spec.api) return Status::Ok();
    if (!source_.key) {
      return Status(StatusCode::kFailedPrecondition,
                    "this scheduler runs without identity: it keeps no secrets, and gives no tokens");
    }
    for (const core::SecretUse& use : spec.secrets) {
      const core::SecretRow* row = rows_.secrets.Find({job.user, use.name});
      if (row == nullptr) return Refused(use.name, "is not set any more");
      auto value = identity::Unseal(*source_.key, "secret", job.user + "/" + use.name, row->sealed);
      if (!value.ok()) return Refused(use.name, "cannot be opened any more");
      v1::TaskSecret& secret = *launch->add_secrets();
      secret.set_name(use.name);
      secret.set_value(std::move(*value));
      secret.set_env(use.env);
    }
    return spec.api ? AddToken(job, task, launch, waits) : Status::Ok();
  }

 private:
  void WantSigningKey() {
    out_->wanted.changes = {NewSigningKey(source_)};
    out_->note.object = "the key of jobs' tokens";
  }

  // Null: there is none that opens, which the log says once.
  const std::string* SigningKey() {
    if (signing_.has_value()) return signing_->empty() ? nullptr : &*signing_;
    signing_.emplace();
    const core::SealedRow* row = rows_.sealed.Find(identity::kSigningRow);
    if (row == nullptr) return nullptr;
    auto signing = identity::OpenSigningRow(*source_.key, *row);
    if (signing.ok()) {
      signing_ = std::move(*signing);
      return &*signing_;
    }
    if (!source_.signing_fault_told->exchange(true)) {
      LogWarning("no task gets its attempt's secret, nor copies in other nodes' memory: {}; {}",
                 signing.status().message(), signing.status().fix());
    }
    return nullptr;
  }

  // For a task that was told of others' memory. Copies are for speed: without a key that opens it goes without.
  void AddReplicaToken(const core::Job& job, core::TaskId task, v1::TaskLaunch* launch) {
    if (!Has(*launch, TaskVariable::kReplicaPeer) && !Has(*launch, TaskVariable::kReplicaSources)) return;
    const auto authority = source_.key && source_.authority ? source_.authority() : nullptr;
    const std::string* signing = authority == nullptr ? nullptr : SigningKey();
    if (signing == nullptr) return;
    ReplicaClaims claims;
    claims.cluster = source_.cluster;
    claims.job = task.attempt.job.value;
    claims.attempt = task.attempt.number;
    claims.user = job.user;
    if (launch->has_task_user()) claims.uid = launch->task_user().uid();
    launch->set_replica_token(
        MakeReplicaToken(identity::ReplicaSeedOf(*signing, authority->Signer()), std::move(claims)));
  }

  Status AddToken(const core::Job& job, core::TaskId task, v1::TaskLaunch* launch, bool* waits) {
    const core::SealedRow* row = rows_.sealed.Find(identity::kSigningRow);
    if (row == nullptr) {  // the first job of this cluster that has a token
      WantSigningKey();
      *waits = true;
      return Status::Ok();
    }
    const auto signing = identity::OpenSigningRow(*source_.key, *row);
    if (!signing.ok()) return signing.status();
    const OpaqueToken token = identity::JobTokenOf(*signing, task.attempt);
    const core::TokenRow* known = rows_.tokens.Find(token.id);
    if (known != nullptr && known->attempt == task.attempt && known->hash == HashOf(token.secret)) {
      launch->set_api(true);
      launch->set_api_token(token.Text());
      if (const std::string place = source_.server ? source_.server() : ""; !place.empty()) {
        v1::EnvVar& server = *launch->add_env();
        server.set_name(NameOf(TaskVariable::kServer));
        server.set_value(place);
      }
      return Status::Ok();
    }
    core::TokenRow made;
    made.id = token.id;
    made.user = job.user;
    made.scope = core::Scope::kSubmit;
    made.origin = core::TokenOrigin::kJob;
    made.hash = HashOf(token.secret);
    made.created_at = now_;
    made.attempt = task.attempt;
    out_->wanted.changes = {{made, false, {}, known == nullptr}};
    out_->note.object = "job " + std::to_string(job.id.value);
    out_->note.after = "token " + made.id + " of attempt " + std::to_string(task.attempt.number);
    *waits = true;
    return Status::Ok();
  }

  const core::Identity& rows_;
  const SecretSource& source_;
  const TimePoint now_;
  LaunchSecrets* const out_;
  std::optional<std::string> signing_;  // empty: none that opens
};

}  // namespace

std::string ReplicaWord(const Snapshot& snapshot) {
  const core::SealedRow* row = snapshot.tables.identity->sealed.Find(identity::kSigningRow);
  return (snapshot.policy->fabric_private ? "private " : "shared ") + (row != nullptr ? row->bytes : std::string());
}

void TellReplicaKeys(const Snapshot& snapshot, const SecretSource& source, v1::Welcome* welcome) {
  welcome->set_private_fabric(snapshot.policy->fabric_private);
  const auto authority = source.key && source.authority ? source.authority() : nullptr;
  const core::SealedRow* row = snapshot.tables.identity->sealed.Find(identity::kSigningRow);
  if (authority == nullptr || row == nullptr) return;
  const auto signing = identity::OpenSigningRow(*source.key, *row);
  if (!signing.ok()) return;  // no launch gets a token, and the first says why
  for (const Ed25519Key& key : identity::ReplicaKeysOf(*signing, *authority)) {
    welcome->add_replica_keys(key.data(), key.size());
  }
}

std::optional<core::ChangeIdentity> WantedSigningKey(const Snapshot& snapshot, const SecretSource& source) {
  if (!source.key || snapshot.tables.identity->sealed.Find(identity::kSigningRow) != nullptr) return std::nullopt;
  core::ChangeIdentity wanted;
  wanted.changes = {NewSigningKey(source)};
  return wanted;
}

void CheckReceipts(const SecretSource& source, const std::string& node, const v1::NodeReport& report,
                   std::vector<core::ObservedTask>* tasks) {
  for (std::size_t i = 0; i < tasks->size(); ++i) {
    core::ObservedTask& task = (*tasks)[i];
    const std::string& receipt = report.tasks(static_cast<int>(i)).receipt();
    task.receipt = !source.key ||
                   (!receipt.empty() && identity::IsLaunchReceipt(*source.key, source.cluster, node, task.id, receipt));
  }
}

core::JobId HighestLaunched(const SecretSource& source, const v1::Hello& hello) {
  if (!source.key) return core::JobId(hello.highest_job_id());
  const v1::LaunchReceipt& told = hello.highest_launch();
  const core::TaskId task{{core::JobId(told.attempt().job_id()), told.attempt().number()}, told.index()};
  const bool good = identity::IsLaunchReceipt(*source.key, source.cluster, hello.node_name(), task, told.receipt());
  return good ? task.attempt.job : core::JobId();
}

core::ObservedTask FailedLaunch(core::TaskId task, const std::string& message) {
  core::ObservedTask failed;
  failed.id = task;
  failed.phase = core::TaskPhase::kReleased;
  failed.start_failed = true;
  failed.job_fault = true;
  failed.message = message;
  return failed;
}

LaunchSecrets AddSecrets(const Snapshot& snapshot, const SecretSource& source, TimePoint now, v1::DesiredState* set) {
  LaunchSecrets result;
  Filler filler(snapshot, source, now, &result);
  auto& tasks = *set->mutable_tasks();
  for (int i = 0; i < tasks.size();) {
    v1::DesiredTask& task = tasks[i];
    const core::TaskId id = IdOf(task);
    const core::Job* job = task.has_launch() ? snapshot.tables.jobs.Find(id.attempt.job) : nullptr;
    bool waits = false;
    const Status filled = job ? filler.Fill(*job, id, task.mutable_launch(), &waits) : Status::Ok();
    if (filled.ok() && !waits) waits = !filler.AddAttemptSecret(id, &task);
    filler.AddReceipt(snapshot, id, &task);
    if (filled.ok() && !waits) {
      ++i;
      continue;
    }
    if (waits) result.waiting.push_back(id);
    if (!filled.ok()) result.failed.push_back(FailedLaunch(id, filled.message()));
    tasks.erase(tasks.begin() + i);
  }
  return result;
}

}  // namespace glim::server
