#include "nodeagent/confinement/process_confinement.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "nodeagent/confinement/confinement.h"
#include "nodeagent/task/start_fault.h"
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

std::string FieldOfMount(std::size_t index) { return "mounts[" + std::to_string(index) + "]"; }

class ProcessConfinement final : public Confinement {
 public:
  ProcessConfinement(std::string state_dir, bool group_readable)
      : state_dir_(std::move(state_dir)), group_readable_(group_readable) {}

  std::string name() const override { return "process"; }

  PathOrder PathsOf(const LaunchSpec& spec) const override {
    PathOrder order;
    order.group_readable = group_readable_;
    for (std::size_t i = 0; i < spec.mounts.size(); ++i) {
      order.wishes.push_back({FieldOfMount(i) + ".source", spec.mounts[i].source, false});
    }
    if (!IsOwnCheckpointFolder(state_dir_, spec)) {
      order.wishes.push_back({"checkpoint.dir", spec.checkpoint_folder, true});
    }
    // The shim says what is wrong with it; but it must not hang there.
    if (spec.code_folder.empty()) order.wishes.push_back({"workdir", spec.workdir, false});
    return order;
  }

  Status Prepare(const TaskPaths&, const PathAnswers& found, LaunchSpec* spec) const override {
    for (std::size_t i = 0; i < spec->mounts.size(); ++i) {
      const Mount& mount = spec->mounts[i];
      const std::string field = FieldOfMount(i);
      if (mount.source != mount.target) {
        return NotHere(field + ".target",
                       field + ": this node runs plain processes, which see " + mount.source + " at its own path only");
      }
      const int error = found.at(field + ".source").error;
      if (error == 0) continue;
      if (error == ENOENT) return PathMissing(field + ".source", mount.source);
      if (error == EACCES) return PathDenied(field + ".source", mount.source, ::geteuid());
      return FileError("mount", mount.source, error);
    }
    for (const Status& status :
         {RefuseLimit("limits.memory", spec->limits.memory_bytes), RefuseLimit("limits.cpus", spec->limits.cpu_millis),
          RefuseLimit("limits.pids", spec->limits.pids), RefuseLimit("limits.shm", spec->limits.shm_bytes)}) {
      if (!status.ok()) return status;
    }
    if (IsOwnCheckpointFolder(state_dir_, *spec)) {
      return MakeOwnCheckpointFolder(spec->checkpoint_folder, spec->user, group_readable_);
    }
    const int error = found.at("checkpoint.dir").error;
    if (error == EACCES) return PathDenied("checkpoint.dir", spec->checkpoint_folder, ::geteuid());
    return error == 0 ? Status::Ok() : FileError("create folder", spec->checkpoint_folder, error);
  }

  void Sweep(const LaunchSpec&) const override {}
  void SweepOthers(const std::set<std::string>&) const override {}

 private:
  const std::string state_dir_;
  const bool group_readable_;
};

}  // namespace

std::unique_ptr<Confinement> MakeProcessConfinement(std::string state_dir, bool group_readable) {
  return std::make_unique<ProcessConfinement>(std::move(state_dir), group_readable);
}

}  // namespace glim::nodeagent
