#include "scheduler/core/lifecycle/launch_environment.h"

#include <cstddef>
#include <set>
#include <string_view>

#include "scheduler/core/model/save_reach.h"

namespace glim::core {
namespace {

// The kernel takes 128 KiB for one variable: a task must start, and the sources are a help.
constexpr std::size_t kReplicaSourcesMax = 96 << 10;

const std::string& AddressOf(const Node& node) { return node.address.empty() ? node.name : node.address; }

// Of the node's replica service; empty: it has none, or is lost.
std::string ReplicaAddressOf(const Tables& tables, NodeId id) {
  const Node* node = tables.nodes.Find(id);
  return node && node->state != NodeState::kLost ? node->replica : std::string();
}

// Where copies of the attempt's base may be: with the neighbours of the attempt that wrote it, and of those since then
// that have started. Newest first, as far back as attempts are kept.
std::string ReplicaSources(const Tables& tables, const Attempt& attempt) {
  std::string sources;
  if (attempt.base.step < 0) return sources;
  std::set<std::string> seen;
  for (std::uint32_t number = attempt.id.number - 1;
       number >= OldestKept(attempt.id.number) && number >= attempt.base.attempt; --number) {
    const Attempt* earlier = tables.attempts.Find({attempt.id.job, number});
    if (!earlier || !earlier->started_at) continue;
    for (const NodeId id : earlier->replicas) {
      const std::string address = ReplicaAddressOf(tables, id);
      if (address.empty() || sources.size() + 1 + address.size() > kReplicaSourcesMax) continue;
      if (!seen.insert(address).second) continue;
      sources += (sources.empty() ? "" : ",") + address;
    }
  }
  return sources;
}

void ReplaceAll(std::string* text, std::string_view from, const std::string& to) {
  for (std::size_t at = text->find(from); at != std::string::npos; at = text->find(from, at + to.size())) {
    text->replace(at, from.size(), to);
  }
}

}  // namespace

std::string CheckpointDirOf(const Job& job) {
  std::string dir = job.spec->checkpoint_dir;
  const std::string id = std::to_string(job.id.value);
  if (dir.empty()) return job.checkpoint_root.empty() ? "" : job.checkpoint_root + "/jobs/" + id;
  const std::string job_id = NameOf(TaskVariable::kJobId), job_name = NameOf(TaskVariable::kJobName);
  ReplaceAll(&dir, "${" + job_id + "}", id);
  ReplaceAll(&dir, "$" + job_id, id);
  ReplaceAll(&dir, "${" + job_name + "}", job.spec->name);
  ReplaceAll(&dir, "$" + job_name, job.spec->name);
  return dir;
}

GangEnvironment GangEnvironmentOf(const Tables& tables, const Attempt& attempt) {
  GangEnvironment gang;
  for (std::size_t i = 0; i < attempt.nodes.size(); ++i) {
    const Node* node = tables.nodes.Find(attempt.nodes[i]);
    if (i > 0) {
      gang.hosts += ',';
      gang.zones += ',';
    }
    if (!node) continue;
    gang.hosts += AddressOf(*node);
    gang.zones += node->labels.zone;
    if (i == 0) gang.master_addr = AddressOf(*node);
  }
  for (const std::uint32_t rank : attempt.gateways) {
    gang.gateways += (gang.gateways.empty() ? "" : ",") + std::to_string(rank);
  }
  gang.replica_sources = ReplicaSources(tables, attempt);
  return gang;
}

TaskEnvironment TaskEnvironmentOf(const Tables& tables, const DesiredTask& task, const Node& node) {
  const JobSpec& spec = *task.job->spec;
  const Attempt& attempt = *task.attempt;
  TaskEnvironment environment;
  environment.job_id = task.job->id.value;
  environment.job_name = spec.name;
  environment.attempt = attempt.id.number;
  environment.node_rank = task.id.index;
  environment.nodes = static_cast<std::uint32_t>(attempt.nodes.size());
  environment.gpus_per_node = spec.gpus_per_node;
  environment.per_gpu = spec.launcher == Launcher::kPerGpu;
  environment.zone = node.labels.zone;
  environment.leaf = node.labels.leaf;
  environment.resume_step = attempt.base.step;
  // Of a save in nodes' own folders the agent knows the path.
  if (IsShared(attempt.base)) environment.resume_path = attempt.base.step >= 0 ? attempt.base.path : std::string();
  environment.checkpoint_every_ms = spec.checkpoint_every.ms;
  environment.checkpoint_keep = spec.checkpoint_keep;
  if (task.id.index < attempt.replicas.size()) {
    environment.replica_peer = ReplicaAddressOf(tables, attempt.replicas[task.id.index]);
  }
  environment.master_port = static_cast<std::uint16_t>(attempt.master_port);
  return environment;
}

TaskVariables LaunchVariables(const Tables& tables, const DesiredTask& task, const Node& node,
                              const GangEnvironment& gang) {
  TaskVariables variables;
  for (const auto& [name, value] : task.job->spec->env) {
    if (!IsReservedVariable(name)) variables[name] = value;
  }
  AddVariables(TaskEnvironmentOf(tables, task, node), gang, &variables);
  return variables;
}

}  // namespace glim::core
