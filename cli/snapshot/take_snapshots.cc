#include "cli/snapshot/take_snapshots.h"

#include <unistd.h>

#include <map>

#include <fmt/format.h>

#include "cli/snapshot/git.h"
#include "cli/snapshot/snapshot_store.h"
#include "cli/snapshot/workdir_files.h"
#include "cli/text/words.h"
#include "sdk/base/snapshot_name.h"
#include "sdk/snapshot/archive.h"
#include "sdk/snapshot/sha256.h"

namespace glim::cli {
namespace {

struct Taken {
  glim::v1::Snapshot snapshot;
  std::string note;
};

Result<Taken> TakeOne(const SnapshotPlace& place, bool write, const std::string& workdir) {
  const GitState git = ReadGit(workdir);
  const Result<std::vector<snapshot::Entry>> entries = ListWorkdir(workdir, git.tracked);
  if (!entries.ok()) return entries.status();
  const Result<snapshot::Packed> packed = snapshot::Pack(workdir, *entries);
  if (!packed.ok()) return packed.status();
  const std::string sha256 = snapshot::Sha256Hex(packed->bytes);
  if (write) {
    if (Status status = StoreSnapshot(place.root, sha256, packed->bytes); !status.ok()) return status;
  }
  Taken taken;
  taken.snapshot.set_path(SnapshotPath(place.root, ::geteuid(), sha256));
  taken.snapshot.set_sha256(sha256);
  taken.snapshot.set_revision(git.revision);
  taken.snapshot.set_bytes(static_cast<std::int64_t>(packed->bytes.size()));
  taken.note = fmt::format("code of {}: {}, {} files, folders and links", workdir, SnapshotText(taken.snapshot),
                           entries->size());
  return taken;
}

}  // namespace

Status TakeSnapshots(const SnapshotPlace& place, bool write, const std::function<void(const std::string&)>& note,
                     std::vector<glim::v1::JobSpec>* specs) {
  if (Status status = CheckSnapshotRoot(place.root, place.marker); !status.ok()) return status;
  std::map<std::string, glim::v1::Snapshot> by_workdir;
  for (glim::v1::JobSpec& spec : *specs) {
    if (!spec.has_snapshot()) continue;
    const auto [known, fresh] = by_workdir.try_emplace(spec.workdir());
    if (fresh) {
      const Result<Taken> taken = TakeOne(place, write, spec.workdir());
      if (!taken.ok()) return taken.status();
      known->second = taken->snapshot;
      note(taken->note);
    }
    *spec.mutable_snapshot() = known->second;
  }
  return Status::Ok();
}

}  // namespace glim::cli
