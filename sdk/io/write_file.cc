#include "sdk/io/write_file.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "sdk/io/io_error.h"
#include "sdk/io/random_bytes.h"
#include "sdk/io/retried.h"
#include "sdk/io/unique_fd.h"

namespace glim {
namespace {

// Unlike that of any other process, on this machine or another.
std::string UniqueName(const std::string& name) { return "." + name + "." + RandomHex(8) + ".tmp"; }

// A file beside, which goes when the object does unless it was given its name.
class TemporaryFile {
 public:
  TemporaryFile(int folder, const std::string& name, const WriteOptions& options)
      : folder_(folder), options_(options), name_(options.sole_writer ? name + ".tmp" : UniqueName(name)) {}
  ~TemporaryFile() {
    if (exists_) ::unlinkat(folder_, name_.c_str(), 0);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  Status Write(std::string_view bytes) {
    if (const int error = Create(); error != 0) return ErrorIn(folder_, name_, "create", error);
    while (!bytes.empty()) {
      ssize_t written = 0;
      const int error = Retried([&] { return written = ::write(fd_.get(), bytes.data(), bytes.size()); });
      if (error != 0) return ErrorIn(fd_.get(), "", "write", error);
      // A write of nothing is how some file systems say that they are full.
      if (written == 0) return ErrorIn(fd_.get(), "", "write", ENOSPC);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    if (options_.durability == Durability::kProcess) return Status::Ok();
    const int error = Retried([&] { return ::fsync(fd_.get()); });
    return error == 0 ? Status::Ok() : ErrorIn(fd_.get(), "", "flush", error);
  }

  // Takes the place of `name`.
  Status RenameTo(const std::string& name) {
    if (::renameat(folder_, name_.c_str(), folder_, name.c_str()) != 0) return ErrorIn(folder_, name, "publish", errno);
    exists_ = false;
    return Status::Ok();
  }

  // Becomes `name` if there is none. link() is exclusive on every file system that has it, NFS among them.
  Result<bool> LinkTo(const std::string& name) {
    if (::linkat(folder_, name_.c_str(), folder_, name.c_str(), 0) == 0) return true;
    const int error = errno;
    // A server whose answer was lost says EEXIST to the client's second try; the count of links tells.
    struct stat status {};
    if (::fstat(fd_.get(), &status) == 0 && status.st_nlink == 2) return true;
    if (error == EEXIST) return false;
    if (error != EPERM && error != EOPNOTSUPP && error != ENOSYS && error != EMLINK) {
      return ErrorIn(folder_, name, "publish", error);
    }
    // (The call itself: the library's wrapper came late.)
    if (::syscall(SYS_renameat2, folder_, name_.c_str(), folder_, name.c_str(), RENAME_NOREPLACE) == 0) {
      exists_ = false;
      return true;
    }
    if (errno == EEXIST) return false;
    return ErrorIn(folder_, name, "publish", errno);
  }

  // To be flushed with what it is in.
  UniqueFd TakeFd() { return std::move(fd_); }

 private:
  int Create() {
    const int flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | (options_.sole_writer ? O_TRUNC : O_EXCL);
    int fd = -1;
    // Never open to more than it will be, and then just as told: the umask takes from open()'s mode.
    const int error =
        Retried([&] { return fd = ::openat(folder_, name_.c_str(), flags, options_.mode ? 0600 : 0666); });
    if (error != 0) return error;
    fd_.Reset(fd);
    exists_ = true;
    return options_.mode ? Retried([&] { return ::fchmod(fd, *options_.mode); }) : 0;
  }

  int folder_;
  WriteOptions options_;
  std::string name_;
  UniqueFd fd_;
  bool exists_ = false;
};

// `file` was just written in it. fsync() takes no descriptor of a folder that we may not read: there all of the file
// system is flushed.
Status FlushIfDue(int folder, const UniqueFd& file, const WriteOptions& options) {
  if (options.durability == Durability::kProcess) return Status::Ok();
  if ((::fcntl(folder, F_GETFL) & O_PATH) == 0) return FlushFolder(folder);
  const int error = Retried([&] { return ::syncfs(file.get()); });
  return error == 0 ? Status::Ok() : ErrorIn(folder, "", "flush", error);
}

// One may write into a folder that one may not read: `snapshots`, mode 1733.
UniqueFd OpenFolder(const std::string& path) {
  UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder && errno == EACCES) folder.Reset(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  return folder;
}

}  // namespace

Status WriteFileIn(int folder, const std::string& name, std::string_view bytes, const WriteOptions& options) {
  if (Status status = CheckFileName(name); !status.ok()) return status;
  TemporaryFile temporary(folder, name, options);
  if (Status status = temporary.Write(bytes); !status.ok()) return status;
  if (Status status = temporary.RenameTo(name); !status.ok()) return status;
  return FlushIfDue(folder, temporary.TakeFd(), options);
}

Result<bool> CreateFileIn(int folder, const std::string& name, std::string_view bytes, const WriteOptions& options) {
  if (Status status = CheckFileName(name); !status.ok()) return status;
  Result<bool> created = false;
  UniqueFd file;
  {
    TemporaryFile temporary(folder, name, options);
    if (Status status = temporary.Write(bytes); !status.ok()) return status;
    created = temporary.LinkTo(name);
    file = temporary.TakeFd();
  }
  if (!created.ok()) return created;
  if (Status status = FlushIfDue(folder, file, options); !status.ok()) return status;
  return created;
}

Status WriteFileAtomically(const std::string& path, std::string_view bytes, const WriteOptions& options) {
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const UniqueFd folder = OpenFolder(parent);
  if (!folder) return FileError("write", path, errno);
  return WriteFileIn(folder.get(), path.substr(slash + 1), bytes, options);
}

Status ReplaceLink(int folder, const std::string& name, const std::string& target) {
  if (Status status = CheckFileName(name); !status.ok()) return status;
  const std::string temporary = UniqueName(name);
  if (::symlinkat(target.c_str(), folder, temporary.c_str()) != 0) return ErrorIn(folder, temporary, "create", errno);
  if (::renameat(folder, temporary.c_str(), folder, name.c_str()) == 0) return Status::Ok();
  const int error = errno;
  ::unlinkat(folder, temporary.c_str(), 0);
  return ErrorIn(folder, name, "publish", error);
}

bool IsTemporary(const std::string& name) { return name.starts_with(".") && name.ends_with(".tmp"); }

Status FlushFolder(int folder) {
  const int error = Retried([&] { return ::fsync(folder); });
  return error == 0 || error == EINVAL || error == EROFS ? Status::Ok() : ErrorIn(folder, "", "flush", error);
}

}  // namespace glim
