#include "nodeagent/os/files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "sdk/base/unique_fd.h"

namespace glim::nodeagent {
namespace {

Status WriteAll(int fd, const std::string& path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError("write", path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return Status::Ok();
}

Status SyncFolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  UniqueFd fd(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return FileError("sync", folder, errno);
  return Status::Ok();
}

}  // namespace

Status FileError(std::string_view what, const std::string& path, int error) {
  const StatusCode code = error == ENOENT                      ? StatusCode::kNotFound
                          : error == EACCES || error == EPERM  ? StatusCode::kPermissionDenied
                          : error == ENOSPC || error == EDQUOT ? StatusCode::kResourceExhausted
                                                               : StatusCode::kInternal;
  return Status(code, "cannot " + std::string(what) + " " + path + ": " + std::strerror(error));
}

Status WriteFileAtomically(const std::string& path, std::string_view bytes, Durability durability) {
  const std::string temporary = path + ".tmp";
  {
    UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) return FileError("create", temporary, errno);
    if (Status status = WriteAll(fd.get(), temporary, bytes); !status.ok()) return status;
    if (durability == Durability::kMachine && ::fdatasync(fd.get()) != 0) return FileError("sync", temporary, errno);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) return FileError("rename", temporary, errno);
  return durability == Durability::kMachine ? SyncFolderOf(path) : Status::Ok();
}

Result<std::string> ReadFile(const std::string& path, std::size_t bytes_max) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return FileError("open", path, errno);
  std::string bytes;
  char buffer[16 * 1024];
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError("read", path, errno);
    if (n == 0) return bytes;
    bytes.append(buffer, static_cast<std::size_t>(n));
    if (bytes.size() > bytes_max) {
      return Status(StatusCode::kResourceExhausted, path + " is longer than " + std::to_string(bytes_max) + " bytes");
    }
  }
}

Status MakeFolder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return Status::Ok();
  if (errno != EEXIST) return FileError("create folder", path, errno);
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return FileError("look at", path, errno);
  return S_ISDIR(info.st_mode) ? Status::Ok() : FileError("use as a folder", path, ENOTDIR);
}

Status MakeFolders(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    if (Status status = MakeFolder(path.substr(0, slash)); !status.ok()) return status;
  }
  return MakeFolder(path);
}

Status MakePrivateFolder(const std::string& path) {
  if (Status status = MakeFolders(path); !status.ok()) return status;
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return FileError("look at", path, errno);
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 077) != 0) {
    return Status(StatusCode::kPermissionDenied, path + " is not a private folder of ours")
        .WithFix("let it belong to the agent's user with mode 0700");
  }
  return Status::Ok();
}

Status RemoveFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  return error ? FileError("remove", path, error.value()) : Status::Ok();
}

}  // namespace glim::nodeagent
