// In the place of service and client where CMake has not found UCX.
#include "sdk/checkpoint/replica/replica.h"
#include "sdk/checkpoint/replica/replica_service.h"

namespace glim::checkpoint {
namespace {

Status WithoutUcx() { return {StatusCode::kUnimplemented, "this build of the checkpoint library is without UCX"}; }

}  // namespace

bool ReplicaIsBuilt() { return false; }

Result<std::unique_ptr<ReplicaService>> ReplicaService::Create(const ReplicaServiceOptions&,
                                                               std::function<void(const std::string&)>) {
  return WithoutUcx();
}

Result<std::unique_ptr<ReplicaSink>> MakeReplicaWriter(const std::string&, const ReplicaOptions&) {
  return WithoutUcx();
}

Result<std::unique_ptr<ReplicaSource>> OpenReplicaSource(const std::vector<std::string>&, const ReplicaOptions&) {
  return WithoutUcx();
}

Status DropReplicas(const std::string&, const ReplicaOptions&) { return WithoutUcx(); }

}  // namespace glim::checkpoint
