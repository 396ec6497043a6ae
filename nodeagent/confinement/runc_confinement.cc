#include "nodeagent/confinement/runc_confinement.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>

#include "nodeagent/confinement/control_groups.h"
#include "nodeagent/confinement/runc_config.h"
#include "nodeagent/confinement/task_mounts.h"
#include "nodeagent/os/run_program.h"
#include "nodeagent/task/start_fault.h"
#include "sdk/io/folders.h"
#include "sdk/io/io_error.h"
#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"
#include "sdk/task_environment/variables.h"

namespace glim::nodeagent {
namespace {

constexpr const char* kInitTarget = "/run/glim-init";
constexpr std::size_t kMaskedMax = 1000;
constexpr std::size_t kControllersBytesMax = 4096;
constexpr const char* kSystemFolders[] = {"/usr", "/etc", "/opt"};
// A mount over one of these would be another system than the image's, or none.
constexpr const char* kReservedTargets[] = {"/usr",   "/etc",    "/opt",  "/bin", "/sbin", "/lib", "/lib32",
                                            "/lib64", "/libx32", "/proc", "/sys", "/dev",  "/run"};
constexpr const char* kTopLinks[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"};

bool IsReserved(const std::string& target) {
  return target == "/" || std::any_of(std::begin(kReservedTargets), std::end(kReservedTargets),
                                      [&](const char* folder) { return IsWithin(target, folder); });
}

// What not everybody on the node may read: the container's user may be root, for whom the kernel makes no difference.
std::vector<std::string> PrivateFiles(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end;
  for (; !error && it != end && found.size() < kMaskedMax; it.increment(error)) {
    std::error_code gone;
    const fs::file_status status = it->symlink_status(gone);
    if (gone || fs::is_symlink(status)) continue;
    const fs::perms wanted =
        fs::is_directory(status) ? fs::perms::others_read | fs::perms::others_exec : fs::perms::others_read;
    if ((status.permissions() & wanted) == wanted) continue;
    found.push_back(it->path().string());
    if (fs::is_directory(status)) it.disable_recursion_pending();
  }
  return found;
}

// What the operator allows the agent, its tasks have.
std::uint64_t MemlockAllowed() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 ? limit.rlim_max : 0;
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

// What the container is to see of the node. `field`: of the job's spec, where the job names it; empty: it is the
// agent's own.
struct Wanted {
  Mount mount;
  std::string field;
  std::string named;
};

class RuncConfinement final : public Confinement {
 public:
  explicit RuncConfinement(RuncOptions options)
      : options_(std::move(options)),
        masked_(PrivateFiles("/etc")),
        memlock_bytes_(MemlockAllowed()),
        swap_counts_(SwapCounts()),
        ends_together_(EndsTogether()) {}

  std::string name() const override { return options_.name; }

  PathOrder PathsOf(const LaunchSpec& spec) const override {
    PathOrder order;
    order.rules = RulesOf(spec);
    for (std::size_t i = 0; i < spec.mounts.size(); ++i) {
      order.wishes.push_back({"mounts[" + std::to_string(i) + "].source", spec.mounts[i].source, false});
    }
    if (!IsOwn(spec) && !IsReserved(spec.checkpoint_folder)) {
      order.wishes.push_back({"checkpoint.dir", spec.checkpoint_folder, true});
    }
    if (spec.code_folder.empty() && !IsSeen(spec.workdir, spec)) {
      order.wishes.push_back({"workdir", spec.workdir, false});
    }
    return order;
  }

  Status Prepare(const TaskPaths& paths, const PathAnswers& found, LaunchSpec* spec) const override {
    Status status = MakeCheckpointFolder(*spec, found);
    if (!status.ok()) return status;
    Result<std::vector<Wanted>> wanted = AllWanted(paths, *spec, found);
    if (!wanted.ok()) return wanted.status();
    status = MakeRootfs(paths);
    if (status.ok()) status = MakeFolder(paths.tmp());
    if (status.ok()) status = GiveToUser(spec->user, paths.run());
    if (status.ok() && !spec->code_folder.empty()) status = GiveToUser(spec->user, spec->code_folder);
    if (status.ok() && ::chmod(paths.tmp().c_str(), 01777) != 0) status = FileError("open up", paths.tmp(), errno);
    if (!status.ok()) return status;
    ContainerPlan plan;
    plan.hostname = options_.hostname;
    const std::string cgroup = options_.cgroup_parent + "/" + spec->task;
    plan.cgroup = ContainerGroupOf(cgroup);
    plan.rootfs = paths.bundle() + "/rootfs";
    plan.args = {kInitTarget};
    // What a census knows the task's processes by: everything in the container is below this one.
    plan.env = {AssignmentOf(TaskVariable::kTask, spec->task), AssignmentOf(TaskVariable::kSocket, paths.socket())};
    MountOrder order{RulesOf(*spec), {}};
    plan.binds = Place(*wanted, MountFolder(paths.bundle()), &order);
    plan.limits = spec->limits;
    plan.user = *spec->user;
    plan.masked = masked_;
    plan.memlock_bytes = memlock_bytes_;
    plan.swap_counts = swap_counts_;
    plan.ends_together = ends_together_;
    spec->container = ContainerLaunch{options_.runc, RuncRoot(), spec->task, paths.bundle(), cgroup};
    status = WriteFileAtomically(MountOrderFile(paths.bundle()), ToJson(order), Durability::kProcess);
    if (!status.ok()) return status;
    return WriteFileAtomically(paths.bundle() + "/config.json", RuncConfig(plan), Durability::kProcess);
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

  Status RefuseFolder(const std::string& field, const std::string& path) const {
    return InvalidArgument(field, field + " " + path + " is not among the folders that this node gives to jobs",
                           "use one that is, or ask the operator for --mount-allow on the node's agent");
  }

  bool IsOwn(const LaunchSpec& spec) const { return IsOwnCheckpointFolder(options_.state_dir, spec); }

  MakeRules RulesOf(const LaunchSpec& spec) const { return {options_.mount_allow, options_.state_dir, *spec.user}; }

  Status MakeCheckpointFolder(const LaunchSpec& spec, const PathAnswers& found) const {
    const std::string& path = spec.checkpoint_folder;
    if (IsReserved(path)) return RefuseFolder("checkpoint.dir", path);
    if (!IsOwn(spec)) {
      const PathAnswer& answer = found.at("checkpoint.dir");
      if (answer.refused) return RefuseFolder("checkpoint.dir", path);
      return answer.error == 0 ? Status::Ok() : Unusable("checkpoint.dir", path, answer.error);
    }
    std::error_code error;
    if (std::filesystem::exists(path, error)) return Status::Ok();
    if (Status status = MakeFolders(path); !status.ok()) return status;
    return GiveToUser(spec.user, path);
  }

  // The system's folders first, then by path: a folder is mounted before what lies in it.
  Result<std::vector<Wanted>> AllWanted(const TaskPaths& paths, const LaunchSpec& spec,
                                        const PathAnswers& found) const {
    std::vector<Wanted> all;
    for (const char* folder : kSystemFolders) {
      if (std::filesystem::is_directory(folder)) all.push_back({{folder, folder, true}, {}, {}});
    }
    std::vector<Wanted> own = {{{paths.tmp(), "/tmp", false}, {}, {}},
                               {{paths.run(), paths.run(), false}, {}, {}},
                               {{options_.init, kInitTarget, true}, {}, {}}};
    if (!options_.sdk.empty()) {
      own.push_back({{options_.sdk, kSdkTarget, true}, {}, {}});
    } else if (!IsReserved(options_.task_program) && ::access(options_.task_program.c_str(), X_OK) == 0) {
      own.push_back({{options_.task_program, options_.task_program, true}, {}, {}});
    }
    if (!spec.secrets_folder.empty()) own.push_back({{spec.secrets_folder, kPrivateTarget, true}, {}, {}});
    if (Status status = AddAsked(spec, found, &own); !status.ok()) return status;
    std::stable_sort(own.begin(), own.end(),
                     [](const Wanted& a, const Wanted& b) { return a.mount.target < b.mount.target; });
    all.insert(all.end(), own.begin(), own.end());
    return WithoutRepeats(all);
  }

  // What users may exchange is mounted by descriptor, below `folder`, and there the runtime finds it; the rest is the
  // operator's and the agent's, and the runtime may walk there itself.
  std::vector<Bind> Place(const std::vector<Wanted>& wanted, const std::string& folder, MountOrder* order) const {
    // Where no flag is named, runc leaves those of the mount alone: what the node made read-only stays so. crun sets
    // the flags of every bind anew, and where `ro` is wanted both are told so.
    const bool keeps_flags = options_.name == "runc";
    std::vector<Bind> binds;
    for (const auto& [mount, field, named] : wanted) {
      if (field.empty()) {
        binds.push_back({mount.source, mount.target, mount.read_only, false});
        continue;
      }
      const std::string place = folder + "/" + std::to_string(order->mounts.size());
      order->mounts.push_back({field, named, mount.source, place, mount.read_only});
      binds.push_back({place, mount.target, mount.read_only, keeps_flags && !mount.read_only});
    }
    return binds;
  }

  // What another bind shows at the same place, in the same way, is not mounted again: behind a folder of the user's, on
  // a server that trusts nobody's root, the runtime could not find the place. `all`: a folder before what lies in it.
  static std::vector<Wanted> WithoutRepeats(const std::vector<Wanted>& all) {
    std::vector<Wanted> kept;
    for (const Wanted& wanted : all) {
      const Mount& bind = wanted.mount;
      const auto above = std::find_if(kept.rbegin(), kept.rend(),
                                      [&](const Wanted& w) { return IsWithin(bind.target, w.mount.target); });
      const bool repeats = above != kept.rend() && above->mount.read_only == bind.read_only &&
                           above->mount.source + bind.target.substr(above->mount.target.size()) == bind.source;
      if (!repeats) kept.push_back(wanted);
    }
    return kept;
  }

  // What the job itself names: mounts, workdir, checkpoint folder.
  Status AddAsked(const LaunchSpec& spec, const PathAnswers& found, std::vector<Wanted>* own) const {
    for (std::size_t i = 0; i < spec.mounts.size(); ++i) {
      const std::string field = "mounts[" + std::to_string(i) + "]";
      const Mount& mount = spec.mounts[i];
      if (IsReserved(mount.target) || IsWithin(options_.state_dir, mount.target)) {
        return InvalidArgument(field + ".target", field + ".target " + mount.target + " belongs to the image",
                               "mount it elsewhere, for example at /data");
      }
      if (Status status = Add(field + ".source", mount, spec, found, own); !status.ok()) return status;
    }
    const Mount checkpoints{spec.checkpoint_folder, spec.checkpoint_folder, false};
    if (IsOwn(spec)) {
      if (std::filesystem::is_symlink(spec.checkpoint_folder))
        return RefuseFolder("checkpoint.dir", checkpoints.source);
      own->push_back({checkpoints, {}, {}});
    } else if (Status status = AddUnlessSeen("checkpoint.dir", checkpoints, spec, found, own); !status.ok()) {
      return status;
    }
    if (!spec.code_folder.empty()) return AddCode(spec, own);
    return AddUnlessSeen("workdir", {spec.workdir, spec.workdir, false}, spec, found, own);
  }

  // The job's code, where the job expects its workdir: over whatever else is mounted there.
  Status AddCode(const LaunchSpec& spec, std::vector<Wanted>* own) const {
    if (IsReserved(spec.workdir) || spec.workdir == "/tmp" || IsWithin(options_.state_dir, spec.workdir)) {
      return InvalidArgument("workdir",
                             "workdir " + spec.workdir + " belongs to the image: a snapshot cannot stand there",
                             "submit from another folder, or leave out 'code: snapshot'");
    }
    own->push_back({{spec.code_folder, spec.workdir, false}, {}, {}});
    return Status::Ok();
  }

  // It is in the image, or in one of the job's mounts, and then it has to be there.
  static bool IsSeen(const std::string& target, const LaunchSpec& spec) {
    if (IsReserved(target) || target == "/tmp") return true;
    return std::any_of(spec.mounts.begin(), spec.mounts.end(), [&](const Mount& m) {
      const bool code_hides =
          !spec.code_folder.empty() && IsWithin(target, spec.workdir) && IsWithin(spec.workdir, m.target);
      return IsWithin(target, m.target) && !code_hides;
    });
  }

  Status AddUnlessSeen(const char* field, const Mount& mount, const LaunchSpec& spec, const PathAnswers& found,
                       std::vector<Wanted>* own) const {
    return IsSeen(mount.target, spec) ? Status::Ok() : Add(field, mount, spec, found, own);
  }

  // Without symbolic links, so that no link leads out of what is allowed. Refused here with good words; what counts is
  // the check of what is mounted (task_mounts.h).
  Status Add(const std::string& field, const Mount& mount, const LaunchSpec& spec, const PathAnswers& found,
             std::vector<Wanted>* own) const {
    const PathAnswer& answer = found.at(field);
    if (answer.error != 0) return Unusable(field, mount.source, answer.error);
    if (!IsAllowed(RulesOf(spec), answer.real)) return RefuseFolder(field, mount.source);
    own->push_back({{answer.real, mount.target, mount.read_only}, field, mount.source});
    return Status::Ok();
  }

  static Status Unusable(const std::string& field, const std::string& path, int error) {
    if (error == ENOENT) return PathMissing(field, path);
    const std::string refused = field + " " + path + " cannot be used on this node: ";
    if (error == ENOTDIR) return InvalidArgument(field, refused + "it is not a folder", "name a folder");
    return Status(StatusCode::kFailedPrecondition, refused + std::strerror(error)).WithField(field);
  }

  // The folders that something is mounted on are made by runc.
  Status MakeRootfs(const TaskPaths& paths) const {
    const std::string root = paths.bundle() + "/rootfs";
    for (const std::string& folder :
         {paths.bundle(), MountFolder(paths.bundle()), root, root + "/usr", root + "/var"}) {
      if (Status status = MakeFolder(folder); !status.ok()) return status;
    }
    // Private folders are the agent's; the container's root is for everybody in it.
    for (const std::string& folder : {root, root + "/usr", root + "/var"}) {
      if (::chmod(folder.c_str(), 0755) != 0) return FileError("open up", folder, errno);
    }
    for (const char* name : kTopLinks) {
      std::error_code error;
      const std::filesystem::path host = std::string("/") + name;
      if (!std::filesystem::is_symlink(host, error)) continue;
      std::filesystem::create_symlink(std::filesystem::read_symlink(host, error), root + "/" + name, error);
      if (error) return FileError("link", root + "/" + name, error.value());
    }
    if (::symlink("/tmp", (root + "/var/tmp").c_str()) != 0) return FileError("link", root + "/var/tmp", errno);
    return Status::Ok();
  }

  const RuncOptions options_;
  const std::vector<std::string> masked_;
  const std::uint64_t memlock_bytes_;
  const bool swap_counts_;
  const bool ends_together_;
};

}  // namespace

std::unique_ptr<Confinement> MakeRuncConfinement(RuncOptions options) {
  return std::make_unique<RuncConfinement>(std::move(options));
}

}  // namespace glim::nodeagent
