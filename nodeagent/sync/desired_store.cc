#include "nodeagent/sync/desired_store.h"

#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kDesiredBytesMax = 64 * 1024 * 1024;

}  // namespace

Result<std::string> DesiredStore::Claim(const std::string& cluster_id) {
  const std::string path = state_dir_ + "/cluster";
  const Result<std::string> owner = ReadFile(path, 1024);
  if (!owner.ok() && owner.status().code() != StatusCode::kNotFound) return owner.status();
  if (owner.ok() && (cluster_id.empty() || *owner == cluster_id)) return owner;
  if (!owner.ok() && cluster_id.empty()) {
    return InvalidArgument("--cluster-id", "--cluster-id is missing", "`glim version` shows the cluster's id");
  }
  if (!owner.ok()) {
    const Status written = WriteFileAtomically(path, cluster_id, Durability::kMachine);
    return written.ok() ? Result<std::string>(cluster_id) : Result<std::string>(written);
  }
  return Status(StatusCode::kFailedPrecondition,
                state_dir_ + " belongs to cluster " + *owner + ", not to " + cluster_id)
      .WithField("--cluster-id")
      .WithFix("give each cluster's agent a --state-dir of its own");
}

Result<v1::DesiredState> DesiredStore::Load() {
  v1::DesiredState set;
  const std::string path = state_dir_ + "/desired.pb";
  const Result<std::string> bytes = ReadFile(path, kDesiredBytesMax);
  if (!bytes.ok() && bytes.status().code() == StatusCode::kNotFound) return set;
  if (!bytes.ok()) return bytes.status();
  if (!set.ParseFromString(*bytes)) return Status(StatusCode::kDataLoss, path + " cannot be read");
  return set;
}

Status DesiredStore::Save(const v1::DesiredState& set, bool durable) {
  return WriteFileAtomically(state_dir_ + "/desired.pb", set.SerializeAsString(),
                             durable ? Durability::kMachine : Durability::kProcess);
}

}  // namespace glim::nodeagent
