#include "cli/snapshot/snapshot_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "cli/snapshot/no_snapshot.h"
#include "cli/text/file.h"
#include "cli/text/text.h"
#include "sdk/base/snapshot_name.h"
#include "sdk/io/write_file.h"

namespace glim::cli {
namespace {

constexpr mode_t kFolderMode = 01777;
constexpr mode_t kArchiveMode = 0640;

Status CannotWrite(const std::string& path, const std::string& why) {
  const std::string folder = path.substr(0, path.rfind('/'));
  return NoSnapshot(
      fmt::format("cannot write {}: {}", Shown(path), why),
      fmt::format("let the folder {} be writable for you (mode 1777), or ask the operator", Shown(folder)));
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

Status MakeFolder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0) {
    // Not by mkdir's mode: the umask would take from it.
    return ::chmod(folder.c_str(), kFolderMode) == 0 ? Status::Ok() : CannotWrite(folder, std::strerror(errno));
  }
  if (errno == EEXIST) return Status::Ok();
  return NoSnapshot(fmt::format("cannot make the folder {}: {}", Shown(folder), std::strerror(errno)),
                    fmt::format("ask the operator to make it, with mode 1777: mkdir -m 1777 {}", ShellQuote(folder)));
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
  if (Status status = MakeFolder(folder); !status.ok()) return status;
  if (IsThere(path, bytes)) return Status::Ok();
  const Status status = WriteFileAtomically(path, bytes, {Durability::kMachine, kArchiveMode});
  return status.ok() ? status : CannotWrite(path, status.message());
}

}  // namespace glim::cli
