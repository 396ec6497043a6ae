#include "sdk/checkpoint/io/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "sdk/checkpoint/io/dio_alignment.h"
#include "sdk/io/io_error.h"

namespace glim::checkpoint {

Result<std::unique_ptr<ReadFile>> ReadFile::Open(Channel& channel, int folder, const std::string& name, bool direct) {
  if (const Status status = CheckFileName(name); !status.ok()) return status;
  // Looked at before it is opened: the opening of a pipe would wait for its writer.
  struct stat found {};
  if (::fstatat(folder, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return Status(StatusCode::kDataLoss, name + " is missing");
    return IoError(errno, "look at " + name);
  }
  if (!S_ISREG(found.st_mode)) return Status(StatusCode::kDataLoss, name + " is not a file");
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW;
  auto file = std::make_unique<ReadFile>(channel);
  file->name_ = name;
  UniqueFd buffered(::openat(folder, name.c_str(), kFlags));
  if (!buffered) return IoError(errno, "open " + name);
  if (::fstat(buffered.get(), &found) != 0) return IoError(errno, "look at " + name);
  file->bytes_ = static_cast<std::uint64_t>(found.st_size);
  file->cache_.emplace(buffered.get(), file->bytes_);
  if (const Status status = file->Attach(std::move(buffered), file->buffered_); !status.ok()) return status;
  if (direct && channel.has_direct()) {
    // Where there is no O_DIRECT the page cache has to do.
    UniqueFd fd(::openat(folder, name.c_str(), kFlags | O_DIRECT));
    if (fd) {
      file->memory_alignment_ = DirectMemoryAlignment(fd.get());
      if (const Status status = file->Attach(std::move(fd), file->direct_); !status.ok()) return status;
    }
  }
  return file;
}

Status ReadFile::Attach(UniqueFd fd, UniqueFd& to) {
  if (const int error = channel_.Attach(fd.get()); error != 0) return IoError(error, "register " + name_);
  to = std::move(fd);
  return Status::Ok();
}

ReadFile::~ReadFile() {
  for (const UniqueFd* fd : {&buffered_, &direct_}) {
    if (*fd) channel_.Detach(fd->get());
  }
}

}  // namespace glim::checkpoint
