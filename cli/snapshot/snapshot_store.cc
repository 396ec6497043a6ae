#include "cli/snapshot/snapshot_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "cli/snapshot/no_snapshot.h"
#include "cli/text/file.h"
#include "cli/text/text.h"
#include "sdk/base/snapshot_name.h"
#include "sdk/io/trusted_folder.h"
#include "sdk/io/unique_fd.h"
#include "sdk/io/write_file.h"

namespace glim::cli {
namespace {

constexpr mode_t kFolderMode = 01733;
constexpr mode_t kArchiveMode = 0640;

Status CannotWrite(const std::string& path, const std::string& why) {
  const std::string folder = path.substr(0, path.rfind('/'));
  return NoSnapshot(
      fmt::format("cannot write {}: {}", Shown(path), why),
      fmt::format("let the folder {} be writable for you (mode 1733), or ask the operator", Shown(folder)));
}

// Whether the archive needs not be written: the very bytes are there. One of another user that cannot be read is taken
// for good if its size is right: agents look at the bytes before they use them.
bool IsThere(const std::string& path, std::string_view bytes) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  if (info.st_size != static_cast<off_t>(bytes.size())) return false;
  if (::access(path.c_str(), R_OK) != 0) return true;
  const Result<std::string> found = ReadFile(path, bytes.size());
  return found.ok() && *found == bytes;
}

// Of root's or of whom all of the root belongs to, and of nobody else: who owns it has everybody's archives.
Status FindFolder(const std::string& root, const std::string& folder) {
  const std::string to_make = fmt::format("ask the operator to make it: install -d -m 1733 {}", ShellQuote(folder));
  const UniqueFd above(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat info {};
  if (!above || ::fstat(above.get(), &info) != 0) {
    return NoSnapshot(fmt::format("cannot open {}: {}", Shown(root), std::strerror(errno)), to_make);
  }
  const std::string name(kSnapshotFolder);
  if (info.st_uid == ::geteuid()) (void)MakeTrusted(above.get(), name, kFolderMode);
  const TrustedFolder found = OpenTrusted(above.get(), name);
  if (found.error == 0) return Status::Ok();
  if (!found.why.empty()) return NoSnapshot(found.why, "tell the operator");
  return NoSnapshot(fmt::format("cannot open the folder {}: {}", Shown(folder), std::strerror(found.error)), to_make);
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
  const std::string folder = SnapshotFolder(root), path = SnapshotPath(root, sha256);
  if (Status status = FindFolder(root, folder); !status.ok()) return status;
  if (IsThere(path, bytes)) return Status::Ok();
  const Status status = WriteFileAtomically(path, bytes, {Durability::kMachine, kArchiveMode});
  return status.ok() ? status : CannotWrite(path, status.message());
}

}  // namespace glim::cli
