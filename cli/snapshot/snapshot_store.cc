#include "cli/snapshot/snapshot_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/snapshot/no_snapshot.h"
#include "cli/text/text.h"
#include "sdk/base/snapshot_name.h"
#include "sdk/io/read_file.h"
#include "sdk/io/trusted_folder.h"
#include "sdk/io/unique_fd.h"
#include "sdk/io/write_file.h"

namespace glim::cli {
namespace {

constexpr mode_t kFolderMode = 01733;
constexpr mode_t kOwnMode = 0700;
constexpr mode_t kOwnModeForGroup = 0710;
constexpr mode_t kArchiveMode = 0640;

Status CannotWrite(const std::string& folder, const std::string& why) {
  return NoSnapshot(fmt::format("cannot write into {}: {}", Shown(folder), why),
                    fmt::format("let {} be writable for you (mode 1733), and {} be yours, or ask the operator",
                                Shown(folder.substr(0, folder.rfind('/'))), Shown(folder)));
}

// Whether the archive needs not be written: the very bytes are there.
bool IsThere(int folder, const std::string& name, std::string_view bytes) {
  const UniqueFd fd(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  if (info.st_size != static_cast<off_t>(bytes.size())) return false;
  std::string found;
  return ReadAll(fd.get(), bytes.size(), found) == 0 && found == bytes;
}

// `snapshots`: of root's or of whom all of the root belongs to, and of nobody else: who owns it has everybody's
// archives.
Result<UniqueFd> FindFolder(const std::string& root, const std::string& folder) {
  const std::string to_make = fmt::format("ask the operator to make it: install -d -m 1733 {}", ShellQuote(folder));
  const UniqueFd above(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat info {};
  if (!above || ::fstat(above.get(), &info) != 0) {
    return NoSnapshot(fmt::format("cannot open {}: {}", Shown(root), std::strerror(errno)), to_make);
  }
  const std::string name(kSnapshotFolder);
  if (info.st_uid == ::geteuid()) (void)MakeTrusted(above.get(), name, kFolderMode);
  TrustedFolder found = OpenTrusted(above.get(), name);
  if (found.error == 0) return std::move(found.fd);
  if (!found.why.empty()) return NoSnapshot(found.why, "tell the operator");
  return NoSnapshot(fmt::format("cannot open the folder {}: {}", Shown(folder), std::strerror(found.error)), to_make);
}

int MakeOwn(int above, const std::string& name) {
  struct stat info {};
  if (::fstat(above, &info) != 0) return errno;
  if ((info.st_mode & S_ISGID) == 0) return MakeTrusted(above, name, kOwnMode);
  // Not by fchmod(): from who is not in the folder's group it takes the bit that hands the group on.
  const mode_t umask_before = ::umask(0);
  const int error = ::mkdirat(above, name.c_str(), kOwnModeForGroup) == 0 || errno == EEXIST ? 0 : errno;
  ::umask(umask_before);
  return error;
}

// The user's own in it. Whoever made it first has it: a stranger who did is known by that.
Result<UniqueFd> FindOwnFolder(int above, const std::string& folder) {
  const std::string name = folder.substr(folder.rfind('/') + 1);
  if (const int error = MakeOwn(above, name); error != 0) return CannotWrite(folder, std::strerror(error));
  const TrustedFolder found = OpenTrusted(above, name);
  if (!found.why.empty()) return NoSnapshot(found.why, "tell the operator: your archives are to lie there");
  if (found.error != 0) return CannotWrite(folder, std::strerror(found.error));
  UniqueFd own(::openat(found.fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (own) return own;
  return CannotWrite(folder, std::strerror(errno));
}

}  // namespace

Status CheckSnapshotRoot(const std::string& root, const std::string& marker) {
  if (root.empty()) {
    return NoSnapshot("this cluster has no folder for snapshots of code",
                      "the operator sets 'checkpoint_root' in the policy; until then leave out --snapshot and "
                      "'code: snapshot'");
  }
  struct stat info {};
  const std::string path = root + "/" + marker;
  if (!marker.empty() && ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) return Status::Ok();
  return NoSnapshot(
      fmt::format("this host does not see the cluster's checkpoint root: there is no {}", Shown(path)),
      fmt::format("submit from a host that has the cluster's file system at {}, or leave out --snapshot and "
                  "'code: snapshot'",
                  Shown(root)));
}

Status StoreSnapshot(const std::string& root, std::string_view sha256, std::string_view bytes) {
  const std::string path = SnapshotPath(root, ::geteuid(), sha256);
  const std::size_t slash = path.rfind('/');
  const std::string folder = path.substr(0, slash), name = path.substr(slash + 1);
  const Result<UniqueFd> all = FindFolder(root, SnapshotFolder(root));
  if (!all.ok()) return all.status();
  const Result<UniqueFd> own = FindOwnFolder(all->get(), folder);
  if (!own.ok()) return own.status();
  if (IsThere(own->get(), name, bytes)) return Status::Ok();
  const Status status = WriteFileIn(own->get(), name, bytes, {Durability::kMachine, kArchiveMode});
  return status.ok() ? status : CannotWrite(folder, status.message());
}

}  // namespace glim::cli
