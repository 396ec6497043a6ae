#include "nodeagent/confinement/runc_confinement.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "nodeagent/confinement/control_groups.h"
#include "nodeagent/confinement/runc_config.h"
#include "nodeagent/os/run_program.h"
#include "nodeagent/task/start_fault.h"
#include "sdk/io/folders.h"
#include "sdk/io/io_error.h"
#include "sdk/io/write_file.h"
#include "sdk/task_environment/variables.h"

namespace glim::nodeagent {
namespace {

constexpr const char* kInitTarget = "/run/glim-init";
constexpr std::size_t kMaskedMax = 1000;
constexpr const char* kSystemFolders[] = {"/usr", "/etc", "/opt"};
// A mount over one of these would be another system than the image's, or none.
constexpr const char* kReservedTargets[] = {"/usr",   "/etc",    "/opt",  "/bin", "/sbin", "/lib", "/lib32",
                                            "/lib64", "/libx32", "/proc", "/sys", "/dev",  "/run"};
constexpr const char* kTopLinks[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"};

bool IsWithin(const std::string& path, const std::string& folder) {
  return folder == "/" || path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

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

class RuncConfinement final : public Confinement {
 public:
  explicit RuncConfinement(RuncOptions options)
      : options_(std::move(options)),
        masked_(PrivateFiles("/etc")),
        memlock_bytes_(MemlockAllowed()),
        swap_counts_(std::filesystem::exists("/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes")) {}

  std::string name() const override { return "runc"; }

  Status Prepare(const TaskPaths& paths, LaunchSpec* spec) const override {
    Status status = MakeCheckpointFolder(*spec);
    if (!status.ok()) return status;
    Result<std::vector<Mount>> binds = Binds(paths, *spec);
    if (!binds.ok()) return binds.status();
    status = MakeRootfs(paths);
    if (status.ok()) status = MakeFolder(paths.tmp());
    if (status.ok()) status = GiveToUser(paths.run());
    if (status.ok() && !spec->code_folder.empty()) status = GiveToUser(spec->code_folder);
    if (status.ok() && ::chmod(paths.tmp().c_str(), 01777) != 0) status = FileError("open up", paths.tmp(), errno);
    if (!status.ok()) return status;
    ContainerPlan plan;
    plan.hostname = options_.hostname;
    plan.cgroup = options_.cgroup_parent + "/" + spec->task;
    plan.rootfs = paths.bundle() + "/rootfs";
    plan.args = {kInitTarget};
    // What a census knows the task's processes by: everything in the container is below this one.
    plan.env = {AssignmentOf(TaskVariable::kTask, spec->task), AssignmentOf(TaskVariable::kSocket, paths.socket())};
    plan.binds = std::move(*binds);
    plan.limits = spec->limits;
    plan.uid = options_.user.uid;
    plan.gid = options_.user.gid;
    plan.masked = masked_;
    plan.memlock_bytes = memlock_bytes_;
    plan.swap_counts = swap_counts_;
    spec->container = ContainerLaunch{options_.runc, RuncRoot(), spec->task, paths.bundle(), plan.cgroup};
    return WriteFileAtomically(paths.bundle() + "/config.json", RuncConfig(plan), Durability::kProcess);
  }

  void Sweep(const LaunchSpec& spec) const override {
    if (!spec.container) return;
    (void)RemoveControlGroup(spec.container->cgroup);
    std::error_code ignored;
    if (!std::filesystem::exists(spec.container->root + "/" + spec.container->id, ignored)) return;
    // In the background: it takes its time, and nobody waits for it.
    RunInBackground({spec.container->runc, "--root", spec.container->root, "delete", "--force", spec.container->id});
  }

  void SweepOthers(const std::set<std::string>& tasks) const override {
    for (const std::string& name : ControlGroupsIn(options_.cgroup_parent)) {
      // Never with something in it: what nobody knows is left alone, and it may be another agent's.
      if (!tasks.contains(name)) RemoveEmptyControlGroup(options_.cgroup_parent + "/" + name);
    }
  }

 private:
  std::string RuncRoot() const { return options_.state_dir + "/runc"; }

  Status GiveToUser(const std::string& folder) const {
    if (::lchown(folder.c_str(), options_.user.uid, options_.user.gid) == 0) return Status::Ok();
    return FileError("give the task's user", folder, errno);
  }

  // Whatever the operator's list says, a job gets neither the agent's own folder, nor one that holds it, nor the
  // kernel's.
  bool IsAllowed(const std::string& real) const {
    if (IsWithin(real, options_.state_dir) || IsWithin(options_.state_dir, real)) return false;
    for (const char* folder : {"/proc", "/sys", "/dev"}) {
      if (IsWithin(real, folder)) return false;
    }
    return std::any_of(options_.mount_allow.begin(), options_.mount_allow.end(),
                       [&](const std::string& folder) { return IsWithin(real, folder); });
  }

  Status RefuseFolder(const std::string& field, const std::string& path) const {
    return InvalidArgument(field, field + " " + path + " is not among the folders that this node gives to jobs",
                           "use one that is, or ask the operator for --mount-allow on the node's agent");
  }

  // The one that the agent gives a job which names none.
  bool IsOwnCheckpointFolder(const LaunchSpec& spec) const {
    const std::string job = spec.task.substr(0, spec.task.find('.'));
    return spec.checkpoint_folder == options_.state_dir + "/checkpoints/" + job;
  }

  // Nothing is made outside of what is allowed: asked of the nearest folder above that exists, links followed.
  Status MakeCheckpointFolder(const LaunchSpec& spec) const {
    const std::string& path = spec.checkpoint_folder;
    std::error_code error;
    if (IsReserved(path)) return RefuseFolder("checkpoint.dir", path);
    if (std::filesystem::exists(path, error)) return Status::Ok();
    if (!IsOwnCheckpointFolder(spec)) {
      std::filesystem::path above = path;
      while (above.has_relative_path() && !std::filesystem::exists(above, error)) above = above.parent_path();
      const std::string real = std::filesystem::canonical(above, error).string();
      if (error || !IsAllowed(real)) return RefuseFolder("checkpoint.dir", path);
    }
    if (Status status = MakeFolders(path); !status.ok()) return status;
    return GiveToUser(path);
  }

  // The system's folders first, then by path: a folder is mounted before what lies in it.
  Result<std::vector<Mount>> Binds(const TaskPaths& paths, const LaunchSpec& spec) const {
    std::vector<Mount> binds;
    for (const char* folder : kSystemFolders) {
      if (std::filesystem::is_directory(folder)) binds.push_back({folder, folder, true});
    }
    std::vector<Mount> own = {
        {paths.tmp(), "/tmp", false}, {paths.run(), paths.run(), false}, {options_.init, kInitTarget, true}};
    if (!options_.sdk.empty()) {
      own.push_back({options_.sdk, kSdkTarget, true});
    } else if (!IsReserved(options_.task_program) && ::access(options_.task_program.c_str(), X_OK) == 0) {
      own.push_back({options_.task_program, options_.task_program, true});
    }
    if (Status status = AddAsked(spec, &own); !status.ok()) return status;
    std::stable_sort(own.begin(), own.end(), [](const Mount& a, const Mount& b) { return a.target < b.target; });
    binds.insert(binds.end(), own.begin(), own.end());
    return binds;
  }

  // What the job itself names: mounts, workdir, checkpoint folder.
  Status AddAsked(const LaunchSpec& spec, std::vector<Mount>* own) const {
    for (std::size_t i = 0; i < spec.mounts.size(); ++i) {
      const std::string field = "mounts[" + std::to_string(i) + "]";
      const Mount& mount = spec.mounts[i];
      if (IsReserved(mount.target) || IsWithin(options_.state_dir, mount.target)) {
        return InvalidArgument(field + ".target", field + ".target " + mount.target + " belongs to the image",
                               "mount it elsewhere, for example at /data");
      }
      if (Status status = Add(field + ".source", mount, own); !status.ok()) return status;
    }
    const Mount checkpoints{spec.checkpoint_folder, spec.checkpoint_folder, false};
    if (IsOwnCheckpointFolder(spec)) {
      if (std::filesystem::is_symlink(spec.checkpoint_folder))
        return RefuseFolder("checkpoint.dir", checkpoints.source);
      own->push_back(checkpoints);
    } else if (Status status = AddUnlessSeen("checkpoint.dir", checkpoints, spec, own); !status.ok()) {
      return status;
    }
    if (!spec.code_folder.empty()) return AddCode(spec, own);
    return AddUnlessSeen("workdir", {spec.workdir, spec.workdir, false}, spec, own);
  }

  // The job's code, where the job expects its workdir: over whatever else is mounted there.
  Status AddCode(const LaunchSpec& spec, std::vector<Mount>* own) const {
    if (IsReserved(spec.workdir) || spec.workdir == "/tmp" || IsWithin(options_.state_dir, spec.workdir)) {
      return InvalidArgument("workdir",
                             "workdir " + spec.workdir + " belongs to the image: a snapshot cannot stand there",
                             "submit from another folder, or leave out 'code: snapshot'");
    }
    own->push_back({spec.code_folder, spec.workdir, false});
    return Status::Ok();
  }

  Status AddUnlessSeen(const char* field, const Mount& mount, const LaunchSpec& spec, std::vector<Mount>* own) const {
    // It is in the image, or in one of the job's mounts, and then it has to be there.
    const bool in_image = IsReserved(mount.target) || mount.target == "/tmp";
    const bool in_mount = std::any_of(spec.mounts.begin(), spec.mounts.end(), [&](const Mount& m) {
      const bool code_hides =
          !spec.code_folder.empty() && IsWithin(mount.target, spec.workdir) && IsWithin(spec.workdir, m.target);
      return IsWithin(mount.target, m.target) && !code_hides;
    });
    return in_image || in_mount ? Status::Ok() : Add(field, mount, own);
  }

  Status Add(const std::string& field, const Mount& mount, std::vector<Mount>* own) const {
    // Without symbolic links, so that no link leads out of what is allowed.
    char real[PATH_MAX];
    if (::realpath(mount.source.c_str(), real) == nullptr) return Unusable(field, mount.source, errno);
    const std::string source = real;
    if (!IsAllowed(source)) return RefuseFolder(field, mount.source);
    own->push_back({source, mount.target, mount.read_only});
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
    for (const std::string& folder : {paths.bundle(), root, root + "/usr", root + "/var"}) {
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
};

}  // namespace

std::unique_ptr<Confinement> MakeRuncConfinement(RuncOptions options) {
  return std::make_unique<RuncConfinement>(std::move(options));
}

}  // namespace glim::nodeagent
