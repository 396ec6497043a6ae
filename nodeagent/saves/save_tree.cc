#include "nodeagent/saves/save_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "sdk/io/io_error.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::int64_t kNanoseconds = 1'000'000'000;

Status TreeError(const std::string& path, int error) {
  if (error == ELOOP || error == ENOTDIR) {
    return Status(StatusCode::kFailedPrecondition, path + " is a link, or not a folder: links are not followed");
  }
  return FileError("open", path, error);
}

// Calls `step` with each component and whether it is the last.
template <typename Step>
Status EachComponent(const std::string& local, Step step) {
  for (std::size_t begin = 0; begin <= local.size();) {
    const std::size_t end = std::min(local.find('/', begin), local.size());
    if (Status status = step(local.substr(begin, end - begin), end == local.size()); !status.ok()) return status;
    begin = end + 1;
  }
  return Status::Ok();
}

class TreeWalk {
 public:
  TreeWalk(const TreeLimits& limits, FolderOrder order, const std::function<Status(const TreeEntry&)>& visit)
      : limits_(limits), order_(order), visit_(visit) {}

  Status Visit(int parent, const std::string& name, const std::string& path, int depth) {
    const std::string shown = path.empty() ? name : path;
    if (depth > limits_.depth_max) return TooMuch(shown + " lies too deep", limits_.depth_max, "folders");
    if (++count_ > limits_.files_max) return TooMuch("the save has too many files", limits_.files_max, "files");
    struct stat info {};
    if (::fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return FileError("look at", shown, errno);
    if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return NotPlain(shown);
    // Looked at again: somebody may have put a link or a pipe there meanwhile.
    UniqueFd fd(::openat(parent, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!fd) return TreeError(shown, errno);
    if (::fstat(fd.get(), &info) != 0) return FileError("look at", shown, errno);
    if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return NotPlain(shown);
    TreeEntry entry;
    entry.path = path;
    entry.parent = parent;
    entry.name = name;
    entry.fd = fd.get();
    entry.folder = S_ISDIR(info.st_mode);
    entry.bytes = entry.folder ? 0 : info.st_size;
    entry.modified_ns = info.st_mtim.tv_sec * kNanoseconds + info.st_mtim.tv_nsec;
    entry.mode = info.st_mode & 03777;
    if (!entry.folder) return visit_(entry);
    if (order_ == FolderOrder::kBefore) {
      if (Status status = visit_(entry); !status.ok()) return status;
    }
    if (Status status = VisitInside(fd.get(), path, depth); !status.ok()) return status;
    return order_ == FolderOrder::kAfter ? visit_(entry) : Status::Ok();
  }

 private:
  Status VisitInside(int folder, const std::string& path, int depth) {
    std::vector<std::string> names;
    if (Status status = ReadNames(folder, path, &names); !status.ok()) return status;
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      Status status = Visit(folder, name, path.empty() ? name : path + "/" + name, depth + 1);
      if (!status.ok()) return status;
    }
    return Status::Ok();
  }

  Status ReadNames(int folder, const std::string& path, std::vector<std::string>* names) const {
    UniqueFd copy(::openat(folder, ".", kFolderFlags));
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(copy ? ::fdopendir(copy.get()) : nullptr, ::closedir);
    if (!stream) return FileError("read folder", path, errno);
    (void)copy.Release();  // the stream's
    errno = 0;
    while (const dirent* entry = ::readdir(stream.get())) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names->push_back(name);
      if (static_cast<std::int64_t>(names->size()) > limits_.files_max) {
        return TooMuch("folder " + path + " has too many files", limits_.files_max, "files");
      }
      errno = 0;
    }
    return errno == 0 ? Status::Ok() : FileError("read folder", path, errno);
  }

  static Status TooMuch(const std::string& what, std::int64_t most, const char* unit) {
    return Status(StatusCode::kFailedPrecondition,
                  what + ": a save that is copied has at most " + std::to_string(most) + " " + unit);
  }

  static Status NotPlain(const std::string& path) {
    return Status(StatusCode::kFailedPrecondition,
                  path + " is neither a file nor a folder: a save that is copied has nothing else");
  }

  const TreeLimits limits_;
  const FolderOrder order_;
  const std::function<Status(const TreeEntry&)>& visit_;
  std::int64_t count_ = 0;
};

}  // namespace

bool IsLocalPath(const std::string& path) {
  if (path.empty() || path.size() > kLocalBytesMax || path.find('\0') != std::string::npos) return false;
  const std::string framed = "/" + path + "/";
  return framed.find("//") == std::string::npos && framed.find("/./") == std::string::npos &&
         framed.find("/../") == std::string::npos;
}

std::string OwnCheckpointFolder(const std::string& state_dir, std::uint64_t job) {
  return state_dir + "/checkpoints/" + std::to_string(job);
}

Result<UniqueFd> OpenFolder(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), kFolderFlags));
  if (!fd) return TreeError(path, errno);
  return fd;
}

Result<UniqueFd> OpenBelow(int folder, const std::string& local, int flags) {
  UniqueFd at(::openat(folder, ".", kFolderFlags));
  Status status = EachComponent(local, [&](const std::string& name, bool last) {
    UniqueFd next(::openat(at.get(), name.c_str(), last ? flags | O_NOFOLLOW | O_CLOEXEC : kFolderFlags));
    if (!next) return TreeError(local, errno);
    at = std::move(next);
    return Status::Ok();
  });
  if (!status.ok()) return status;
  return at;
}

Result<UniqueFd> MakeFoldersBelow(int folder, const std::string& local, const std::optional<TaskUser>& owner,
                                  Durability durability) {
  UniqueFd at(::openat(folder, ".", kFolderFlags));
  if (!at) return FileError("open", local, errno);
  if (local.empty()) return at;
  Status status = EachComponent(local, [&](const std::string& name, bool) {
    const bool made = ::mkdirat(at.get(), name.c_str(), 0700) == 0;
    if (!made && errno != EEXIST) return FileError("create folder", local, errno);
    UniqueFd next(::openat(at.get(), name.c_str(), kFolderFlags));
    if (!next) return TreeError(local, errno);
    if (made && owner && ::fchown(next.get(), owner->uid, owner->gid) != 0) {
      return FileError("give the task's user", local, errno);
    }
    if (made && durability == Durability::kMachine && ::fsync(at.get()) != 0) return FileError("sync", local, errno);
    at = std::move(next);
    return Status::Ok();
  });
  if (!status.ok()) return status;
  return at;
}

Status WalkTree(int folder, const std::string& local, const TreeLimits& limits, FolderOrder order,
                const std::function<Status(const TreeEntry&)>& visit) {
  const std::size_t slash = local.rfind('/');
  const std::string above = slash == std::string::npos ? "." : local.substr(0, slash);
  Result<UniqueFd> parent = OpenBelow(folder, above, kFolderFlags);
  if (!parent.ok()) return parent.status();
  return TreeWalk(limits, order, visit).Visit(parent->get(), local.substr(slash + 1), "", 0);
}

}  // namespace glim::nodeagent
