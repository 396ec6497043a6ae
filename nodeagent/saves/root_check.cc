#include "nodeagent/saves/root_check.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "nodeagent/os/files.h"
#include "nodeagent/saves/fetch_token.h"
#include "sdk/base/unique_fd.h"

namespace glim::nodeagent {
namespace {

bool IsMarkerName(const std::string& name) {
  return !name.empty() && name.size() <= kMarkerNameBytesMax && name != "." && name != ".." &&
         name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

bool IsMarker(const std::string& text) {
  return text.size() == kMarkerDigits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Result<std::string> ReadMarker(int root, const std::string& path, const std::string& name) {
  UniqueFd fd(::openat(root, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return FileError("open", path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return FileError("look at", path, errno);
  if (!S_ISREG(info.st_mode)) return Status(StatusCode::kFailedPrecondition, path + " is no file");
  char bytes[kMarkerDigits + 2];
  const ssize_t n = ::read(fd.get(), bytes, sizeof bytes);
  if (n < 0) return FileError("read", path, errno);
  std::string text(bytes, static_cast<std::size_t>(n));
  if (text.ends_with('\n')) text.pop_back();
  if (!IsMarker(text)) {
    return Status(StatusCode::kFailedPrecondition,
                  path + " does not hold 32 hexadecimal digits: remove it, and the agents make a new one");
  }
  return text;
}

// Written under a name of its own, and then given the marker's, which fails where somebody was faster.
Status MakeMarker(int root, const std::string& path, const std::string& name) {
  const std::string digits = MakeSaveKey().substr(0, kMarkerDigits);
  const std::string own = ".glim-marker-" + MakeSaveKey().substr(0, kMarkerDigits);
  UniqueFd fd(::openat(root, own.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!fd) return FileError("create", path, errno);
  const std::string line = digits + "\n";
  Status status;
  // Everybody may read it: the command line compares it with what it sees itself.
  if (::write(fd.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()) ||
      ::fchmod(fd.get(), 0644) != 0 || ::fsync(fd.get()) != 0) {
    status = FileError("write", path, errno);
  } else if (::linkat(root, own.c_str(), root, name.c_str(), 0) != 0 && errno != EEXIST) {
    // Not every file system has hard links.
    if (::renameat2(root, own.c_str(), root, name.c_str(), RENAME_NOREPLACE) != 0 && errno != EEXIST) {
      status = FileError("create", path, errno);
    }
  }
  (void)::unlinkat(root, own.c_str(), 0);
  (void)::fsync(root);
  return status;
}

}  // namespace

RootAnswer CheckRoot(const std::string& root, const std::string& marker) {
  if (root.empty() || root[0] != '/') return {"", "the checkpoint root \"" + root + "\" is no absolute path"};
  if (!IsMarkerName(marker)) return {"", "checkpoint_marker \"" + marker + "\" is no plain file name"};
  const UniqueFd folder(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return {"", FileError("open", root, errno).message()};
  const std::string path = root + "/" + marker;
  Result<std::string> text = ReadMarker(folder.get(), path, marker);
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) {
    if (Status status = MakeMarker(folder.get(), path, marker); !status.ok()) return {"", status.message()};
    text = ReadMarker(folder.get(), path, marker);
  }
  if (!text.ok()) return {"", text.status().message()};
  return {*text, ""};
}

}  // namespace glim::nodeagent
