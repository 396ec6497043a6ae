#include "nodeagent/confinement/container_root.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>

#include "nodeagent/os/file_user.h"
#include "nodeagent/os/mount_calls.h"
#include "nodeagent/os/run_program.h"
#include "sdk/io/folders.h"
#include "sdk/io/io_error.h"

namespace glim::nodeagent {
namespace {

// Folders and empty files alone, so many as a job can name with room to spare.
constexpr const char* kSize = "size=1m,nr_inodes=16k,mode=0755";
constexpr const char* kImageInodes = ",nr_inodes=1m,mode=0755";
constexpr mode_t kFolderMode = 0755;
constexpr mode_t kFileMode = 0644;

constexpr const char* kLinks[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"};  // where the node has them
constexpr const char* kFolders[] = {"dev", "proc", "sys", "tmp", "var"};

UniqueFd OpenNext(int above, const std::string& name) {
  UniqueFd next(::openat(above, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!next || ::fstat(next.get(), &info) != 0 || !S_ISLNK(info.st_mode)) return next;
  errno = ELOOP;
  return UniqueFd();
}

bool Make(int above, const std::string& name, bool folder) {
  if (folder) return ::mkdirat(above, name.c_str(), kFolderMode) == 0;
  return bool{UniqueFd(::openat(above, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode))};
}

// The image at FOLDER/lower, and over all an overlay of it, at FOLDER.
Status MountImage(const std::string& image, const std::string& folder, uid_t owner) {
  const std::string lower = folder + "/lower", upper = folder + "/upper", work = folder + "/work";
  for (const std::string& path : {lower, upper, work}) {
    if (::mkdir(path.c_str(), 0755) != 0) return FileError("make", path, errno);
  }
  // Whoever may write below may write here.
  if (::chmod(upper.c_str(), 0777) != 0 || ::chown(upper.c_str(), owner, owner) != 0) {
    return FileError("open up", upper, errno);
  }
  const Result<int> mounted =
      RunProgram({"/usr/bin/mount", "-t", "squashfs", "-o", "loop,ro,nosuid,nodev", image, lower}, "/dev/null");
  if (!mounted.ok() || *mounted != 0) {
    return Status(StatusCode::kFailedPrecondition, "this node cannot mount the image " + image)
        .WithFix("ask the operator whether its kernel has squashfs and loop devices");
  }
  const std::string options = "lowerdir=" + lower + ",upperdir=" + upper + ",workdir=" + work;
  if (::mount("glim-image", folder.c_str(), "overlay", MS_NOSUID | MS_NODEV, options.c_str()) == 0) return Status::Ok();
  return FileError("mount the image on", folder, errno);
}

}  // namespace

Status MakeContainerRootFolder() {
  if (Status status = MakeFolders(kContainerRoot); !status.ok()) return status;
  return ::chmod(kContainerRoot, kFolderMode) == 0 ? Status::Ok() : FileError("open up", kContainerRoot, errno);
}

Result<ContainerRoot> ContainerRoot::Mount(uid_t owner, const std::string& image, const std::string& folder) {
  const std::string id = std::to_string(owner);
  const std::string size = image.empty() ? kSize : "size=" + std::to_string(kImageWritesMax) + kImageInodes;
  const std::string options = size + ",uid=" + id + ",gid=" + id;
  if (::mount("glim-root", folder.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
    return FileError("mount the container's root on", folder, errno);
  }
  if (!image.empty()) {
    if (Status status = MountImage(image, folder, owner); !status.ok()) return status;
  }
  UniqueFd root(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat info {};
  if (!root || ::fstat(root.get(), &info) != 0) return FileError("open", folder, errno);
  return ContainerRoot(std::move(root), folder, info.st_dev, !image.empty());
}

UniqueFd ContainerRoot::Place(const std::string& target, bool folder, const TaskUser& user) const {
  UniqueFd at(::fcntl(root_.get(), F_DUPFD_CLOEXEC, 3));
  std::optional<FileUser> as;  // from where it leaves what is ours
  std::istringstream names(target);
  std::string name, next_name;
  std::getline(names >> std::ws, name, '/');
  while (at) {
    while (name.empty() && std::getline(names, name, '/')) {
    }
    if (name.empty()) return at;
    next_name.clear();
    while (next_name.empty() && std::getline(names, next_name, '/')) {
    }
    struct stat info {};
    if (::fstat(at.get(), &info) != 0) return UniqueFd();
    if (!as && info.st_dev != device_) as.emplace(user.uid, user.gid, user.groups);
    UniqueFd next = OpenNext(at.get(), name);
    if (!next && errno == ENOENT && (Make(at.get(), name, folder || !next_name.empty()) || errno == EEXIST)) {
      next = OpenNext(at.get(), name);
    }
    at = std::move(next);
    name = next_name;
  }
  return at;
}

Status ContainerRoot::LinkPrograms() const {
  for (const char* name : kLinks) {
    std::error_code error;
    const std::filesystem::path link = std::filesystem::read_symlink(std::string("/") + name, error);
    if (error) continue;
    if (::symlinkat(link.c_str(), root_.get(), name) != 0 && errno != EEXIST) return FileError("link", name, errno);
  }
  if (::symlinkat("/tmp", root_.get(), "var/tmp") == 0 || errno == EEXIST) return Status::Ok();
  return FileError("link", "var/tmp", errno);
}

Status ContainerRoot::Finish() const {
  for (const char* name : kFolders) {
    if (::mkdirat(root_.get(), name, kFolderMode) != 0 && errno != EEXIST) return FileError("make", name, errno);
  }
  if (!of_image_) {
    if (Status status = LinkPrograms(); !status.ok()) return status;
  }
  const UniqueFd sys = OpenWithoutLinks("/sys");
  const UniqueFd place(::openat(root_.get(), "sys", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const UniqueFd clone = sys && place ? CloneMount(sys.get()) : UniqueFd();
  if (clone && RestrictMounts(clone.get(), true) == 0 && AttachMounts(clone.get(), place.get()) == 0) {
    return Status::Ok();
  }
  return FileError("mount", folder_ + "/sys", errno);
}

}  // namespace glim::nodeagent
