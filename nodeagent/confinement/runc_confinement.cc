#include "nodeagent/confinement/runc_confinement.h"

#include <arpa/inet.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "nodeagent/confinement/account_files.h"
#include "nodeagent/confinement/container_mounts.h"
#include "nodeagent/confinement/control_groups.h"
#include "nodeagent/confinement/node_amounts.h"
#include "nodeagent/confinement/runc_config.h"
#include "nodeagent/confinement/task_mounts.h"
#include "nodeagent/devices/device_choice.h"
#include "nodeagent/os/oom_score.h"
#include "nodeagent/os/run_program.h"
#include "nodeagent/os/user_namespace.h"
#include "sdk/io/folders.h"
#include "sdk/io/io_error.h"
#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"
#include "sdk/task_environment/variables.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kControllersBytesMax = 4096;
constexpr std::uint64_t kFilesMax = 1 << 20;
constexpr std::size_t kNotesMax = 1000;
constexpr std::size_t kAccountBytesMax = 16 << 20;

// What the operator allows the agent, its tasks have.
std::uint64_t Allowed(int resource) {
  rlimit limit{};
  return ::getrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0 ? limit.rlim_max : 0;
}

// The most that a container can be allowed to lock: without bound, if the kernel lets the agent raise its own limit.
std::uint64_t MostMemlock() {
  rlimit own{};
  if (::getrlimit(RLIMIT_MEMLOCK, &own) != 0) return 0;
  const rlimit unbound{own.rlim_cur, RLIM_INFINITY};
  if (::setrlimit(RLIMIT_MEMLOCK, &unbound) != 0) return own.rlim_max;
  ::setrlimit(RLIMIT_MEMLOCK, &own);
  return RLIM_INFINITY;
}

// Control groups of version 2 alone: all of a group's files are in one place.
bool IsUnified() { return ::access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0; }

// Whether the kernel accounts for swap, so that memory and swap can be held to the limit together: control groups of
// version 1, and of version 2, whose root does not say it, but any other group that has memory's controller.
bool SwapCounts() {
  if (!IsUnified()) return ::access("/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes", F_OK) == 0;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/sys/fs/cgroup", error), end; !error && it != end; it.increment(error)) {
    if (::access((it->path() / "memory.swap.max").c_str(), F_OK) == 0) return true;
  }
  return false;
}

// Whether a group can be killed as one when its memory is used up: version 2 alone, and only where the memory
// controller is there, which it is not where version 1 has it, or where this system was not given it.
bool EndsTogether() {
  const Result<std::string> controllers = ReadFile("/sys/fs/cgroup/cgroup.controllers", kControllersBytesMax);
  if (!controllers.ok()) return false;
  std::istringstream names(*controllers);
  return std::find(std::istream_iterator<std::string>(names), {}, "memory") != std::istream_iterator<std::string>();
}

// What everybody on the node may read; of anything else nothing.
std::string WhatAllMayRead(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || (info.st_mode & S_IROTH) == 0) return "";
  const Result<std::string> text = ReadFile(path, kAccountBytesMax);
  return text.ok() ? *text : "";
}

// Of a comma-separated list; empty where that is no IP address.
std::string NthHost(const std::string& hosts, const std::string& index) {
  std::istringstream names(hosts);
  std::string name;
  for (long i = std::strtol(index.c_str(), nullptr, 10); i >= 0; --i) {
    if (!std::getline(names, name, ',')) return "";
  }
  unsigned char bytes[sizeof(in6_addr)];
  const bool is_address =
      ::inet_pton(AF_INET, name.c_str(), bytes) == 1 || ::inet_pton(AF_INET6, name.c_str(), bytes) == 1;
  return is_address ? name : "";
}

class RuncConfinement final : public Confinement {
 public:
  explicit RuncConfinement(RuncOptions options)
      : options_(std::move(options)),
        amounts_(AmountsOf(options_.cgroup_parent, options_.reserve_memory_bytes)),
        memlock_bytes_(Allowed(RLIMIT_MEMLOCK)),
        memlock_most_(MostMemlock()),
        files_(std::min<std::uint64_t>(Allowed(RLIMIT_NOFILE), kFilesMax)),
        oom_score_(std::max(kTaskOomScore, OwnOomScore())),
        swap_counts_(SwapCounts()),
        ends_together_(EndsTogether()) {
    LookAtDevices();
  }

  std::string name() const override { return options_.name; }

  PathOrder PathsOf(const LaunchSpec& spec) const override { return ContainerMounts(options_, spec).Paths(); }

  Status Prepare(const TaskPaths& paths, const PathAnswers& found, LaunchSpec* spec) const override {
    const ContainerMounts mounts(options_, *spec);
    Status status = HoldTo(amounts_, &spec->limits);
    if (status.ok() && options_.user_namespace) status = CheckMapping(*spec->user);
    if (status.ok()) status = mounts.CheckCheckpointFolder(found);
    if (status.ok() && mounts.IsOwnCheckpoint()) {
      status = MakeOwnCheckpointFolder(spec->checkpoint_folder, spec->user, options_.saves_group_readable);
    }
    if (!status.ok()) return status;
    const Result<NodeDevices> devices = DevicesOf(options_.devices, spec->gpus, spec->image.has_value());
    if (!devices.ok()) return devices.status();
    Tell(devices->notes);
    AddVariables(*devices, spec);
    MountOrder order{mounts.rules(), {}, options_.user_namespace ? kRootInside : 0};
    if (spec->image) order.image = spec->image->file;
    order.huge_page_kib = devices->huge_page_kib;
    Result<std::vector<TaskMount>> all = mounts.All(paths, found, devices->files);
    if (!all.ok()) return all.status();
    order.mounts = std::move(*all);
    if (status = MakeFoldersOf(paths, *spec); !status.ok()) return status;
    if (status = WriteAccountFiles(paths, *spec); !status.ok()) return status;
    spec->container = ContainerLaunch{options_.runc, RuncRoot(), spec->task, paths.bundle(),
                                      options_.cgroup_parent + "/" + spec->task};
    status = WriteFileAtomically(MountOrderFile(paths.bundle()), ToJson(order), Durability::kProcess);
    if (!status.ok()) return status;
    const std::string config = RuncConfig(PlanOf(paths, *spec, *devices));
    return WriteFileAtomically(paths.bundle() + "/config.json", config, Durability::kProcess);
  }

  void Sweep(const LaunchSpec& spec) const override {
    // What is known of it by its number alone is enough: its launch file may have been of no use.
    (void)RemoveControlGroup(spec.container ? spec.container->cgroup : options_.cgroup_parent + "/" + spec.task);
    // By the program that started it: an agent may be started anew with another one.
    const std::string program = spec.container ? spec.container->runc : options_.runc;
    const std::string root = spec.container ? spec.container->root : RuncRoot();
    std::error_code ignored;
    if (!std::filesystem::exists(root + "/" + spec.task, ignored)) return;
    // In the background: it takes its time, and nobody waits for it.
    RunInBackground({program, "--root", root, "delete", "--force", spec.task});
  }

  void SweepOthers(const std::set<std::string>& tasks) const override {
    for (const std::string& name : ControlGroupsIn(options_.cgroup_parent)) {
      // Never with something in it: what nobody knows is left alone, and it may be another agent's.
      if (!tasks.contains(name)) RemoveEmptyControlGroup(options_.cgroup_parent + "/" + name);
    }
  }

 private:
  std::string RuncRoot() const { return options_.state_dir + "/" + options_.name; }

  Status MakeFoldersOf(const TaskPaths& paths, const LaunchSpec& spec) const {
    Status status = MakeContainerRootFolder();  // it may have been tidied away
    if (status.ok()) status = MakeFolder(paths.bundle());
    if (status.ok()) status = MakeFolder(paths.tmp());
    if (status.ok()) status = GiveToUser(spec.user, paths.run());
    if (status.ok() && !spec.code_folder.empty()) status = GiveToUser(spec.user, spec.code_folder);
    if (status.ok() && ::chmod(paths.tmp().c_str(), 01777) != 0) return FileError("open up", paths.tmp(), errno);
    return status;
  }

  Status WriteAccountFiles(const TaskPaths& paths, const LaunchSpec& spec) const {
    const std::map<std::string, std::string> env(spec.env.begin(), spec.env.end());
    const auto value = [&](TaskVariable variable) {
      const auto it = env.find(NameOf(variable));
      return it == env.end() ? std::string() : it->second;
    };
    const TaskAccount account{*spec.user, value(TaskVariable::kUser), value(TaskVariable::kHome)};
    const auto address = NthHost(value(TaskVariable::kHosts), value(TaskVariable::kNodeRank));
    for (const char* name : kAccountFiles) {
      const std::string of_node = WhatAllMayRead(std::string("/etc/") + name);
      const std::string passwd = spec.image ? spec.image->passwd : of_node;
      const std::string group = spec.image ? spec.image->group : of_node;
      const std::string text = name == std::string("passwd")  ? PasswdWith(passwd, account)
                               : name == std::string("group") ? GroupWith(group, account)
                                                              : HostsWith(of_node, options_.hostname, address);
      Status status =
          WriteFileAtomically(AccountFile(paths, name), text, WriteOptions{Durability::kProcess, 0644, true});
      if (!status.ok()) return status;
    }
    return Status::Ok();
  }

  // Once, so that an operator hears of it at the agent's start and not from the first job.
  void LookAtDevices() {
    const Result<NodeDevices> devices = DevicesOf(options_.devices, 1);
    if (devices.status().code() == StatusCode::kNotFound && options_.devices.devices == DeviceChoice().devices) {
      return;  // a node without GPUs
    }
    if (!devices.ok()) {
      return LogWarning("event=no_devices note=\"tasks with GPUs cannot start on this node\" why={} fix={}",
                        Quoted(devices.status().message()), Quoted(devices.status().fix()));
    }
    Tell(devices->notes);
    std::string nodes;
    for (const DeviceNode& node : devices->nodes) nodes += (nodes.empty() ? "" : " ") + node.path;
    if (!nodes.empty()) LogInfo("event=devices of_tasks_with_gpus={}", Quoted(nodes));
  }

  // Each once: they are found anew at each start.
  void Tell(const std::vector<std::string>& notes) const {
    for (const std::string& note : notes) {
      if (told_.size() < kNotesMax && told_.insert(note).second) {
        LogWarning("event=device_left_out note={}", Quoted(note));
      }
    }
  }

  static void AddVariables(const NodeDevices& devices, LaunchSpec* spec) {
    std::map<std::string, std::string> variables(spec->env.begin(), spec->env.end());
    for (const auto& [name, value] : devices.env) variables.emplace(name, value);
    if (!devices.library_folder.empty()) {
      std::string& list = variables["LD_LIBRARY_PATH"];
      list += (list.empty() ? "" : ":") + devices.library_folder;
    }
    spec->env.assign(variables.begin(), variables.end());
  }

  ContainerPlan PlanOf(const TaskPaths& paths, const LaunchSpec& spec, const NodeDevices& devices) const {
    ContainerPlan plan;
    plan.hostname = options_.hostname;
    plan.cgroup = ContainerGroupOf(spec.container->cgroup);
    plan.rootfs = kContainerRoot;
    plan.writable_root = spec.image.has_value();
    plan.args = {kInitTarget};
    // What a census knows the task's processes by: everything in the container is below this one.
    plan.env = {AssignmentOf(TaskVariable::kTask, spec.task), AssignmentOf(TaskVariable::kSocket, paths.socket())};
    plan.limits = spec.limits;
    plan.user = *spec.user;
    plan.user_namespace = options_.user_namespace;
    // What a card is told of is locked for as long as it knows it; the limit of memory counts it all the same.
    plan.memlock_bytes = devices.locks_memory ? memlock_most_ : memlock_bytes_;
    plan.devices = devices.nodes;
    if (devices.huge_page_kib > 0) plan.huge_pages = std::string(kContainerRoot) + kHugePagesTarget;
    plan.files = files_;
    plan.oom_score = oom_score_;
    plan.seccomp = options_.seccomp;
    plan.swap_counts = swap_counts_;
    plan.ends_together = ends_together_;
    return plan;
  }

  const RuncOptions options_;
  const NodeAmounts amounts_;
  const std::uint64_t memlock_bytes_;
  const std::uint64_t memlock_most_;
  const std::uint64_t files_;
  const int oom_score_;
  const bool swap_counts_;
  const bool ends_together_;
  mutable std::set<std::string> told_;
};

}  // namespace

std::unique_ptr<Confinement> MakeRuncConfinement(RuncOptions options) {
  return std::make_unique<RuncConfinement>(std::move(options));
}

}  // namespace glim::nodeagent
