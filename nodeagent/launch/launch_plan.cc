#include "nodeagent/launch/launch_plan.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "nodeagent/launch/launch_saves.h"
#include "nodeagent/launch/sdk_folder.h"
#include "nodeagent/saves/save_tree.h"
#include "scheduler/core/model/spec_limits.h"
#include "sdk/base/snapshot_name.h"

namespace glim::nodeagent {
namespace {

using Env = std::map<std::string, std::string>;

constexpr const char* kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

bool HasNul(const std::string& text) { return text.find('\0') != std::string::npos; }

// A path as a spec may have it; "/" is one for a workdir alone.
bool IsPath(const std::string& path) {
  return !HasNul(path) && path.size() <= core::kSpecPathBytesMax && core::IsPlainAbsolutePath(path);
}

// The bytes are held against the hash in the name before they are used, so that the name says enough.
Status CheckSnapshot(const std::string& path) {
  if (path.empty() || (IsPath(path) && !Sha256OfSnapshotPath(path).empty())) return Status::Ok();
  return InvalidArgument("snapshot", "snapshot: " + path.substr(0, 200) + " is no archive below a checkpoint root");
}

// A negative limit is none to runc and the kernel.
Status CheckLimits(const v1::TaskLimits& limits) {
  const std::pair<const char*, std::int64_t> amounts[] = {{"limits.memory", limits.memory_bytes()},
                                                          {"limits.cpus", limits.cpu_millis()},
                                                          {"limits.pids", limits.pids()},
                                                          {"limits.shm", limits.shm_bytes()}};
  for (const auto& [field, value] : amounts) {
    if (value == 0) continue;  // as much as the node has
    if (Status status = core::CheckAmount(field, value); !status.ok()) return status;
  }
  return Status::Ok();
}

// The scheduler has validated the job's spec (core::ValidateSpec). What is held against the same bounds once more is
// what would harm this node if somebody else had sent it: paths with two spellings, texts and lists without an end,
// bytes that end a C string, limits that are none.
Status CheckOrder(const v1::TaskLaunch& launch) {
  if (launch.ranks() < 1 || launch.ranks() > kRanksPerTaskMax) {
    return InvalidArgument("ranks", "ranks must be 1 to " + std::to_string(kRanksPerTaskMax));
  }
  if (!launch.image().empty() && launch.image() != "host") {
    return InvalidArgument("image", "image \"" + launch.image() + "\": this node runs processes of the host only",
                           "use image: host");
  }
  if (launch.run().empty() || HasNul(launch.run())) return InvalidArgument("run", "run is empty or holds a zero byte");
  if (launch.run().size() > core::kSpecTextBytesMax) return InvalidArgument("run", "run is too long");
  if (!launch.workdir().empty() && launch.workdir() != "/" && !IsPath(launch.workdir())) {
    return InvalidArgument("workdir", "workdir must be an absolute path");
  }
  if (!launch.checkpoint_dir().empty() && !IsPath(launch.checkpoint_dir())) {
    return InvalidArgument("checkpoint.dir", "checkpoint.dir must be an absolute path");
  }
  if (launch.mounts_size() > static_cast<int>(core::kSpecMountsMax)) {
    return InvalidArgument("mounts", "mounts: too many of them");
  }
  if (launch.has_base() && !launch.checkpoint_dir().empty()) {
    return InvalidArgument("base", "base: a save in nodes' own folders, of a job that has a checkpoint.dir");
  }
  if (launch.has_base() && !IsLocalPath(launch.base().local())) {
    return InvalidArgument("base.local", "base.local \"" + launch.base().local() + "\" is no path below a folder");
  }
  for (const v1::Mount& mount : launch.mounts()) {
    if (!IsPath(mount.source()) || !IsPath(mount.target())) {
      return InvalidArgument("mounts", "mounts: source and target must be absolute paths");
    }
  }
  if (Status status = CheckLimits(launch.limits()); !status.ok()) return status;
  if (Status status = CheckSnapshot(launch.snapshot()); !status.ok()) return status;
  for (const v1::EnvVar& var : launch.env()) {
    if (var.name().empty() || var.name().find('=') != std::string::npos || HasNul(var.name()) || HasNul(var.value())) {
      return InvalidArgument("env", "env: \"" + var.name().substr(0, 64) + "\" cannot be a variable's name or value");
    }
  }
  return Status::Ok();
}

// A container sees its code where the spec has the workdir; a process of the node, where the code is.
void PlanCode(const AgentOptions& options, const TaskPaths& paths, const v1::TaskLaunch& launch, LaunchSpec* spec) {
  if (launch.snapshot().empty()) return;
  spec->code_folder = paths.code();
  if (options.runtime != "runc") spec->workdir = spec->code_folder;
}

// What only the agent knows of one rank.
Env RankEnvironment(const v1::TaskLaunch& launch, std::uint32_t local_rank) {
  const std::string rank = std::to_string(launch.first_rank() + local_rank);
  Env env = {{"GLIM_RANK", rank}};
  if (launch.per_gpu()) {
    env["RANK"] = rank;
    env["LOCAL_RANK"] = std::to_string(local_rank);
  }
  return env;
}

// Of the node's replicas. Who writes and reads which copies is the scheduler's to say; the token is in a file.
void AddReplica(const AgentOptions& options, const TaskPaths& paths, Env& env) {
  if (!options.replica_secret.empty()) env["GLIM_REPLICA_TOKEN_FILE"] = paths.replica_token();
  if (!options.replica_tls.empty()) env["GLIM_REPLICA_TLS"] = options.replica_tls;
  if (!options.replica_device.empty()) env["GLIM_REPLICA_DEVICE"] = options.replica_device;
  if (options.replica_service_level >= 0) {
    env["GLIM_REPLICA_SERVICE_LEVEL"] = std::to_string(options.replica_service_level);
  }
}

// Where saves lie in this node's own folder, the agent alone knows the path of the one that the task goes on from.
void AddSaves(const AgentOptions& options, const TaskKey& key, const v1::TaskLaunch& launch, Env& env) {
  if (!launch.checkpoint_dir().empty()) return;
  // The ranks of several nodes must go on from the same save: none of them may choose another in a folder of its own.
  const auto nodes = env.find("GLIM_NNODES");
  if (nodes == env.end() || nodes->second != "1") env["GLIM_CHECKPOINT_LOCAL"] = "1";
  if (launch.has_base()) env["GLIM_RESUME_PATH"] = BasePath(CheckpointFolder(options, key, launch), launch.base());
}

// The interface that has this numeric address; empty for loopback and for what is none of ours.
std::string InterfaceOf(const std::string& address) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return "";
  std::string name;
  for (const ifaddrs* entry = list; entry != nullptr && name.empty(); entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_LOOPBACK) != 0) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    char text[NI_MAXHOST];
    if (::getnameinfo(entry->ifa_addr, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0 && address == text) {
      name = entry->ifa_name;
    }
  }
  ::freeifaddrs(list);
  return name;
}

std::string Shell() { return ::access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh"; }

}  // namespace

Env BaseEnvironment(const std::string& address) {
  Env env;
  if (const std::string interface = InterfaceOf(address); !interface.empty()) {
    env["GLOO_SOCKET_IFNAME"] = env["NCCL_SOCKET_IFNAME"] = interface;
  }
  for (const char* name : {"PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ"}) {
    if (const char* value = std::getenv(name)) env[name] = value;
  }
  if (!env.contains("PATH")) env["PATH"] = kDefaultPath;
  // A service often starts without these two, and many programs fail without them.
  if (const passwd* user = ::getpwuid(::geteuid())) {
    env.emplace("HOME", user->pw_dir);
    env.emplace("USER", user->pw_name);
  }
  env.emplace("HOME", "/");
  return env;
}

std::string CheckpointFolder(const AgentOptions& options, const TaskKey& key, const v1::TaskLaunch& launch) {
  if (!launch.checkpoint_dir().empty()) return launch.checkpoint_dir();
  return OwnCheckpointFolder(options.state_dir, key.job);
}

std::uint64_t HighestJob(const std::string& state_dir) {
  std::uint64_t highest = 0;
  for (const char* folder : {"/tasks", "/logs", "/checkpoints"}) {
    std::error_code error;
    for (std::filesystem::directory_iterator it(state_dir + folder, error), end; !error && it != end;
         it.increment(error)) {
      // "7.1.0", "7-1", "7"
      highest = std::max<std::uint64_t>(highest, std::strtoull(it->path().filename().c_str(), nullptr, 10));
    }
  }
  return highest;
}

std::string LogFolder(const AgentOptions& options, std::uint64_t job, std::uint32_t attempt) {
  return options.state_dir + "/logs/" + std::to_string(job) + "-" + std::to_string(attempt);
}

Result<LaunchSpec> PlanLaunch(const AgentOptions& options, const Env& base, const TaskKey& key,
                              const std::string& task_folder, const v1::TaskLaunch& launch) {
  if (Status status = CheckOrder(launch); !status.ok()) return status;
  Env env = base;
  // A container has no home of its own; its /tmp is there, writable and its own.
  if (options.runtime == "runc") env["HOME"] = "/tmp";
  const std::string home = env.at("HOME");
  for (const v1::EnvVar& var : launch.env()) env[var.name()] = var.value();
  env.emplace("GLIM_GPUS_SIMULATED", options.simulated_gpus ? "1" : "0");
  // A log is a pipe: Python would keep lines to itself, and lose them when it is killed.
  env.emplace("PYTHONUNBUFFERED", "1");
  if (launch.per_gpu()) env.emplace("LOCAL_WORLD_SIZE", std::to_string(launch.ranks()));
  if (!options.hfreduce_device.empty()) env["GLIM_HFREDUCE_DEVICE"] = options.hfreduce_device;
  if (options.hfreduce_service_level >= 0) {
    env["GLIM_HFREDUCE_SERVICE_LEVEL"] = std::to_string(options.hfreduce_service_level);
  }
  AddReplica(options, TaskPaths(task_folder), env);
  if (Status status = AddSdk(options, &env); !status.ok()) return status;
  env["GLIM_SOCKET"] = TaskPaths(task_folder).socket();
  env["GLIM_CHECKPOINT_DIR"] = CheckpointFolder(options, key, launch);
  AddSaves(options, key, launch, env);

  LaunchSpec spec;
  spec.task = ToString(key);
  spec.job_name = launch.job_name();
  spec.workdir = launch.workdir().empty() ? home : launch.workdir();
  PlanCode(options, TaskPaths(task_folder), launch, &spec);
  env["GLIM_WORKDIR"] = spec.workdir;
  spec.run = launch.run();
  spec.shell = Shell();
  spec.log_folder = LogFolder(options, key.job, key.attempt);
  spec.log_limits = options.log_limits;
  spec.gpus = launch.gpus();
  spec.checkpoint_folder = CheckpointFolder(options, key, launch);
  for (const v1::Mount& mount : launch.mounts()) {
    spec.mounts.push_back({mount.source(), mount.target(), mount.read_only()});
  }
  const v1::TaskLimits& limits = launch.limits();
  spec.limits = {limits.memory_bytes(), limits.cpu_millis(), limits.pids(), limits.shm_bytes()};
  spec.env.assign(env.begin(), env.end());
  for (std::uint32_t i = 0; i < launch.ranks(); ++i) {
    const Env own = RankEnvironment(launch, i);
    spec.ranks.push_back({launch.first_rank() + i, {own.begin(), own.end()}});
  }
  return spec;
}

}  // namespace glim::nodeagent
