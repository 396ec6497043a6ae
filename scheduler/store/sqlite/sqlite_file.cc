#include "scheduler/store/sqlite/sqlite_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace glim::store {

namespace {

namespace fs = std::filesystem;

Status SystemError(const std::string& what, int error) {
  const auto code = error == ENOSPC || error == EDQUOT ? StatusCode::kResourceExhausted : StatusCode::kUnavailable;
  return Status(code, fmt::format("{}: {}", what, std::strerror(error)))
      .WithReason(code == StatusCode::kResourceExhausted ? "STORE_FULL" : "STORE_IO")
      .WithFix("check the path, its owner and its permissions");
}

// So that a name outlives a power cut.
Status SyncDirectory(const fs::path& directory) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return SystemError("open " + directory.string(), errno);
  const int error = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  return error == 0 ? Status::Ok() : SystemError("fsync " + directory.string(), error);
}

Status MakeDirectories(const fs::path& directory) {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path at = directory; !fs::exists(at, error); at = at.parent_path()) {
    if (error) return SystemError(at.string(), error.value());
    missing.push_back(at);
  }
  for (auto it = missing.rbegin(); it != missing.rend(); ++it) {
    if (::mkdir(it->c_str(), 0700) != 0 && errno != EEXIST) return SystemError("mkdir " + it->string(), errno);
    if (Status s = SyncDirectory(it->parent_path()); !s.ok()) return s;
  }
  return Status::Ok();
}

// An open, private file; the caller closes it.
Result<int> OpenPrivate(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return SystemError("open " + path, errno);
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    const int error = S_ISREG(info.st_mode) ? errno : EINVAL;
    ::close(fd);
    return SystemError(path + " is not a regular file", error);
  }
  if ((info.st_mode & 077) != 0 && ::fchmod(fd, info.st_mode & 0700) != 0) {
    const int error = errno;
    ::close(fd);
    return SystemError("chmod " + path, error);
  }
  return fd;
}

}  // namespace

Result<SqliteFile> SqliteFile::Claim(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  if (error || !absolute.has_filename()) return SystemError("\"" + path + "\" is not a file's path", EINVAL);
  if (Status s = MakeDirectories(absolute.parent_path()); !s.ok()) return s;
  const fs::path canonical = fs::weakly_canonical(absolute, error);
  if (error) return SystemError(absolute.string(), error.value());
  if (fs::exists(canonical, error) && !fs::is_regular_file(canonical, error)) {
    return SystemError(canonical.string() + " is not a regular file", EINVAL);
  }

  auto lock = OpenPrivate(canonical.string() + ".lock");
  if (!lock.ok()) return lock.status();
  SqliteFile file(canonical.string(), *lock);
  if (::flock(*lock, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return SystemError("lock " + file.path_, errno);
    return Status(StatusCode::kFailedPrecondition, "another scheduler has this database open: " + file.path_)
        .WithReason("STORE_LOCKED")
        .WithFix("stop the other scheduler first; for a standby use PostgreSQL");
  }
  // Only now: closing a descriptor of the database drops the locks that SQLite holds on it within this process.
  auto database = OpenPrivate(file.path_);
  if (!database.ok()) return database.status();
  ::close(*database);
  if (Status s = SyncDirectory(canonical.parent_path()); !s.ok()) return s;
  return file;
}

SqliteFile::SqliteFile(SqliteFile&& other) noexcept
    : path_(std::move(other.path_)), lock_fd_(std::exchange(other.lock_fd_, -1)) {}

SqliteFile& SqliteFile::operator=(SqliteFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_fd_, other.lock_fd_);
  return *this;
}

SqliteFile::~SqliteFile() {
  if (lock_fd_ >= 0) ::close(lock_fd_);
}

}  // namespace glim::store
