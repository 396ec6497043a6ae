#include "sdk/io/shared_folder.h"

#include <sys/stat.h>

#include <cerrno>

#include "sdk/io/io_error.h"

namespace glim {
namespace {

Status Set(int fd, mode_t mode) { return ::fchmod(fd, mode) == 0 ? Status::Ok() : ErrorIn(fd, "", "share", errno); }

}  // namespace

Result<NewModes> ModesIn(int folder) {
  struct stat info {};
  constexpr mode_t kShared = S_ISGID | S_IRGRP;
  if (::fstat(folder, &info) != 0) return ErrorIn(folder, "", "look at", errno);
  return (info.st_mode & kShared) == kShared ? NewModes{0640, 02750} : NewModes();
}

Status ShareFile(int parent, int file) {
  const Result<NewModes> modes = ModesIn(parent);
  if (!modes.ok() || modes->file == NewModes().file) return modes.status();
  return Set(file, modes->file);
}

Status ShareFolder(int parent, int folder) {
  const Result<NewModes> modes = ModesIn(parent);
  if (!modes.ok() || modes->folder == NewModes().folder) return modes.status();
  return Set(folder, modes->folder);
}

}  // namespace glim
