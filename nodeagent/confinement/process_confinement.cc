#include "nodeagent/confinement/process_confinement.h"

#include <sys/stat.h>

#include <cerrno>

#include "nodeagent/confinement/confinement.h"
#include "nodeagent/task/start_fault.h"
#include "sdk/io/folders.h"
#include "sdk/io/io_error.h"

namespace glim::nodeagent {
namespace {

constexpr const char* kFix = "run the node's agent with --runtime runc";

// Not the order's fault: a node with containers would do it.
Status NotHere(const std::string& field, const std::string& message) {
  return Status(StatusCode::kFailedPrecondition, message).WithField(field).WithFix(kFix);
}

Status RefuseLimit(const char* field, std::int64_t amount) {
  if (amount == 0) return Status::Ok();
  return NotHere(field, std::string(field) + " cannot be kept on this node, which runs plain processes");
}

class ProcessConfinement final : public Confinement {
 public:
  std::string name() const override { return "process"; }

  Status Prepare(const TaskPaths&, LaunchSpec* spec) const override {
    for (std::size_t i = 0; i < spec->mounts.size(); ++i) {
      const Mount& mount = spec->mounts[i];
      const std::string field = "mounts[" + std::to_string(i) + "]";
      if (mount.source != mount.target) {
        return NotHere(field + ".target",
                       field + ": this node runs plain processes, which see " + mount.source + " at its own path only");
      }
      struct stat info {};
      if (::stat(mount.source.c_str(), &info) == 0) continue;
      return errno == ENOENT ? PathMissing(field + ".source", mount.source) : FileError("mount", mount.source, errno);
    }
    for (const Status& status :
         {RefuseLimit("limits.memory", spec->limits.memory_bytes), RefuseLimit("limits.cpus", spec->limits.cpu_millis),
          RefuseLimit("limits.pids", spec->limits.pids), RefuseLimit("limits.shm", spec->limits.shm_bytes)}) {
      if (!status.ok()) return status;
    }
    return MakeFolders(spec->checkpoint_folder);
  }

  void Sweep(const LaunchSpec&) const override {}
  void SweepOthers(const std::set<std::string>&) const override {}
};

}  // namespace

std::unique_ptr<Confinement> MakeProcessConfinement() { return std::make_unique<ProcessConfinement>(); }

}  // namespace glim::nodeagent
