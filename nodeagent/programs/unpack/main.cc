// glim-unpack ARCHIVE FOLDER [UID GID [GROUP...]]
//
// Unpacks the archive of a job's code, .../snapshots/UID/SHA256.tar.zst, into FOLDER, which is there and empty. The
// bytes are held against the hash in the name first. With UID, GID and further groups it opens the archive as that
// user, so that it is given what the user may read (or as who it is, in a folder that nobody else than its owner can
// list: who knows the name knows the bytes), and becomes that user before it reads a byte of it; whoever
// began as root sees nothing but FOLDER by then. Exit status 0, or 1 with one line on standard error that says why.
#include <fcntl.h>
#include <grp.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/base/snapshot_name.h"
#include "sdk/io/trusted_folder.h"
#include "sdk/io/unique_fd.h"
#include "sdk/snapshot/archive.h"
#include "sdk/snapshot/sha256.h"

namespace glim {
namespace {

Status Fault(const std::string& what) { return Status(StatusCode::kInternal, what + ": " + std::strerror(errno)); }

// `snapshots`, and the user's in it; one that another user owns, who could take archives away, is none.
Result<UniqueFd> OpenFolder(const SnapshotParts& parts) {
  const UniqueFd above(::open((std::string(parts.root) + "/").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!above) return Fault("its folder cannot be opened");
  TrustedFolder found = OpenTrusted(above.get(), std::string(kSnapshotFolder));
  if (found.error == 0 && parts.uid) found = OpenTrusted(found.fd.get(), std::to_string(*parts.uid), *parts.uid);
  if (!found.why.empty()) return Status(StatusCode::kPermissionDenied, found.why);
  errno = found.error;
  return found.error == 0 ? Result<UniqueFd>(std::move(found.fd)) : Fault("its folder cannot be opened");
}

// Not a pipe or a device that somebody put there, nor what a link leads to.
Result<UniqueFd> Open(const SnapshotParts& parts) {
  const Result<UniqueFd> folder = OpenFolder(parts);
  if (!folder.ok()) return folder.status();
  const std::string name = std::string(parts.sha256) + std::string(kSnapshotSuffix);
  UniqueFd fd(::openat(folder->get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) return Fault("it cannot be opened");
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return Fault("it cannot be looked at");
  if (!S_ISREG(info.st_mode)) return Status(StatusCode::kInvalidArgument, "it is no file");
  if (info.st_size > kSnapshotArchiveBytesMax) return Status(StatusCode::kInvalidArgument, "it is too large");
  // Archives are removed by age (docs/operations/saves.md): this one is in use. Where its owner is another, nothing is
  // done.
  (void)::futimens(fd.get(), nullptr);
  return fd;
}

Result<std::string> Read(int fd) {
  std::string bytes, buffer(1 << 20, '\0');
  for (;;) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Fault("it cannot be read");
    if (n == 0) return bytes;
    bytes.append(buffer.data(), static_cast<std::size_t>(n));
    if (bytes.size() > static_cast<std::size_t>(kSnapshotArchiveBytesMax)) {
      return Status(StatusCode::kInvalidArgument, "it is too large");
    }
  }
}

bool ParseId(const char* text, unsigned int* id) {
  const char* end = text + std::strlen(text);
  const auto [read, error] = std::from_chars(text, end, *id);
  return error == std::errc() && read == end;
}

// UID GID [GROUP...]
struct User {
  unsigned int uid = 0, gid = 0;
  std::vector<gid_t> groups;
};

Result<User> ParseUser(char** words, int count) {
  User user;
  bool good = count >= 2 && ParseId(words[0], &user.uid) && ParseId(words[1], &user.gid);
  for (int i = 2; i < count && good; ++i) good = ParseId(words[i], &user.groups.emplace_back());
  if (good) return user;
  return Status(StatusCode::kInvalidArgument, "UID, GID and GROUP are numbers");
}

// Whether whoever names an archive there knows its hash, and so its bytes: nobody but root, and whose the archives are,
// can list the folder.
bool IsClosedBox(const SnapshotParts& parts) {
  const Result<UniqueFd> folder = OpenFolder(parts);
  struct stat info {};
  return folder.ok() && ::fstat(folder->get(), &info) == 0 && (info.st_mode & 044) == 0 &&
         (info.st_uid == 0 || info.st_uid == parts.uid);
}

// As for files; what only root may do is still possible.
Status LookAs(const User& user) {
  if (::setgroups(user.groups.size(), user.groups.data()) != 0) return Fault("cannot take the task's user's groups");
  ::setfsgid(user.gid);
  ::setfsuid(user.uid);
  return Status::Ok();
}

Status Become(const User& user) {
  if (::setgid(user.gid) != 0 || ::setuid(user.uid) != 0) return Fault("cannot become the task's user");
  return Status::Ok();
}

Status Run(int argc, char** argv) {
  if (argc != 3 && argc < 5) {
    return Status(StatusCode::kInvalidArgument, "use: glim-unpack ARCHIVE FOLDER [UID GID [GROUP...]]");
  }
  const std::string path = argv[1];
  const std::optional<SnapshotParts> archive = ParseSnapshotPath(path);
  if (!archive) return Status(StatusCode::kInvalidArgument, "its name is not snapshots/UID/SHA256.tar.zst");
  // The folder lies in one that is closed to the task's user.
  const UniqueFd folder(::open(argv[2], O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  std::optional<User> user;
  if (argc >= 5) {
    Result<User> parsed = ParseUser(argv + 3, argc - 3);
    if (!parsed.ok()) return parsed.status();
    user = std::move(*parsed);
    if (Status status = LookAs(*user); !status.ok()) return status;
  }
  Result<UniqueFd> fd = Open(*archive);
  if (user) ::setfsuid(::geteuid());
  if (user && !fd.ok() && IsClosedBox(*archive)) fd = Open(*archive);
  if (!fd.ok()) return fd.status();
  (void)::futimens(fd->get(), nullptr);  // in use by somebody who does not own it, too
  if (!folder || ::fchdir(folder.get()) != 0) return Fault(std::string("cannot go to ") + argv[2]);
  if (::geteuid() == 0 && ::chroot(".") != 0) return Fault("chroot");
  if (user) {
    if (Status status = Become(*user); !status.ok()) return status;
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Fault("prctl");
  const Result<std::string> bytes = Read(fd->get());
  if (!bytes.ok()) return bytes.status();
  if (snapshot::Sha256Hex(*bytes) != archive->sha256) {
    return Status(StatusCode::kDataLoss, "it is corrupt: its bytes do not have the hash that is its name");
  }
  return snapshot::Unpack(*bytes, folder.get());
}

}  // namespace
}  // namespace glim

int main(int argc, char** argv) {
  const glim::Status status = glim::Run(argc, argv);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  // At once: what would look around at the end (a sanitizer's search for leaks) sees nothing from this root.
  ::_exit(status.ok() ? 0 : 1);
}
