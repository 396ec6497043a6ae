#include "nodeagent/os/process_lock.h"

#include <fcntl.h>

#include <cerrno>

#include "sdk/io/io_error.h"

namespace glim::nodeagent {

Result<ProcessLock> ProcessLock::Take(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return FileError("open", path, errno);
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(fd.get(), F_SETLK, &whole) == 0) return ProcessLock(std::move(fd));
  if (errno != EAGAIN && errno != EACCES) return FileError("lock", path, errno);
  return Status(StatusCode::kAlreadyExists, "another process has " + path);
}

}  // namespace glim::nodeagent
