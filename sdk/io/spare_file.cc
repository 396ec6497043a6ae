#include "sdk/io/spare_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "sdk/io/io_error.h"
#include "sdk/io/retried.h"
#include "sdk/io/unique_fd.h"

namespace glim {

Status SpareFile::Take() {
  if (held_) return Status::Ok();
  const UniqueFd fd(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return FileError("create", path_, errno);
  // Where the file system cannot take blocks beforehand, the library writes to each of them.
  int error = 0;
  do {
    error = ::posix_fallocate(fd.get(), 0, bytes_);
  } while (error == EINTR);
  if (error != 0) {
    ::unlink(path_.c_str());
    return FileError("take room for", path_, error);
  }
  held_ = true;
  return Status::Ok();
}

Status SpareFile::Write(const std::string& target, std::string_view content, Durability durability) {
  Status status = WriteFileAtomically(target, content, durability);
  if (!IsDiskFull(status) || !held_ || static_cast<std::int64_t>(content.size()) > bytes_) return status;
  // What is wrong with the spare does not matter: the disk is full.
  return Become(target, content, durability).ok() ? Status::Ok() : status;
}

Status SpareFile::Become(const std::string& target, std::string_view content, Durability durability) {
  const UniqueFd fd(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) {
    held_ = false;
    return FileError("open", path_, errno);
  }
  for (std::size_t done = 0; done < content.size();) {
    ssize_t written = 0;
    const int error = Retried([&] {
      return written = ::pwrite(fd.get(), content.data() + done, content.size() - done, static_cast<off_t>(done));
    });
    if (error != 0 || written == 0) return FileError("write", path_, error != 0 ? error : ENOSPC);
    done += static_cast<std::size_t>(written);
  }
  if (::ftruncate(fd.get(), static_cast<off_t>(content.size())) != 0) return FileError("cut", path_, errno);
  const bool machine = durability == Durability::kMachine;
  if (machine && Retried([&] { return ::fsync(fd.get()); }) != 0) return FileError("flush", path_, errno);
  if (::rename(path_.c_str(), target.c_str()) != 0) return FileError("publish", target, errno);
  held_ = false;
  if (!machine) return Status::Ok();
  const UniqueFd folder(::open(target.substr(0, target.rfind('/') + 1).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return folder ? FlushFolder(folder.get()) : FileError("flush", target, errno);
}

void SpareFile::Drop() {
  ::unlink(path_.c_str());
  held_ = false;
}

}  // namespace glim
