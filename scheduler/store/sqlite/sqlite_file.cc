#include "scheduler/store/sqlite/sqlite_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <fmt/format.h>

#include "sdk/io/unique_fd.h"

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
  const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return SystemError("open " + directory.string(), errno);
  return ::fsync(fd.get()) == 0 ? Status::Ok() : SystemError("fsync " + directory.string(), errno);
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

// An open, private file.
Result<UniqueFd> OpenPrivate(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return SystemError("open " + path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return SystemError("look at " + path, errno);
  if (!S_ISREG(info.st_mode)) return SystemError(path + " is not a regular file", EINVAL);
  if ((info.st_mode & 077) != 0 && ::fchmod(fd.get(), info.st_mode & 0700) != 0) {
    return SystemError("chmod " + path, errno);
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
  SqliteFile file(canonical.string(), std::move(lock).value());
  if (::flock(file.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return SystemError("lock " + file.path_, errno);
    return Status(StatusCode::kFailedPrecondition, "another scheduler has this database open: " + file.path_)
        .WithReason("STORE_LOCKED")
        .WithFix("stop the other scheduler first: one scheduler leads a cluster, and none waits beside it");
  }
  // Only now: closing a descriptor of the database drops the locks that SQLite holds on it within this process.
  if (auto database = OpenPrivate(file.path_); !database.ok()) return database.status();
  if (Status s = SyncDirectory(canonical.parent_path()); !s.ok()) return s;
  return file;
}

}  // namespace glim::store
