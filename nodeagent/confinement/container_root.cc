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
#include "sdk/io/folders.h"
#include "sdk/io/io_error.h"

namespace glim::nodeagent {
namespace {

// Folders and empty files alone, so many as a job can name with room to spare.
constexpr const char* kSize = "size=1m,nr_inodes=16k,mode=0755";
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

}  // namespace

Status MakeContainerRootFolder() {
  if (Status status = MakeFolders(kContainerRoot); !status.ok()) return status;
  return ::chmod(kContainerRoot, kFolderMode) == 0 ? Status::Ok() : FileError("open up", kContainerRoot, errno);
}

Result<ContainerRoot> ContainerRoot::Mount(uid_t owner, const std::string& folder) {
  const std::string id = std::to_string(owner);
  const std::string options = std::string(kSize) + ",uid=" + id + ",gid=" + id;
  if (::mount("glim-root", folder.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
    return FileError("mount the container's root on", folder, errno);
  }
  UniqueFd root(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat info {};
  if (!root || ::fstat(root.get(), &info) != 0) return FileError("open", folder, errno);
  return ContainerRoot(std::move(root), folder, info.st_dev);
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

Status ContainerRoot::Finish() const {
  for (const char* name : kFolders) {
    if (::mkdirat(root_.get(), name, kFolderMode) != 0 && errno != EEXIST) return FileError("make", name, errno);
  }
  for (const char* name : kLinks) {
    std::error_code error;
    const std::filesystem::path link = std::filesystem::read_symlink(std::string("/") + name, error);
    if (error) continue;
    if (::symlinkat(link.c_str(), root_.get(), name) != 0 && errno != EEXIST) return FileError("link", name, errno);
  }
  if (::symlinkat("/tmp", root_.get(), "var/tmp") != 0 && errno != EEXIST) return FileError("link", "var/tmp", errno);
  const UniqueFd sys = OpenWithoutLinks("/sys");
  const UniqueFd place(::openat(root_.get(), "sys", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const UniqueFd clone = sys && place ? CloneMount(sys.get()) : UniqueFd();
  if (clone && RestrictMounts(clone.get(), true) == 0 && AttachMounts(clone.get(), place.get()) == 0) {
    return Status::Ok();
  }
  return FileError("mount", folder_ + "/sys", errno);
}

}  // namespace glim::nodeagent
