#include "nodeagent/confinement/container_mounts.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "nodeagent/task/start_fault.h"

namespace glim::nodeagent {
namespace {

constexpr const char* kResolver = "/etc/resolv.conf";
constexpr const char* kSystemFolders[] = {"/usr", "/etc", "/opt"};
// A mount over one of these would be another system than the image's, or none.
constexpr const char* kReservedTargets[] = {"/usr",   "/etc",    "/opt",  "/bin", "/sbin", "/lib", "/lib32",
                                            "/lib64", "/libx32", "/proc", "/sys", "/dev",  "/run"};

bool IsReserved(const std::string& target) {
  return target == "/" || std::any_of(std::begin(kReservedTargets), std::end(kReservedTargets),
                                      [&](const char* folder) { return IsWithin(target, folder); });
}

Status Unusable(const std::string& field, const std::string& path, const LaunchSpec& spec, int error) {
  if (error == ENOENT) return PathMissing(field, path);
  if (error == EACCES || error == EPERM) return PathDenied(field, path, spec.user->uid);
  const std::string refused = field + " " + path + " cannot be used on this node: ";
  if (error == ENOTDIR) return InvalidArgument(field, refused + "it is not a folder", "name a folder");
  return Status(StatusCode::kFailedPrecondition, refused + std::strerror(error)).WithField(field);
}

// It is in the image, or in one of the job's mounts, and then it has to be there.
bool IsSeen(const std::string& target, const LaunchSpec& spec) {
  if (IsReserved(target) || target == "/tmp") return true;
  return std::any_of(spec.mounts.begin(), spec.mounts.end(), [&](const Mount& m) {
    const bool code_hides =
        !spec.code_folder.empty() && IsWithin(target, spec.workdir) && IsWithin(spec.workdir, m.target);
    return IsWithin(target, m.target) && !code_hides;
  });
}

// What another mount shows at the same place, in the same way, is not mounted again: behind a folder of the user's, on
// a server that trusts nobody's root, the place could not be found. `all`: a folder before what lies in it.
std::vector<TaskMount> WithoutRepeats(const std::vector<TaskMount>& all) {
  std::vector<TaskMount> kept;
  for (const TaskMount& wanted : all) {
    const auto above =
        std::find_if(kept.rbegin(), kept.rend(), [&](const TaskMount& m) { return IsWithin(wanted.target, m.target); });
    const bool repeats = above != kept.rend() && above->read_only == wanted.read_only &&
                         above->real + wanted.target.substr(above->target.size()) == wanted.real;
    if (!repeats) kept.push_back(wanted);
  }
  return kept;
}

TaskMount Own(const std::string& source, const std::string& target, bool read_only) {
  TaskMount mount;
  mount.real = source;
  mount.target = target;
  mount.read_only = read_only;
  mount.own = true;
  return mount;
}

}  // namespace

Status RefuseFolder(const std::string& field, const std::string& path) {
  return InvalidArgument(field, field + " " + path + " is not among the folders that this node gives to jobs",
                         "use one that is, or ask the operator for --mount-allow on the node's agent");
}

PathOrder ContainerMounts::Paths() const {
  PathOrder order;
  order.rules = rules_;
  order.group_readable = node_.saves_group_readable;
  if (spec_.image && !spec_.image->path.empty()) order.wishes.push_back({"image", spec_.image->path, false});
  for (std::size_t i = 0; i < spec_.mounts.size(); ++i) {
    order.wishes.push_back({"mounts[" + std::to_string(i) + "].source", spec_.mounts[i].source, false});
  }
  if (!IsOwnCheckpoint() && !IsReserved(spec_.checkpoint_folder)) {
    order.wishes.push_back({"checkpoint.dir", spec_.checkpoint_folder, true, spec_.checkpoint_root});
  }
  if (spec_.code_folder.empty() && !IsSeen(spec_.workdir, spec_)) {
    order.wishes.push_back({"workdir", spec_.workdir, false});
  }
  return order;
}

Status ContainerMounts::CheckCheckpointFolder(const PathAnswers& found) const {
  const std::string& path = spec_.checkpoint_folder;
  if (IsReserved(path)) return RefuseFolder("checkpoint.dir", path);
  if (IsOwnCheckpoint()) {
    return std::filesystem::is_symlink(path) ? RefuseFolder("checkpoint.dir", path) : Status::Ok();
  }
  const PathAnswer& answer = found.at("checkpoint.dir");
  if (answer.refused) return RefuseFolder("checkpoint.dir", path);
  if (!answer.why.empty()) return PathUntrusted("checkpoint.dir", path, answer.why);
  return answer.error == 0 ? Status::Ok() : Unusable("checkpoint.dir", path, spec_, answer.error);
}

// The system's folders first, then by path: a folder is mounted before what lies in it.
Result<std::vector<TaskMount>> ContainerMounts::All(const TaskPaths& paths, const PathAnswers& found,
                                                    const std::vector<DeviceFile>& files) const {
  std::vector<TaskMount> all;
  for (const char* folder : kSystemFolders) {
    if (!spec_.image && std::filesystem::is_directory(folder)) all.push_back(Own(folder, folder, true));
  }
  // To the task socket a task connects, read-only or not; what it wrote beside it nobody would count.
  std::vector<TaskMount> others = {Own(paths.tmp(), "/tmp", false), Own(paths.run(), paths.run(), true),
                                   Own(node_.init, kInitTarget, true)};
  if (!node_.sdk.empty()) {
    others.push_back(Own(node_.sdk, kSdkTarget, true));
  } else if (!IsReserved(node_.task_program) && ::access(node_.task_program.c_str(), X_OK) == 0) {
    others.push_back(Own(node_.task_program, node_.task_program, true));
  }
  for (const char* name : kAccountFiles) {
    const std::string target = std::string("/etc/") + name;
    // Its place is the node's own file, below the node's own folder: there is nowhere else to put it. An image has one.
    if (spec_.image || std::filesystem::is_regular_file(target)) {
      others.push_back(Own(AccountFile(paths, name), target, true));
    }
  }
  // Names are the network's, which is the node's.
  if (spec_.image && std::filesystem::is_regular_file(kResolver)) others.push_back(Own(kResolver, kResolver, true));
  if (!spec_.secrets_folder.empty()) others.push_back(Own(spec_.secrets_folder, kPrivateTarget, true));
  for (const DeviceFile& file : files) others.push_back(Own(file.source, file.target, file.read_only));
  if (Status status = AddAsked(found, &others); !status.ok()) return status;
  std::stable_sort(others.begin(), others.end(),
                   [](const TaskMount& a, const TaskMount& b) { return a.target < b.target; });
  all.insert(all.end(), others.begin(), others.end());
  return WithoutRepeats(all);
}

// What the job itself names: mounts, workdir, checkpoint folder.
Status ContainerMounts::AddAsked(const PathAnswers& found, std::vector<TaskMount>* all) const {
  for (std::size_t i = 0; i < spec_.mounts.size(); ++i) {
    const std::string field = "mounts[" + std::to_string(i) + "]";
    const Mount& mount = spec_.mounts[i];
    if (IsReserved(mount.target) || IsWithin(node_.state_dir, mount.target)) {
      return InvalidArgument(field + ".target", field + ".target " + mount.target + " belongs to the image",
                             "mount it elsewhere, for example at /data");
    }
    if (Status status = Add(field + ".source", mount, found, all); !status.ok()) return status;
  }
  if (IsOwnCheckpoint()) {
    all->push_back(Own(spec_.checkpoint_folder, spec_.checkpoint_folder, false));
  } else if (Status status = AddUnlessSeen("checkpoint.dir", spec_.checkpoint_folder, found, all); !status.ok()) {
    return status;
  }
  if (!spec_.code_folder.empty()) return AddCode(all);
  return AddUnlessSeen("workdir", spec_.workdir, found, all);
}

// The job's code, where the job expects its workdir: over whatever else is mounted there.
Status ContainerMounts::AddCode(std::vector<TaskMount>* all) const {
  if (IsReserved(spec_.workdir) || spec_.workdir == "/tmp" || IsWithin(node_.state_dir, spec_.workdir)) {
    return InvalidArgument("workdir",
                           "workdir " + spec_.workdir + " belongs to the image: a snapshot cannot stand there",
                           "submit from another folder, or leave out 'code: snapshot'");
  }
  all->push_back(Own(spec_.code_folder, spec_.workdir, false));
  all->back().field = "workdir";
  all->back().named = spec_.workdir;
  return Status::Ok();
}

Status ContainerMounts::AddUnlessSeen(const char* field, const std::string& path, const PathAnswers& found,
                                      std::vector<TaskMount>* all) const {
  return IsSeen(path, spec_) ? Status::Ok() : Add(field, {path, path, false}, found, all);
}

// Without symbolic links, so that no link leads out of what is allowed. Refused here with good words; what counts is
// the check of what is mounted (task_mounts.h).
Status ContainerMounts::Add(const std::string& field, const Mount& mount, const PathAnswers& found,
                            std::vector<TaskMount>* all) const {
  const PathAnswer& answer = found.at(field);
  if (answer.error != 0) return Unusable(field, mount.source, spec_, answer.error);
  if (!IsAllowed(rules_, answer.real)) return RefuseFolder(field, mount.source);
  const bool by_agent = spec_.checkpoint_root && field == "checkpoint.dir";
  all->push_back({field, mount.source, answer.real, mount.target, mount.read_only, by_agent});
  return Status::Ok();
}

}  // namespace glim::nodeagent
