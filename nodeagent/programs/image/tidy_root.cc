#include "nodeagent/programs/image/tidy_root.h"

#include <fcntl.h>
#include <fts.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "sdk/io/io_error.h"
#include "sdk/io/read_file.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kAccountsBytesMax = 1 << 20;

// What a container's own file systems and the task's folders are mounted on.
constexpr const char* kFolders[] = {"dev", "etc", "proc", "run", "sys", "tmp", "var", "var/tmp"};
constexpr const char* kFiles[] = {"etc/passwd", "etc/group", "etc/hosts", "etc/hostname", "etc/resolv.conf"};

struct CloseTree {
  void operator()(FTS* tree) const { ::fts_close(tree); }
};

mode_t ModeOfFile(mode_t mode) {
  const mode_t kept = (mode & 0777) | 0444;
  return (kept & 0111) != 0 ? kept | 0111 : kept;
}

Status OpenUp(const std::string& root) {
  std::string path = root;
  char* roots[] = {path.data(), nullptr};
  const std::unique_ptr<FTS, CloseTree> tree(::fts_open(roots, FTS_PHYSICAL | FTS_XDEV, nullptr));
  if (!tree) return FileError("walk", root, errno);
  for (errno = 0; const FTSENT* entry = ::fts_read(tree.get()); errno = 0) {
    const char* name = entry->fts_accpath;
    int failed = 0;
    switch (entry->fts_info) {
      case FTS_D: failed = ::chmod(name, 0777); break;
      case FTS_F: failed = ::chmod(name, ModeOfFile(entry->fts_statp->st_mode)); break;
      case FTS_DEFAULT: failed = ::unlink(name); break;  // a device, a socket, a pipe
      case FTS_DNR:
      case FTS_ERR:
      case FTS_NS:
        errno = entry->fts_errno;
        failed = -1;
        break;
      default: break;
    }
    if (failed != 0) return FileError("open up", entry->fts_path, errno);
  }
  return errno == 0 ? Status::Ok() : FileError("walk", root, errno);
}

// As a program would that has this root: links lead to places in it.
UniqueFd OpenInside(int root, const std::string& path) {
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
}

bool IsProgram(int root, const std::string& path) {
  const UniqueFd file = OpenInside(root, path);
  struct stat info {};
  return file && ::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode) && (info.st_mode & 0111) != 0;
}

std::string TextOf(int root, const std::string& path) {
  const UniqueFd file = OpenInside(root, path);
  struct stat info {};
  std::string text;
  if (file && ::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode))
    (void)ReadAll(file.get(), kAccountsBytesMax, text);
  return text;
}

std::string LibcOf(int root) {
  for (const char* loader : {"lib64/ld-linux-x86-64.so.2", "lib/ld-linux-aarch64.so.1"}) {
    if (IsProgram(root, loader)) return "glibc";
  }
  for (const char* loader : {"lib/ld-musl-x86_64.so.1", "lib/ld-musl-aarch64.so.1"}) {
    if (IsProgram(root, loader)) return "musl";
  }
  return "";
}

Status MakeFolderIn(int root, const char* name) {
  struct stat info {};
  const bool there = ::fstatat(root, name, &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (there && S_ISDIR(info.st_mode)) return Status::Ok();
  if (there && ::unlinkat(root, name, 0) != 0) return FileError("replace", name, errno);
  if (::mkdirat(root, name, 0777) != 0) return FileError("make", name, errno);
  return ::fchmodat(root, name, 0777, 0) == 0 ? Status::Ok() : FileError("open up", name, errno);
}

Status MakeFileIn(int root, const char* name) {
  struct stat info {};
  const bool there = ::fstatat(root, name, &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (there && S_ISREG(info.st_mode)) return Status::Ok();
  if (there && ::unlinkat(root, name, S_ISDIR(info.st_mode) ? AT_REMOVEDIR : 0) != 0) {
    return FileError("replace", name, errno);
  }
  const UniqueFd made(::openat(root, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  return made ? Status::Ok() : FileError("make", name, errno);
}

}  // namespace

Result<ImageFacts> TidyRoot(const std::string& path) {
  const UniqueFd root(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root) return InvalidArgument("image", "the image has no folder for its root", "build it anew");
  if (Status status = OpenUp(path); !status.ok()) return status;
  ImageFacts facts;
  facts.passwd = TextOf(root.get(), "etc/passwd");
  facts.group = TextOf(root.get(), "etc/group");
  facts.libc = LibcOf(root.get());
  facts.shell = IsProgram(root.get(), "bin/bash") ? "/bin/bash" : "/bin/sh";
  if (!IsProgram(root.get(), facts.shell)) {
    return InvalidArgument("image", "the image has no /bin/sh, by which a job's command line is run",
                           "use one with a shell");
  }
  for (const char* folder : kFolders) {
    if (Status status = MakeFolderIn(root.get(), folder); !status.ok()) return status;
  }
  for (const char* file : kFiles) {
    if (Status status = MakeFileIn(root.get(), file); !status.ok()) return status;
  }
  return facts;
}

}  // namespace glim::nodeagent
