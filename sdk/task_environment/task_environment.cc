#include "sdk/task_environment/task_environment.h"

#include <algorithm>
#include <concepts>

namespace glim {
namespace {

class Writer {
 public:
  explicit Writer(TaskVariables* variables) : variables_(*variables) {}
  void Set(TaskVariable variable, const std::string& value) { variables_[NameOf(variable)] = value; }
  void Set(TaskVariable variable, std::integral auto value) { Set(variable, std::to_string(value)); }
  void SetFlag(TaskVariable variable, bool value) { Set(variable, value ? 1 : 0); }
  void SetUnlessEmpty(TaskVariable variable, const std::string& value) {
    if (!value.empty()) Set(variable, value);
  }
  void SetUnlessLong(TaskVariable variable, const std::string& list) {
    if (list.size() <= kListBytesMax) Set(variable, list);
  }
  void SetUnlessNegative(TaskVariable variable, int value) {
    if (value >= 0) Set(variable, value);
  }

 private:
  TaskVariables& variables_;
};

}  // namespace

void AddVariables(const TaskEnvironment& task, const GangEnvironment& gang, TaskVariables* variables) {
  Writer out(variables);
  out.Set(TaskVariable::kJobId, task.job_id);
  out.Set(TaskVariable::kJobName, task.job_name);
  out.Set(TaskVariable::kAttempt, task.attempt);
  out.Set(TaskVariable::kNodeRank, task.node_rank);
  out.Set(TaskVariable::kNodes, task.nodes);
  out.SetUnlessLong(TaskVariable::kHosts, gang.hosts);
  out.Set(TaskVariable::kZone, task.zone);
  out.SetUnlessLong(TaskVariable::kZones, gang.zones);
  out.Set(TaskVariable::kGateways, gang.gateways);
  out.Set(TaskVariable::kLeaf, task.leaf);
  out.Set(TaskVariable::kResumeStep, task.resume_step);
  if (task.resume_path) out.Set(TaskVariable::kResumePath, *task.resume_path);
  if (task.checkpoint_every_ms > 0) out.Set(TaskVariable::kCheckpointEvery, task.checkpoint_every_ms);
  out.Set(TaskVariable::kCheckpointKeep, task.checkpoint_keep);
  out.SetUnlessEmpty(TaskVariable::kReplicaPeer, task.replica_peer);
  out.SetUnlessEmpty(TaskVariable::kReplicaSources, gang.replica_sources);
  out.Set(TaskVariable::kMasterAddr, gang.master_addr);
  out.Set(TaskVariable::kMasterPort, task.master_port);
  out.Set(TaskVariable::kHfreducePort, task.master_port + 1);
  out.Set(TaskVariable::kTorchNodeRank, task.node_rank);
  out.Set(TaskVariable::kTorchNodes, task.nodes);
  if (task.per_gpu) {
    out.Set(TaskVariable::kWorldSize, std::uint64_t{task.nodes} * task.gpus_per_node);
    return;
  }
  out.Set(TaskVariable::kPetNodes, task.nodes);
  out.Set(TaskVariable::kPetNodeRank, task.node_rank);
  out.Set(TaskVariable::kPetProcesses, std::max(1u, task.gpus_per_node));
  out.Set(TaskVariable::kPetMasterAddr, gang.master_addr);
  out.Set(TaskVariable::kPetMasterPort, task.master_port);
}

void AddVariables(const NodeEnvironment& node, TaskVariables* variables) {
  Writer out(variables);
  out.Set(TaskVariable::kSocket, node.socket);
  out.Set(TaskVariable::kHostsFile, node.hosts_file);
  out.Set(TaskVariable::kZonesFile, node.zones_file);
  out.Set(TaskVariable::kWorkdir, node.workdir);
  out.Set(TaskVariable::kCheckpointDir, node.checkpoint_dir);
  if (node.checkpoint_local) out.SetFlag(TaskVariable::kCheckpointLocal, true);
  out.SetUnlessEmpty(TaskVariable::kResumePath, node.resume_path);
  out.SetFlag(TaskVariable::kGpusSimulated, node.gpus_simulated);
  out.SetUnlessEmpty(TaskVariable::kSdk, node.sdk);
  out.SetUnlessEmpty(TaskVariable::kSecrets, node.secrets);
  out.SetUnlessEmpty(TaskVariable::kApiTokenFile, node.api_token_file);
  out.SetUnlessEmpty(TaskVariable::kTokenFile, node.api_token_file);
  out.SetUnlessEmpty(TaskVariable::kCa, node.api_ca_file);
  out.SetUnlessEmpty(TaskVariable::kAttemptSecretFile, node.attempt_secret_file);
  if (node.local_ranks > 0) out.Set(TaskVariable::kLocalWorldSize, node.local_ranks);
  out.SetUnlessEmpty(TaskVariable::kHfreduceDevice, node.hfreduce_device);
  out.SetUnlessNegative(TaskVariable::kHfreduceServiceLevel, node.hfreduce_service_level);
  out.SetUnlessEmpty(TaskVariable::kReplicaTokenFile, node.replica_token_file);
  out.SetUnlessEmpty(TaskVariable::kReplicaTls, node.replica_tls);
  out.SetUnlessEmpty(TaskVariable::kReplicaDevice, node.replica_device);
  out.SetUnlessNegative(TaskVariable::kReplicaServiceLevel, node.replica_service_level);
}

void AddVariables(const RankEnvironment& rank, TaskVariables* variables) {
  Writer out(variables);
  out.Set(TaskVariable::kGlimRank, rank.rank);
  if (!rank.local_rank) return;
  out.Set(TaskVariable::kRank, rank.rank);
  out.Set(TaskVariable::kLocalRank, *rank.local_rank);
}

}  // namespace glim
