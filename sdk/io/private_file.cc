#include "sdk/io/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "sdk/io/io_error.h"
#include "sdk/io/read_file.h"
#include "sdk/io/unique_fd.h"

namespace glim {
namespace {

Status NotPrivate(const std::string& path, const std::string& what, std::string fix) {
  return Status(StatusCode::kPermissionDenied, path + " holds a secret, and " + what)
      .WithReason("NOT_PRIVATE")
      .WithField(path)
      .WithFix(std::move(fix));
}

}  // namespace

Result<std::string> ReadPrivateFile(const std::string& path, std::size_t bytes_max) {
  // Nonblocking: a pipe in the file's place must not hold the caller.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return FileError("open", path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return FileError("look at", path, errno);
  if (!S_ISREG(info.st_mode)) return InvalidArgument(path, path + " is no regular file", "name a file");
  if (info.st_uid != ::geteuid()) {
    return NotPrivate(path, "it belongs to another user", "chown it to the user that reads it");
  }
  if ((info.st_mode & 077U) != 0) return NotPrivate(path, "others may open it", "chmod 600 " + path);
  std::string text;
  const int error = ReadAll(fd.get(), bytes_max, text);
  if (error == EFBIG) {
    return Status(StatusCode::kResourceExhausted, path + " is longer than " + std::to_string(bytes_max) + " bytes");
  }
  if (error != 0) return FileError("read", path, error);
  return text;
}

}  // namespace glim
