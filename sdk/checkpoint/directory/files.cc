#include "sdk/checkpoint/directory/files.h"

#include <dirent.h>
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
#include <cstring>
#include <memory>

#include "sdk/checkpoint/io/io_error.h"
#include "sdk/checkpoint/io/retry.h"

namespace glim::checkpoint {
namespace {

// Where an open folder is now, for messages.
std::string PathIn(int folder, const std::string& name) {
  std::array<char, 4096> buffer;
  const ssize_t length = ::readlink(("/proc/self/fd/" + std::to_string(folder)).c_str(), buffer.data(), buffer.size());
  std::string path = length > 0 ? std::string(buffer.data(), static_cast<std::size_t>(length)) : "(folder)";
  return name.empty() ? path : path + "/" + name;
}

Status ErrorIn(int folder, const std::string& name, const std::string& what, int error) {
  const std::string path = PathIn(folder, name);
  return IoError(error, what + " " + path).WithField(path);
}

// With errno when there is none.
UniqueFd Opened(int folder, const std::string& name, int flags) {
  int fd = -1;
  static_cast<void>(Retried([&] { return fd = ::openat(folder, name.c_str(), flags, 0666); }));
  return UniqueFd(fd);
}

// Unlike that of any other process, on this machine or another.
std::string TemporaryName(const std::string& name) {
  auto number = static_cast<std::uint64_t>(::getpid());
  static_cast<void>(::getrandom(&number, sizeof number, GRND_NONBLOCK));
  std::array<char, 24> text;
  std::snprintf(text.data(), text.size(), ".%016llx.tmp", static_cast<unsigned long long>(number));
  return "." + name + text.data();
}

Status WriteAll(int fd, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    ssize_t written = 0;
    const int error = Retried([&] { return written = ::write(fd, text.data() + done, text.size() - done); });
    if (error != 0) return ErrorIn(fd, "", "write", error);
    // A write of nothing is how some file systems say that they are full.
    if (written == 0) return ErrorIn(fd, "", "write", ENOSPC);
    done += static_cast<std::size_t>(written);
  }
  const int error = Retried([&] { return ::fsync(fd); });
  return error == 0 ? Status::Ok() : ErrorIn(fd, "", "flush", error);
}

// A file with `text` in it, flushed, under a name of its own, which goes when the object does.
class Temporary {
 public:
  Temporary(int folder, const std::string& name) : folder_(folder), name_(TemporaryName(name)) {}
  ~Temporary() {
    if (exists_) ::unlinkat(folder_, name_.c_str(), 0);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  Status Write(const std::string& text) {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    fd_ = Opened(folder_, name_, kFlags);
    if (!fd_) return ErrorIn(folder_, name_, "create", errno);
    exists_ = true;
    return WriteAll(fd_.get(), text);
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

 private:
  int folder_;
  std::string name_;
  UniqueFd fd_;
  bool exists_ = false;
};

}  // namespace

Result<UniqueFd> OpenFolder(int parent, const std::string& name) {
  if (Status status = CheckFileName(name); !status.ok()) return status;
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd folder = Opened(parent, name, kFlags);
  if (folder) return folder;
  const int error = errno;
  if (error != ENOTDIR && error != ELOOP) return ErrorIn(parent, name, "open", error);
  return Status(StatusCode::kFailedPrecondition, PathIn(parent, name) + " is a symbolic link or a file, not a folder")
      .WithField(PathIn(parent, name))
      .WithFix("remove it");
}

Result<UniqueFd> MakeFolder(int parent, const std::string& name) {
  if (Status status = CheckFileName(name); !status.ok()) return status;
  const bool made = ::mkdirat(parent, name.c_str(), 0777) == 0;
  if (!made && errno != EEXIST) return ErrorIn(parent, name, "create", errno);
  if (made) {
    if (Status status = Flush(parent); !status.ok()) return status;
  }
  return OpenFolder(parent, name);
}

Status Flush(int folder) {
  const int error = Retried([&] { return ::fsync(folder); });
  return error == 0 || error == EINVAL || error == EROFS ? Status::Ok() : ErrorIn(folder, "", "flush", error);
}

Result<std::vector<Entry>> List(int folder) {
  // Opened anew: a copy of the descriptor would share the place where another listing is.
  UniqueFd own = Opened(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (!own) return ErrorIn(folder, "", "list", errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(own.get()), &::closedir);
  if (!stream) return ErrorIn(folder, "", "list", errno);
  own.Release();
  std::vector<Entry> entries;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) {
      if (errno != 0) return ErrorIn(folder, "", "list", errno);
      return entries;
    }
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    bool is_folder = entry->d_type == DT_DIR;
    if (entry->d_type == DT_UNKNOWN) {  // some file systems do not say
      struct stat status {};
      if (::fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0) is_folder = S_ISDIR(status.st_mode);
    }
    entries.push_back({entry->d_name, is_folder});
  }
}

Result<std::int64_t> SizeOfFile(int folder, const std::string& name) {
  if (Status status = CheckFileName(name); !status.ok()) return status;
  struct stat status {};
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::int64_t{-1};
    return ErrorIn(folder, name, "look at", errno);
  }
  return S_ISREG(status.st_mode) ? static_cast<std::int64_t>(status.st_size) : -1;
}

Result<std::string> ReadFile(int folder, const std::string& name, std::size_t max) {
  if (Status status = CheckFileName(name); !status.ok()) return status;
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;  // (O_NONBLOCK: a pipe would keep us)
  const UniqueFd fd = Opened(folder, name, kFlags);
  const auto bad = [&](const std::string& why) {
    return Status(StatusCode::kDataLoss, PathIn(folder, name) + " " + why).WithField(PathIn(folder, name));
  };
  if (!fd) return errno == ELOOP ? bad("is a symbolic link") : ErrorIn(folder, name, "open", errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return ErrorIn(folder, name, "look at", errno);
  if (!S_ISREG(status.st_mode)) return bad("is not a plain file");
  const auto too_long = [&] { return bad("is longer than the " + std::to_string(max) + " bytes that it may have"); };
  if (static_cast<std::uint64_t>(status.st_size) > max) return too_long();
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    ssize_t got = 0;
    const int error = Retried([&] { return got = ::read(fd.get(), text.data() + done, text.size() - done); });
    if (error != 0) return ErrorIn(folder, name, "read", error);
    if (got == 0) return bad("ended before its size");
    done += static_cast<std::size_t>(got);
  }
  return text;
}

Status Replace(int folder, const std::string& name, const std::string& text) {
  if (Status status = CheckFileName(name); !status.ok()) return status;
  Temporary temporary(folder, name);
  if (Status status = temporary.Write(text); !status.ok()) return status;
  if (Status status = temporary.RenameTo(name); !status.ok()) return status;
  return Flush(folder);
}

Result<bool> CreateExclusively(int folder, const std::string& name, const std::string& text) {
  if (Status status = CheckFileName(name); !status.ok()) return status;
  Result<bool> created = false;
  {
    Temporary temporary(folder, name);
    if (Status status = temporary.Write(text); !status.ok()) return status;
    created = temporary.LinkTo(name);
  }
  if (!created.ok()) return created;
  if (Status status = Flush(folder); !status.ok()) return status;
  return created;
}

Status ReplaceLink(int folder, const std::string& name, const std::string& target) {
  if (Status status = CheckFileName(name); !status.ok()) return status;
  const std::string temporary = TemporaryName(name);
  if (::symlinkat(target.c_str(), folder, temporary.c_str()) != 0) return ErrorIn(folder, temporary, "create", errno);
  if (::renameat(folder, temporary.c_str(), folder, name.c_str()) == 0) return Status::Ok();
  const int error = errno;
  ::unlinkat(folder, temporary.c_str(), 0);
  return ErrorIn(folder, name, "publish", error);
}

bool IsTemporary(const std::string& name) { return name.starts_with(".") && name.ends_with(".tmp"); }

Status RemoveFile(int folder, const std::string& name) {
  if (Status status = CheckFileName(name); !status.ok()) return status;
  if (::unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) return Status::Ok();
  return ErrorIn(folder, name, "remove", errno);
}

Status RemoveFolder(int parent, const std::string& name) {
  const Result<UniqueFd> folder = OpenFolder(parent, name);
  if (!folder.ok()) return folder.status().code() == StatusCode::kNotFound ? Status::Ok() : folder.status();
  const auto entries = List(folder->get());
  if (!entries.ok()) return entries.status();
  for (const Entry& entry : *entries) {
    if (entry.is_folder) continue;
    if (Status status = RemoveFile(folder->get(), entry.name); !status.ok()) return status;
  }
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0) return Status::Ok();
  if (errno == ENOENT || errno == ENOTEMPTY || errno == EEXIST) return Status::Ok();
  return ErrorIn(parent, name, "remove", errno);
}

}  // namespace glim::checkpoint
