#include "sdk/checkpoint/directory/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "sdk/io/folders.h"
#include "sdk/io/io_error.h"
#include "sdk/io/read_file.h"
#include "sdk/io/retried.h"
#include "sdk/io/shared_folder.h"
#include "sdk/io/write_file.h"

namespace glim::checkpoint {
namespace {

// With errno when there is none.
UniqueFd Opened(int folder, const std::string& name, int flags) {
  int fd = -1;
  static_cast<void>(Retried([&] { return fd = ::openat(folder, name.c_str(), flags); }));
  return UniqueFd(fd);
}

}  // namespace

Result<UniqueFd> OpenFolder(int parent, const std::string& name) {
  if (Status status = CheckFileName(name); !status.ok()) return status;
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd folder = Opened(parent, name, kFlags);
  if (folder) return folder;
  const int error = errno;
  if (error != ENOTDIR && error != ELOOP) return ErrorIn(parent, name, "open", error);
  return Status(StatusCode::kFailedPrecondition, PathIn(parent, name) + " is a symbolic link or a file, not a folder")
      .WithField(PathIn(parent, name))
      .WithFix("remove it");
}

Result<UniqueFd> MakeFolder(int parent, const std::string& name) {
  if (Status status = CheckFileName(name); !status.ok()) return status;
  const bool made = ::mkdirat(parent, name.c_str(), 0700) == 0;
  if (!made && errno != EEXIST) return ErrorIn(parent, name, "create", errno);
  Result<UniqueFd> folder = OpenFolder(parent, name);
  if (!made || !folder.ok()) return folder;
  if (Status status = ShareFolder(parent, folder->get()); !status.ok()) return status;
  if (Status status = FlushFolder(parent); !status.ok()) return status;
  return folder;
}

Result<std::int64_t> SizeOfFile(int folder, const std::string& name) {
  if (Status status = CheckFileName(name); !status.ok()) return status;
  struct stat status {};
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::int64_t{-1};
    return ErrorIn(folder, name, "look at", errno);
  }
  return S_ISREG(status.st_mode) ? static_cast<std::int64_t>(status.st_size) : -1;
}

Result<std::string> ReadFile(int folder, const std::string& name, std::size_t max) {
  if (Status status = CheckFileName(name); !status.ok()) return status;
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;  // (O_NONBLOCK: a pipe would keep us)
  const UniqueFd fd = Opened(folder, name, kFlags);
  const auto bad = [&](const std::string& why) {
    return Status(StatusCode::kDataLoss, PathIn(folder, name) + " " + why).WithField(PathIn(folder, name));
  };
  if (!fd) return errno == ELOOP ? bad("is a symbolic link") : ErrorIn(folder, name, "open", errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return ErrorIn(folder, name, "look at", errno);
  if (!S_ISREG(status.st_mode)) return bad("is not a plain file");
  const auto too_long = [&] { return bad("is longer than the " + std::to_string(max) + " bytes that it may have"); };
  if (static_cast<std::uint64_t>(status.st_size) > max) return too_long();
  std::string text;
  const int error = ReadAll(fd.get(), max, text);
  if (error == EFBIG) return too_long();
  if (error != 0) return ErrorIn(folder, name, "read", error);
  if (text.size() < static_cast<std::size_t>(status.st_size)) return bad("ended before its size");
  return text;
}

Status RemoveFile(int folder, const std::string& name) {
  if (Status status = CheckFileName(name); !status.ok()) return status;
  if (::unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) return Status::Ok();
  return ErrorIn(folder, name, "remove", errno);
}

Status RemoveFolder(int parent, const std::string& name) {
  const Result<UniqueFd> folder = OpenFolder(parent, name);
  if (!folder.ok()) return folder.status().code() == StatusCode::kNotFound ? Status::Ok() : folder.status();
  auto entries = ListFolder(folder->get());
  if (!entries.ok()) return entries.status();
  // By name: a manifest and parts go before the shards, so that none ever names a shard that is gone.
  std::sort(entries->begin(), entries->end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (const FolderEntry& entry : *entries) {
    if (entry.is_folder) continue;
    if (Status status = RemoveFile(folder->get(), entry.name); !status.ok()) return status;
  }
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0) return Status::Ok();
  if (errno == ENOENT || errno == ENOTEMPTY || errno == EEXIST) return Status::Ok();
  return ErrorIn(parent, name, "remove", errno);
}

}  // namespace glim::checkpoint
