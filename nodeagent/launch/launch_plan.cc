#include "nodeagent/launch/launch_plan.h"

#include <unistd.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "nodeagent/devices/device_choice.h"
#include "nodeagent/devices/rank_places.h"
#include "nodeagent/launch/launch_user.h"
#include "nodeagent/launch/node_folders.h"
#include "nodeagent/launch/task_secrets.h"
#include "nodeagent/launch/task_variables.h"
#include "nodeagent/saves/save_tree.h"
#include "scheduler/core/model/image_name.h"
#include "scheduler/core/model/spec_limits.h"
#include "sdk/base/snapshot_name.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kVariableBytesMax = 128 << 10;
constexpr std::size_t kExecBytesMax = 1 << 20;  // half of what is usual: ranks add their own

bool HasNul(const std::string& text) { return text.find('\0') != std::string::npos; }

// A path as a spec may have it, or "/": where that will not do, the runtime says so.
bool IsPath(const std::string& path) {
  return path == "/" || (!HasNul(path) && path.size() <= core::kSpecPathBytesMax && core::IsPlainAbsolutePath(path));
}

// The bytes are held against the hash in the name before they are used, so that the name says enough.
Status CheckSnapshot(const std::string& path) {
  if (path.empty() || (IsPath(path) && ParseSnapshotPath(path))) return Status::Ok();
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
// what would harm this node if somebody else had sent it: paths with two spellings, lists without an end,
// bytes that end a C string, limits that are none.
Status CheckOrder(const v1::TaskLaunch& launch) {
  if (launch.ranks() < 1 || launch.ranks() > kRanksPerTaskMax) {
    return InvalidArgument("ranks", "ranks must be 1 to " + std::to_string(kRanksPerTaskMax));
  }
  if (launch.run().empty() || HasNul(launch.run())) return InvalidArgument("run", "run is empty or holds a zero byte");
  if (!launch.workdir().empty() && !IsPath(launch.workdir())) {
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

// What the kernel takes for a program's start: 128 KiB a variable, and a quarter of the stack (8 MiB) in all, with
// pointers. Beyond it no rank could be started on any node.
Status CheckFitsExec(const TaskVariables& variables, const std::string& run) {
  std::size_t total = run.size();
  for (const auto& [name, value] : variables) {
    const std::size_t bytes = name.size() + value.size() + 2;
    if (bytes > kVariableBytesMax) {
      return InvalidArgument("env." + name, "env." + name + " is " + std::to_string(bytes) + " bytes long",
                             "use at most " + std::to_string(kVariableBytesMax));
    }
    total += bytes + sizeof(char*);
  }
  if (total <= kExecBytesMax) return Status::Ok();
  return InvalidArgument("env", "env and run are " + std::to_string(total) + " bytes in all",
                         "use at most " + std::to_string(kExecBytesMax));
}

// A container sees its code where the spec has the workdir; a process of the node, where the code is.
void PlanCode(const AgentOptions& options, const TaskPaths& paths, const v1::TaskLaunch& launch, LaunchSpec* spec) {
  if (launch.snapshot().empty()) return;
  spec->code_folder = paths.code();
  if (!options.in_containers()) spec->workdir = spec->code_folder;
}

// Each rank with a GPU of its own runs beside that GPU. With plain processes, too.
void PlanPlaces(const AgentOptions& options, const v1::TaskLaunch& launch, LaunchSpec* spec) {
  const DeviceChoice choice = DeviceChoiceOf(options);
  if (!launch.per_gpu() || launch.gpus() == 0 || !GivesGpus(choice)) return;
  const PlaceWishes wishes{launch.ranks(), spec->limits.cpu_millis, AllowedCpus()};
  const std::vector<RankPlace> places = PlaceRanks(ReadTopology(choice.root), wishes);
  for (std::size_t i = 0; i < spec->ranks.size(); ++i) {
    spec->ranks[i].cpus = places[i].cpus;
    spec->ranks[i].memory = places[i].memory;
  }
}

// What the image says is overridden by the job, and what the node knows of its network by nobody.
TaskVariables VariablesOf(const ImageFacts& facts, const TaskVariables& base) {
  TaskVariables variables = base;
  for (const auto& [name, value] : facts.env) {
    if (name.starts_with("GLIM_")) continue;
    if (name == NameOf(TaskVariable::kPath)) variables[name] = value;
    variables.emplace(name, value);
  }
  return variables;
}

Status PlanImage(const AgentOptions& options, const v1::TaskLaunch& launch, const ImageAnswer* here, LaunchSpec* spec) {
  if (!NamesImage(launch)) return Status::Ok();
  const Result<core::ImageName> name = core::ParseImageName(launch.image());
  if (!name.ok()) return name.status();
  if (!options.in_containers()) {
    return Status(StatusCode::kFailedPrecondition,
                  "image " + launch.image() + ": this node runs jobs as plain processes, without containers")
        .WithFix("use nodes whose agents run containers (runtime: runc), or image: host");
  }
  spec->image = ImageLaunch{name->path, "", "", ""};
  if (here == nullptr) return Status::Ok();
  spec->image->file = here->file;
  spec->image->passwd = here->facts.passwd;
  spec->image->group = here->facts.group;
  spec->shell = here->facts.shell;
  if (launch.workdir().empty() && !here->facts.workdir.empty()) spec->workdir = here->facts.workdir;
  return Status::Ok();
}

std::string Shell() { return ::access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh"; }

}  // namespace

bool NamesImage(const v1::TaskLaunch& launch) { return !launch.image().empty() && launch.image() != core::kHostImage; }

Result<LaunchSpec> PlanLaunch(const AgentOptions& options, const TaskVariables& base, const TaskKey& key,
                              const std::string& task_folder, const v1::TaskLaunch& launch, const ImageAnswer* image) {
  if (Status status = CheckOrder(launch); !status.ok()) return status;
  Result<std::optional<TaskUser>> user = UserOf(options, launch);
  if (!user.ok()) return user.status();
  LaunchSpec spec;
  spec.user = std::move(*user);
  spec.task = ToString(key);
  spec.job_name = launch.job_name();
  spec.workdir = launch.workdir().empty() ? HomeOf(options, base) : launch.workdir();
  spec.shell = Shell();
  if (Status status = PlanImage(options, launch, image, &spec); !status.ok()) return status;
  PlanCode(options, TaskPaths(task_folder), launch, &spec);
  spec.run = launch.run();
  spec.log_folder = LogFolder(options, key.job, key.attempt);
  spec.log_limits = options.log_limits;
  spec.gpus = launch.gpus();
  spec.checkpoint_folder = CheckpointFolder(options, key, launch);
  spec.checkpoint_root = launch.checkpoint_root();
  PlanSecrets(options, key, launch, &spec);
  for (const v1::Mount& mount : launch.mounts()) {
    spec.mounts.push_back({mount.source(), mount.target(), mount.read_only()});
  }
  const v1::TaskLimits& limits = launch.limits();
  spec.limits = {limits.memory_bytes(), limits.cpu_millis(), limits.pids(), limits.shm_bytes()};
  const TaskVariables of_image = image != nullptr ? VariablesOf(image->facts, base) : base;
  const Result<TaskVariables> variables = PlanVariables(options, of_image, key, task_folder, launch, spec.workdir);
  if (!variables.ok()) return variables.status();
  if (Status status = CheckFitsExec(*variables, spec.run); !status.ok()) return status;
  spec.env.assign(variables->begin(), variables->end());
  for (std::uint32_t i = 0; i < launch.ranks(); ++i) {
    const TaskVariables own = RankVariables(launch, i);
    spec.ranks.push_back({launch.first_rank() + i, {own.begin(), own.end()}});
  }
  PlanPlaces(options, launch, &spec);
  return spec;
}

}  // namespace glim::nodeagent
