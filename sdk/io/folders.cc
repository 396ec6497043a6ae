#include "sdk/io/folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "sdk/io/io_error.h"
#include "sdk/io/unique_fd.h"

namespace glim {

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
        .WithFix("let it belong to this program's user with mode 0700");
  }
  return Status::Ok();
}

Status RemoveFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  return error ? FileError("remove", path, error.value()) : Status::Ok();
}

Result<std::vector<FolderEntry>> ListFolder(int folder) {
  // Opened anew: a copy of the descriptor would share the place where another listing is.
  UniqueFd own(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own) return ErrorIn(folder, "", "list", errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(own.get()), &::closedir);
  if (!stream) return ErrorIn(folder, "", "list", errno);
  (void)own.Release();  // the stream's
  std::vector<FolderEntry> entries;
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

}  // namespace glim
