#include "sdk/hfreduce/node/segment_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sdk/hfreduce/node/process_identity.h"

namespace glim::hfreduce {
namespace {

Status Failed(const std::string& what, int error) {
  const bool full = error == ENOSPC || error == EDQUOT || error == ENOMEM || error == EFBIG;
  return Status(full ? StatusCode::kResourceExhausted : StatusCode::kUnavailable, what + ": " + std::strerror(error));
}

// The fields that every version has at the same place.
struct Head {
  std::uint64_t magic = 0;
  std::uint64_t session = 0;
  ProcessIdentity owner;
};

bool ReadHead(int fd, Head* head) {
  // Plain bytes of fields that nobody changes once the file has a name.
  const auto read = [fd](auto* field, std::size_t offset) {
    return ::pread(fd, field, sizeof(*field), static_cast<off_t>(offset)) == static_cast<ssize_t>(sizeof(*field));
  };
  return read(&head->magic, offsetof(SegmentHeader, magic)) && head->magic == kLayoutMagic &&
         read(&head->session, offsetof(SegmentHeader, session)) &&
         read(&head->owner.pid, offsetof(SegmentHeader, owner_pid)) &&
         read(&head->owner.start_ticks, offsetof(SegmentHeader, owner_start_ticks));
}

int OpenExisting(const std::string& path) { return ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW); }

}  // namespace

Result<SegmentFile> SegmentFile::Make(const std::string& folder, std::uint64_t bytes) {
  SegmentFile file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file.fd_) return Failed("no shared segment in " + folder, errno);
  if (::ftruncate(file.fd_.get(), static_cast<off_t>(bytes)) != 0) {
    return Failed("a shared segment of " + std::to_string(bytes) + " bytes in " + folder, errno);
  }
  return file;
}

Status SegmentFile::Publish(const std::string& path) {
  const std::string self = "/proc/self/fd/" + std::to_string(fd_.get());
  while (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    if (errno != EEXIST) return Failed("naming " + path, errno);
    SegmentFile other(OpenExisting(path));
    if (!other.fd_) {
      if (errno == ENOENT) continue;
      return Failed(path, errno);
    }
    Head head;
    if (!ReadHead(other.fd_.get(), &head)) {
      return Status(StatusCode::kFailedPrecondition, path + " is no segment of ours").WithFix("remove " + path);
    }
    if (IsAlive(head.owner)) {
      return Status(StatusCode::kAlreadyExists,
                    path + " belongs to process " + std::to_string(head.owner.pid) + ", which is setting it up");
    }
    other.RemoveName(path);
  }
  return Status::Ok();
}

Result<SegmentFile::Found> SegmentFile::Find(const std::string& path, std::uint64_t session, SegmentFile* file) {
  SegmentFile found(OpenExisting(path));
  if (!found.fd_) {
    if (errno == ENOENT) return Found::kNothing;
    return Failed(path, errno);
  }
  struct stat info {};
  if (::fstat(found.fd_.get(), &info) != 0) return Failed(path, errno);
  if (info.st_uid != ::geteuid()) {
    return Status(StatusCode::kPermissionDenied, path + " belongs to user " + std::to_string(info.st_uid));
  }
  Head head;
  if (!ReadHead(found.fd_.get(), &head) || head.session != session) return Found::kNothing;
  if (!IsAlive(head.owner)) {
    found.RemoveName(path);
    return Found::kNothing;
  }
  *file = std::move(found);
  return Found::kUsable;
}

void SegmentFile::RemoveName(const std::string& path) {
  // Whoever removes a name holds the lock of its file: so that between the look and the removal nobody else removes it
  // and a new file takes the name. Locked: another one is at it.
  if (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) return;
  struct stat own {};
  struct stat named {};
  if (::fstat(fd_.get(), &own) == 0 && ::lstat(path.c_str(), &named) == 0 && own.st_ino == named.st_ino &&
      own.st_dev == named.st_dev) {
    (void)::unlink(path.c_str());
  }
  (void)::flock(fd_.get(), LOCK_UN);
}

Status SegmentFile::Reserve(std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return Status::Ok();
  int error = 0;
  do {
    error = ::posix_fallocate(fd_.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (error == EINTR);
  if (error == 0) return Status::Ok();
  return Failed("no memory for " + std::to_string(bytes) + " bytes of the shared segment", error);
}

}  // namespace glim::hfreduce
