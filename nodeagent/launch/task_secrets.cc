#include "nodeagent/launch/task_secrets.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "nodeagent/confinement/runc_confinement.h"
#include "nodeagent/identity/identity_folder.h"
#include "scheduler/core/model/spec_limits.h"
#include "scheduler/core/model/validate_spec.h"
#include "sdk/io/folders.h"
#include "sdk/io/io_error.h"
#include "sdk/io/unique_fd.h"
#include "sdk/io/write_file.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

constexpr const char* kValues = "/secrets";
constexpr const char* kToken = "/api-token";
constexpr const char* kReplicaToken = "/replica-token";
constexpr const char* kAttemptSecret = "/attempt-secret";
constexpr const char* kAuthorities = "/ca.pem";
constexpr std::size_t kVariablesBytesMax = 256 << 10;  // beside env and run, in the kernel's call

std::string FolderOf(const AgentOptions& options, const TaskKey& key) {
  return options.secrets_dir + "/" + ToString(key);
}

// As the task's processes see it.
std::string SeenFolder(const AgentOptions& options, const TaskKey& key) {
  return options.in_containers() ? kPrivateTarget : FolderOf(options, key);
}

// Whether this agent was enrolled, and so knows whom to trust.
bool HasAuthorities(const AgentOptions& options) { return IdentityFolder(options.state_dir).Version() != 0; }

bool Has(const v1::TaskLaunch& launch, TaskVariable variable) {
  return std::any_of(launch.env().begin(), launch.env().end(),
                     [&](const v1::EnvVar& var) { return var.name() == NameOf(variable); });
}

// Whether the scheduler has told the task of others' memory. It goes on without where it has no token, or the node no
// tmpfs: copies are for speed.
bool HasReplicas(const AgentOptions& options, const v1::TaskLaunch& launch) {
  return !options.secrets_dir.empty() &&
         (Has(launch, TaskVariable::kReplicaPeer) || Has(launch, TaskVariable::kReplicaSources));
}

// Likewise: without a tmpfs the task's ranks say what is missing, if they need it.
bool HasAttemptSecret(const AgentOptions& options, const v1::TaskLaunch& launch) {
  return !options.secrets_dir.empty() && launch.with_attempt_secret();
}

bool HasFolder(const AgentOptions& options, const v1::TaskLaunch& launch) {
  return NeedsSecrets(launch) || HasReplicas(options, launch) || HasAttemptSecret(options, launch);
}

Status Write(const std::string& path, const std::string& bytes) {
  return WriteFileAtomically(path, bytes, WriteOptions{Durability::kProcess, 0400, false});
}

Status WriteAll(const AgentOptions& options, const std::string& folder, const v1::TaskLaunch& launch,
                const TaskSecrets& secrets) {
  Status status = MakePrivateFolder(options.secrets_dir);
  if (status.ok()) status = RemoveFolder(folder);
  if (status.ok()) status = MakeFolder(folder);
  if (status.ok()) status = MakeFolder(folder + kValues);
  for (const auto& [name, value] : secrets.values) {
    if (status.ok()) status = Write(folder + kValues + "/" + name, value);
  }
  if (status.ok() && !secrets.replica_token.empty()) status = Write(folder + kReplicaToken, secrets.replica_token);
  if (status.ok() && !secrets.attempt_secret.empty()) status = Write(folder + kAttemptSecret, secrets.attempt_secret);
  if (!status.ok() || !launch.api()) return status;
  status = Write(folder + kToken, secrets.api_token);
  if (!status.ok() || !HasAuthorities(options)) return status;
  const Result<NodeCredentials> own = IdentityFolder(options.state_dir).Read();
  return own.ok() ? Write(folder + kAuthorities, pki::PemOf(own->authorities)) : own.status();
}

// All of a folder, and last the folder itself.
Status GiveToTask(const TaskUser& user, const std::string& folder) {
  const UniqueFd open(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!open) return FileError("open", folder, errno);
  const Result<std::vector<FolderEntry>> entries = ListFolder(open.get());
  if (!entries.ok()) return entries.status();
  for (const FolderEntry& entry : *entries) {
    const std::string path = folder + "/" + entry.name;
    if (entry.is_folder) {
      if (Status status = GiveToTask(user, path); !status.ok()) return status;
    } else if (Status status = GiveToUser(user, path); !status.ok()) {
      return status;
    }
  }
  if (::chmod(folder.c_str(), 0500) != 0) return FileError("close", folder, errno);
  return GiveToUser(user, folder);
}

}  // namespace

SecretsByTask TakeSecrets(v1::DesiredState* set) {
  SecretsByTask taken;
  for (v1::DesiredTask& task : *set->mutable_tasks()) {
    const TaskKey key{task.attempt().job_id(), task.attempt().number(), task.index()};
    if (!task.attempt_secret().empty()) {
      taken[key].attempt_secret = std::move(*task.mutable_attempt_secret());
      task.clear_attempt_secret();
    }
    if (!task.has_launch()) continue;
    v1::TaskLaunch& launch = *task.mutable_launch();
    if (!NeedsSecrets(launch) && launch.replica_token().empty()) continue;
    TaskSecrets& secrets = taken[key];
    secrets.api_token = std::move(*launch.mutable_api_token());
    launch.clear_api_token();
    secrets.replica_token = std::move(*launch.mutable_replica_token());
    launch.clear_replica_token();
    for (v1::TaskSecret& secret : *launch.mutable_secrets()) {
      if (!secret.value().empty()) secrets.values[secret.name()] = std::move(*secret.mutable_value());
      secret.clear_value();
    }
  }
  return taken;
}

bool NeedsSecrets(const v1::TaskLaunch& launch) { return launch.secrets_size() > 0 || launch.api(); }

Status CheckSecrets(const AgentOptions& options, const v1::TaskLaunch& launch, const TaskSecrets& secrets) {
  if (!NeedsSecrets(launch)) return Status::Ok();
  if (options.secrets_dir.empty()) {
    return Status(StatusCode::kFailedPrecondition, "this node has no tmpfs for the job's secrets")
        .WithFix("mount one at /dev/shm, and restart the node's agent");
  }
  std::size_t variables = 0;
  for (const v1::TaskSecret& secret : launch.secrets()) {
    if (Status status = core::CheckSecretName("secrets", secret.name()); !status.ok()) return status;
    const auto value = secrets.values.find(secret.name());
    if (value == secrets.values.end()) {
      return Status(StatusCode::kFailedPrecondition, "the scheduler did not send secret " + secret.name());
    }
    if (value->second.size() > core::kSecretBytesMax) {
      return InvalidArgument("secrets", "secret " + secret.name() + " is too long");
    }
    if (secret.env().empty()) continue;
    if (value->second.find('\0') != std::string::npos) {
      return InvalidArgument("secrets", "secret " + secret.name() + " holds a zero byte: it can be no variable",
                             "leave `env` out, and read its file in $GLIM_SECRETS");
    }
    variables += secret.env().size() + value->second.size();
  }
  if (launch.secrets_size() > static_cast<int>(core::kSpecSecretsMax)) {
    return InvalidArgument("secrets", "secrets: too many of them");
  }
  if (variables > kVariablesBytesMax) {
    return InvalidArgument("secrets", "secrets that are variables are " + std::to_string(variables) + " bytes in all",
                           "use at most " + std::to_string(kVariablesBytesMax) +
                               ", and read the others from their files in $GLIM_SECRETS");
  }
  if (!launch.api() || !secrets.api_token.empty()) return Status::Ok();
  return Status(StatusCode::kFailedPrecondition, "the scheduler did not send the job's token");
}

void PlanSecrets(const AgentOptions& options, const TaskKey& key, const v1::TaskLaunch& launch, LaunchSpec* spec) {
  if (!HasFolder(options, launch)) return;
  spec->secrets_folder = FolderOf(options, key);
  for (const v1::TaskSecret& secret : launch.secrets()) {
    if (secret.env().empty()) continue;
    spec->secret_env.emplace_back(secret.env(), SeenFolder(options, key) + kValues + "/" + secret.name());
  }
}

void TellSecrets(const AgentOptions& options, const TaskKey& key, const v1::TaskLaunch& launch, NodeEnvironment* node) {
  const std::string folder = SeenFolder(options, key);
  if (launch.secrets_size() > 0) node->secrets = folder + kValues;
  if (HasReplicas(options, launch)) node->replica_token_file = folder + kReplicaToken;
  if (HasAttemptSecret(options, launch)) node->attempt_secret_file = folder + kAttemptSecret;
  if (!launch.api()) return;
  node->api_token_file = folder + kToken;
  if (HasAuthorities(options)) node->api_ca_file = folder + kAuthorities;
}

Status WriteSecrets(const AgentOptions& options, const TaskKey& key, const std::optional<TaskUser>& user,
                    const v1::TaskLaunch& launch, const TaskSecrets& secrets) {
  if (!HasFolder(options, launch)) return Status::Ok();
  const std::string folder = FolderOf(options, key);
  Status status = WriteAll(options, folder, launch, secrets);
  if (status.ok() && user) status = GiveToTask(*user, folder);
  if (!status.ok()) RemoveSecrets(options, key);
  return status;
}

void RemoveSecrets(const AgentOptions& options, const TaskKey& key) {
  if (options.secrets_dir.empty()) return;
  const std::string folder = FolderOf(options, key);
  if (::access(folder.c_str(), F_OK) != 0) return;
  const Status status = RemoveFolder(folder);
  (void)::rmdir(options.secrets_dir.c_str());  // with the last task's
  if (status.ok()) return;
  LogError("event=secrets_not_removed task={} error={}", ToString(key), Quoted(status.message()));
}

void SweepSecrets(const AgentOptions& options, const std::set<TaskKey>& tasks) {
  if (options.secrets_dir.empty()) return;
  const UniqueFd open(::open(options.secrets_dir.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!open) return;  // no task has had any yet
  const Result<std::vector<FolderEntry>> entries = ListFolder(open.get());
  if (!entries.ok()) return LogError("event=secrets_not_swept error={}", Quoted(entries.status().message()));
  for (const FolderEntry& entry : *entries) {
    const bool known =
        std::any_of(tasks.begin(), tasks.end(), [&](const TaskKey& key) { return ToString(key) == entry.name; });
    if (known) continue;
    const Status status = RemoveFolder(options.secrets_dir + "/" + entry.name);
    LogInfo("event=secrets_swept task={} error={}", Quoted(entry.name), Quoted(status.message()));
  }
  (void)::rmdir(options.secrets_dir.c_str());  // with the last one
}

}  // namespace glim::nodeagent
