#include "scheduler/server/convert/desired_convert.h"

#include <algorithm>

#include "scheduler/core/core.h"
#include "scheduler/core/lifecycle/desired.h"
#include "scheduler/core/lifecycle/launch_environment.h"
#include "scheduler/core/lifecycle/probes.h"
#include "scheduler/core/model/save_reach.h"
#include "scheduler/wire/spec_convert.h"
#include "sdk/tokens/fetch_token.h"

namespace glim::server {
namespace {

// As the registry had it when the attempt began; a task whose user had no uid then has none.
void SetTaskUser(const core::Attempt& attempt, v1::TaskLaunch* launch) {
  if (!attempt.task_user) return;
  v1::TaskUser& user = *launch->mutable_task_user();
  user.set_uid(attempt.task_user->uid);
  user.set_gid(attempt.task_user->gid);
  user.mutable_groups()->Add(attempt.task_user->groups.begin(), attempt.task_user->groups.end());
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
    source.set_token(FetchToken(holder->save_key, task.id.attempt.job.value, base.local, node.name));
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
  SetTaskUser(*task.attempt, launch);
  launch->set_image(spec.image);
  launch->set_workdir(spec.workdir);
  launch->set_run(spec.run);
  launch->set_ranks(spec.ranks_per_node());
  launch->set_first_rank(task.id.index * spec.ranks_per_node());
  launch->set_per_gpu(spec.launcher == core::Launcher::kPerGpu);
  launch->set_checkpoint_dir(core::CheckpointDirOf(*task.job));
  launch->set_checkpoint_root(spec.checkpoint_dir.empty() && !launch->checkpoint_dir().empty());
  if (!core::IsShared(task.attempt->base)) SetBase(snapshot, task, node, launch->mutable_base());
  launch->set_gpus(spec.gpus_per_node);
  wire::MountsToProto(spec, launch->mutable_mounts());
  if (spec.limits != core::TaskLimits{}) wire::LimitsToProto(spec.limits, launch->mutable_limits());
  launch->set_snapshot(spec.snapshot.path);
  const GangEnvironment& gang = cache->For(snapshot, *task.attempt);
  if (gang.hosts.size() > kListBytesMax) launch->set_hosts(gang.hosts);
  if (gang.zones.size() > kListBytesMax) launch->set_zones(gang.zones);
  for (auto& [name, value] : core::LaunchVariables(snapshot.tables, task, node, gang)) {
    v1::EnvVar& variable = *launch->add_env();
    variable.set_name(name);
    variable.set_value(value);
  }
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
  // In a signalled round no step is agreed on either: whoever listens all the same stops where it is.
  const bool signalled = agreement.state == core::AgreementState::kSignalled;
  order->set_no_agreement(signalled || agreement.state == core::AgreementState::kNoAgreement);
  if (signalled) {
    order->set_signal(task.job->spec->interrupt_signal);
    order->set_signal_all(task.job->spec->interrupt_to == core::InterruptTo::kAll);
  }
  order->set_withdrawn(agreement.state == core::AgreementState::kWithdrawn);
}

// Where its machine is reached: a port on which it listens, if one is known. Else any: its kernel answers that nobody
// listens there.
std::string ProbeAddress(const core::Node& node) {
  if (!node.save_address.empty()) return node.save_address;
  if (const std::size_t at = node.replica.find('@'); at != std::string::npos) return node.replica.substr(at + 1);
  const bool is_v6 = node.address.find(':') != std::string::npos;
  return (is_v6 ? "[" + node.address + "]" : node.address) + ":1";
}

void AddProbes(const Snapshot& snapshot, const core::Node& node, const core::Policy& policy, v1::DesiredState* set) {
  for (const core::NodeId id : core::ProbesOf(*snapshot.probing, node.id)) {
    const core::Node* target = snapshot.tables.nodes.Find(id);
    if (!target || target->address.empty()) continue;
    v1::Probe& probe = *set->add_probes();
    probe.set_node(target->name);
    probe.set_address(ProbeAddress(*target));
    probe.set_report_after_ms(core::UnreachableAfter(policy).ms);
  }
}

}  // namespace

const GangEnvironment& GangCache::For(const Snapshot& snapshot, const core::Attempt& attempt) {
  const auto [it, fresh] = gangs_.try_emplace(attempt.id);
  if (fresh) it->second = core::GangEnvironmentOf(snapshot.tables, attempt);
  return it->second;
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
    out->set_evidence(task.evidence);
    if (task.stop) {
      out->mutable_stop()->set_reason(task.stop_reason);
      const bool at_once = task.attempt != nullptr && task.attempt->stop_now;
      out->mutable_stop()->set_term_ms(at_once ? 0 : policy.kill_after_term.ms);
    }
  }
  AddProbes(snapshot, *node, policy, &set);
  return set;
}

}  // namespace glim::server
