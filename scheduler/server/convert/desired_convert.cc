#include "scheduler/server/convert/desired_convert.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "nodeagent/saves/fetch_token.h"
#include "scheduler/core/core.h"
#include "scheduler/core/lifecycle/desired.h"
#include "scheduler/core/model/save_reach.h"
#include "scheduler/server/convert/spec_convert.h"

namespace glim::server {
namespace {

// docs/protocols/task-socket.md, Environment: a job's own env does not reach these.
constexpr std::array<std::string_view, 13> kReserved = {
    "RANK",           "LOCAL_RANK",  "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK",          "NNODES",
    "MASTER_ADDR",    "MASTER_PORT", "PET_NNODES", "PET_NODE_RANK",    "PET_NPROC_PER_NODE", "PET_MASTER_ADDR",
    "PET_MASTER_PORT"};

// The kernel takes 128 KiB for one variable: a task must start, and the sources are a help.
constexpr std::size_t kReplicaSourcesMax = 96 << 10;

bool IsReserved(std::string_view name) {
  return name.starts_with("GLIM_") || std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end();
}

const std::string& AddressOf(const core::Node& node) { return node.address.empty() ? node.name : node.address; }

// Of the node's replica service; empty: it has none, or is lost.
std::string ReplicaAddressOf(const Snapshot& snapshot, core::NodeId id) {
  const core::Node* node = snapshot.tables.nodes.Find(id);
  return node && node->state != core::NodeState::kLost ? node->replica : std::string();
}

// Where copies of the attempt's base may be: with the neighbours of the attempt that wrote it, and of those since then
// that have started. Newest first. A job's ended attempts stay in the tables as long as the job.
std::string ReplicaSources(const Snapshot& snapshot, const core::Attempt& attempt) {
  std::string sources;
  if (attempt.base.step < 0) return sources;
  std::set<std::string> seen;
  for (std::uint32_t number = attempt.id.number - 1; number >= 1 && number >= attempt.base.attempt; --number) {
    const core::Attempt* earlier = snapshot.tables.attempts.Find({attempt.id.job, number});
    if (!earlier || !earlier->started_at) continue;
    for (const core::NodeId id : earlier->replicas) {
      const std::string address = ReplicaAddressOf(snapshot, id);
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

// Empty: each node's own folder for the job.
std::string CheckpointDir(const core::Job& job) {
  std::string dir = job.spec->checkpoint_dir;
  const std::string id = std::to_string(job.id.value);
  if (dir.empty()) return job.checkpoint_root.empty() ? "" : job.checkpoint_root + "/jobs/" + id;
  ReplaceAll(&dir, "${GLIM_JOB_ID}", id);
  ReplaceAll(&dir, "$GLIM_JOB_ID", id);
  ReplaceAll(&dir, "${GLIM_JOB_NAME}", job.spec->name);
  ReplaceAll(&dir, "$GLIM_JOB_NAME", job.spec->name);
  return dir;
}

class EnvWriter {
 public:
  explicit EnvWriter(v1::TaskLaunch* launch) : launch_(launch) {}
  void Set(const std::string& name, std::string value) {
    auto* var = launch_->add_env();
    var->set_name(name);
    var->set_value(std::move(value));
  }
  template <typename Number>
  requires std::integral<Number>
  void Set(const std::string& name, Number value) { Set(name, std::to_string(value)); }

 private:
  v1::TaskLaunch* launch_;
};

void SetEnv(const Snapshot& snapshot, const core::DesiredTask& task, const core::Node& node,
            const GangCache::Gang& gang, v1::TaskLaunch* launch) {
  const core::JobSpec& spec = *task.job->spec;
  const core::Attempt& attempt = *task.attempt;
  const std::size_t nnodes = attempt.nodes.size();
  EnvWriter env(launch);
  for (const auto& [name, value] : spec.env) {
    if (!IsReserved(name)) env.Set(name, value);
  }
  env.Set("GLIM_JOB_ID", task.job->id.value);
  env.Set("GLIM_JOB_NAME", spec.name);
  env.Set("GLIM_ATTEMPT", attempt.id.number);
  env.Set("GLIM_NODE_RANK", task.id.index);
  env.Set("GLIM_NNODES", nnodes);
  env.Set("GLIM_HOSTS", gang.hosts);
  env.Set("GLIM_ZONE", node.labels.zone);
  env.Set("GLIM_ZONES", gang.zones);
  env.Set("GLIM_GATEWAYS", gang.gateways);
  env.Set("GLIM_LEAF", node.labels.leaf);
  env.Set("GLIM_RESUME_STEP", attempt.base.step);
  // Of a save in nodes' own folders the agent knows the path.
  if (core::IsShared(attempt.base)) {
    env.Set("GLIM_RESUME_PATH", attempt.base.step >= 0 ? attempt.base.path : std::string());
  }
  if (task.id.index < attempt.replicas.size()) {
    std::string peer = ReplicaAddressOf(snapshot, attempt.replicas[task.id.index]);
    if (!peer.empty()) env.Set("GLIM_REPLICA_PEER", std::move(peer));
  }
  if (!gang.replica_sources.empty()) env.Set("GLIM_REPLICA_SOURCES", gang.replica_sources);
  env.Set("GLIM_GPUS_SIMULATED", std::string(node.labels.simulated_gpus ? "1" : "0"));
  env.Set("GLIM_TASK", core::ToString(attempt.id) + "." + std::to_string(task.id.index));
  if (!launch->checkpoint_dir().empty()) env.Set("GLIM_CHECKPOINT_DIR", launch->checkpoint_dir());
  if (spec.checkpoint_every.ms > 0) env.Set("GLIM_CHECKPOINT_EVERY_MS", spec.checkpoint_every.ms);
  env.Set("GLIM_CHECKPOINT_KEEP", spec.checkpoint_keep);
  env.Set("MASTER_ADDR", gang.master_addr);
  env.Set("MASTER_PORT", attempt.master_port);
  env.Set("GLIM_HFREDUCE_PORT", attempt.master_port + 1);
  env.Set("NODE_RANK", task.id.index);
  env.Set("NNODES", nnodes);
  if (spec.launcher == core::Launcher::kPerGpu) {
    env.Set("WORLD_SIZE", nnodes * spec.gpus_per_node);
    env.Set("LOCAL_WORLD_SIZE", spec.gpus_per_node);
    return;
  }
  env.Set("GLIM_RANK", task.id.index);
  env.Set("PET_NNODES", nnodes);
  env.Set("PET_NODE_RANK", task.id.index);
  env.Set("PET_NPROC_PER_NODE", std::max(1u, spec.gpus_per_node));
  env.Set("PET_MASTER_ADDR", gang.master_addr);
  env.Set("PET_MASTER_PORT", attempt.master_port);
}

// What the node is to have before the task starts, and who can give it: those that have it whole, or all that have a
// part. A node that has it needs nobody.
void SetBase(const Snapshot& snapshot, const core::DesiredTask& task, const core::Node& node, v1::BaseSave* out) {
  const core::Checkpoint& base = task.attempt->base;
  out->set_local(base.local);
  out->set_bytes(base.bytes);
  out->set_attempt(base.attempt);
  if (base.parts == std::vector{node.id}) return;  // it wrote the save
  bool complete = true;
  const auto add = [&](core::NodeId id) {
    if (id == node.id) return;  // what lies here is no news to its agent
    const core::Node* holder = snapshot.tables.nodes.Find(id);
    if (!holder || holder->save_address.empty() || holder->state == core::NodeState::kLost) {
      complete = false;
      return;
    }
    v1::SaveSource& source = *out->add_sources();
    source.set_node(holder->name);
    source.set_address(holder->save_address);
    source.set_token(nodeagent::FetchToken(holder->save_key, task.id.attempt.job.value, base.local, node.name));
  };
  std::vector<core::NodeId> holders = core::HoldersOf(base);
  // Those that are heard first.
  std::stable_partition(holders.begin(), holders.end(), [&](core::NodeId id) {
    const core::Node* holder = snapshot.tables.nodes.Find(id);
    return holder && holder->state == core::NodeState::kReady;
  });
  out->set_parts(holders.empty());
  for (const core::NodeId id : holders.empty() ? base.parts : holders) add(id);
  if (out->parts() && !complete) out->clear_sources();  // a part is out of reach: the others are no save
}

void SetLaunch(const Snapshot& snapshot, const core::DesiredTask& task, const core::Node& node, GangCache* cache,
               v1::TaskLaunch* launch) {
  const core::JobSpec& spec = *task.job->spec;
  launch->set_job_name(spec.name);
  launch->set_user(task.job->user);
  launch->set_image(spec.image);
  launch->set_workdir(spec.workdir);
  launch->set_run(spec.run);
  launch->set_ranks(spec.ranks_per_node());
  launch->set_first_rank(task.id.index * spec.ranks_per_node());
  launch->set_per_gpu(spec.launcher == core::Launcher::kPerGpu);
  launch->set_checkpoint_dir(CheckpointDir(*task.job));
  if (!core::IsShared(task.attempt->base)) SetBase(snapshot, task, node, launch->mutable_base());
  launch->set_gpus(spec.gpus_per_node);
  MountsToProto(spec, launch->mutable_mounts());
  if (spec.limits != core::TaskLimits{}) LimitsToProto(spec.limits, launch->mutable_limits());
  launch->set_snapshot(spec.snapshot.path);
  SetEnv(snapshot, task, node, cache->For(snapshot, *task.attempt), launch);
}

// "job 12 b-high (high) of user kim"
std::string PreemptorText(const Snapshot& snapshot, const core::Agreement& agreement) {
  if (!agreement.preemptor) return "";
  std::string text = "job " + std::to_string(agreement.preemptor.job.value) + " " + agreement.preemptor_name;
  if (const core::Job* job = snapshot.tables.jobs.Find(agreement.preemptor.job)) {
    text += std::string(" (") + core::ToString(job->priority) + ")";
  }
  return text + " of user " + agreement.preemptor_user;
}

void SetInterrupt(const Snapshot& snapshot, const core::DesiredTask& task, TimePoint now, v1::InterruptOrder* order) {
  const core::Agreement& agreement = task.attempt->agreements.back();
  order->set_agreement(agreement.id);
  order->set_reason(agreement.reason);
  order->set_preemptor(PreemptorText(snapshot, agreement));
  order->set_grace_left_ms(std::max<std::int64_t>(0, (agreement.deadline - now).ms));
  order->set_stop_step(agreement.stop_step);
  order->set_no_agreement(agreement.state == core::AgreementState::kNoAgreement);
  if (task.job->spec->interrupt_mode == core::InterruptMode::kSignal) {
    order->set_signal(task.job->spec->interrupt_signal);
  }
  order->set_withdrawn(agreement.state == core::AgreementState::kWithdrawn);
}

}  // namespace

const GangCache::Gang& GangCache::For(const Snapshot& snapshot, const core::Attempt& attempt) {
  const auto [it, fresh] = gangs_.try_emplace(attempt.id);
  Gang& gang = it->second;
  if (!fresh) return gang;
  for (std::size_t i = 0; i < attempt.nodes.size(); ++i) {
    const core::Node* node = snapshot.tables.nodes.Find(attempt.nodes[i]);
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
  gang.replica_sources = ReplicaSources(snapshot, attempt);
  return gang;
}

v1::DesiredState BuildDesiredState(const Snapshot& snapshot, core::NodeId id, const core::Policy& policy, TimePoint now,
                                   GangCache* cache) {
  v1::DesiredState set;
  set.set_epoch(snapshot.epoch);
  set.set_revision(snapshot.revision);
  const core::Node* node = snapshot.tables.nodes.Find(id);
  if (!node) return set;
  for (const core::DesiredTask& task : core::DesiredFor(snapshot.tables, id)) {
    v1::DesiredTask* out = set.add_tasks();
    out->mutable_attempt()->set_job_id(task.id.attempt.job.value);
    out->mutable_attempt()->set_number(task.id.attempt.number);
    out->set_index(task.id.index);
    // A task that was written off may outlive the rows of its job: then it can only be stopped.
    const bool known = task.job && task.attempt;
    if (task.launch && known) SetLaunch(snapshot, task, *node, cache, out->mutable_launch());
    if (task.interrupt && known && !task.attempt->agreements.empty()) {
      SetInterrupt(snapshot, task, now, out->mutable_interrupt());
    }
    if (task.stop) {
      out->mutable_stop()->set_reason(task.stop_reason);
      out->mutable_stop()->set_term_ms(policy.kill_after_term.ms);
    }
  }
  return set;
}

}  // namespace glim::server
