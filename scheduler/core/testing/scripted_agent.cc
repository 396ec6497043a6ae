#include "scheduler/core/testing/scripted_agent.h"

#include <algorithm>
#include <string>

#include "scheduler/core/lifecycle/desired.h"
#include "scheduler/core/model/save_reach.h"

namespace glim::core::testing {

std::vector<ObservedTask> ScriptedAgent::Observed() const {
  std::vector<ObservedTask> all;
  for (const auto& [id, task] : tasks) all.push_back(task);
  return all;
}

bool ScriptedAgent::Obey(const std::vector<DesiredTask>& desired, const std::map<JobId, Script>& scripts) {
  bool changed = false;
  for (const DesiredTask& want : desired) {
    const auto script = scripts.find(want.id.attempt.job);
    changed |= ObeyOne(want, script == scripts.end() ? Script{} : script->second);
  }
  std::erase_if(tasks, [&](const auto& entry) {
    const auto is_it = [&](const DesiredTask& d) { return d.id == entry.first; };
    const bool wanted = std::any_of(desired.begin(), desired.end(), is_it);
    return !wanted && entry.second.phase == TaskPhase::kReleased;
  });
  return changed;
}

void ScriptedAgent::Release(ObservedTask& task, std::int32_t code) {
  task.phase = TaskPhase::kReleased;
  task.exit_code = code;
  for (Rank& rank : task.ranks) {
    rank.exited = true;
    rank.exit_code = code;
    rank.connected = false;
  }
}

void ScriptedAgent::Save(Rank& rank, std::int64_t step, std::uint32_t world, bool own_folder) {
  SavedShard shard;
  shard.step = step;
  shard.path = "/ckpt/" + std::to_string(step);
  shard.bytes = 100;
  if (own_folder) shard.local = std::to_string(step);
  shard.shard = rank.rank;
  shard.shards = world;
  rank.step = std::max(rank.step, step);
  rank.saves.push_back(shard);
}

bool ScriptedAgent::ObeyOne(const DesiredTask& want, const Script& script) {
  const auto known = tasks.find(want.id);
  if (known == tasks.end()) {
    tasks[want.id] = want.launch ? Launch(want, script) : Lost(want);
    return true;
  }
  ObservedTask& task = known->second;
  if (task.phase == TaskPhase::kReleased) return false;
  if (want.stop) {
    if (script.stuck) return false;
    Release(task, 143);
    return true;
  }
  return want.interrupt && Answer(task, *want.attempt, *want.job, script);
}

ObservedTask ScriptedAgent::Lost(const DesiredTask& want) {
  ObservedTask task;
  task.id = want.id;
  task.phase = TaskPhase::kReleased;
  task.lost = true;
  return task;
}

ObservedTask ScriptedAgent::Launch(const DesiredTask& want, const Script& script) {
  ObservedTask task;
  task.id = want.id;
  task.receipt = true;
  task.phase = script.runs ? TaskPhase::kRunning : TaskPhase::kStarting;
  const std::uint32_t ranks = want.job->spec->ranks_per_node();
  for (std::uint32_t r = 0; r < ranks; ++r) {
    Rank& rank = task.ranks.emplace_back();
    rank.rank = want.id.index * ranks + r;
    rank.connected = rank.greeted = script.speaks;
  }
  if (!script.starts) {
    task.phase = TaskPhase::kReleased;
    task.start_failed = true;
    task.message = "port taken";
  }
  const Checkpoint& base = want.attempt->base;
  if (!base.local.empty() && !HasWhole(base, want.attempt->nodes[want.id.index])) task.copied_bytes = base.bytes;
  if (!script.copies && !base.local.empty()) {
    task.phase = TaskPhase::kReleased;
    task.start_failed = task.save_missing = true;
    task.message = "its save cannot be copied";
  }
  if (!script.sees_saves && base.step >= 0) {
    task.phase = TaskPhase::kReleased;
    task.start_failed = task.save_missing = true;
    task.message = "its save cannot be seen on this node";
  }
  return task;
}

bool ScriptedAgent::Answer(ObservedTask& task, const Attempt& attempt, const Job& job, const Script& script) {
  const Agreement& agreement = attempt.agreements.back();
  const auto world = static_cast<std::uint32_t>(attempt.nodes.size()) * job.spec->ranks_per_node();
  bool changed = false;
  if (agreement.state == AgreementState::kNotifying && script.acks) {
    for (Rank& rank : task.ranks) {
      changed |= rank.acked_agreement != agreement.id;
      rank.acked_agreement = agreement.id;
      rank.hold = rank.step + script.hold_ahead;
    }
    return changed;
  }
  if (agreement.state == AgreementState::kAgreed && script.saves && task.ranks[0].step < agreement.stop_step) {
    for (Rank& rank : task.ranks) Save(rank, agreement.stop_step, world, script.own_folder);
    changed = true;
  }
  const bool asked = agreement.state == AgreementState::kAgreed || agreement.state == AgreementState::kNoAgreement;
  if (asked && script.leaves) {
    for (Rank& rank : task.ranks) rank.leaving = true;
    Release(task, 0);
    return true;
  }
  if (agreement.state == AgreementState::kSignalled && script.leaves) {
    Release(task, 143);
    return true;
  }
  return changed;
}

}  // namespace glim::core::testing
